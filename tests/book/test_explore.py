"""The live figures, in a real browser: what they show is what NumPy computes."""

import base64
import dataclasses
import json
import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from book_scripts import cell, load
from small_books import ROOT, contents
from stills import FOLDER, act, find_browser, names, open_page, still

from course_lib import oracle
from course_lib.config import GPTConfig
from course_lib.data import engel, english, grammar
from course_lib.oracle.block import block
from course_lib.oracle.norm import norm
from course_lib.oracle.weights import part
from course_lib.tokens import BPE

pytestmark = pytest.mark.skipif(
    find_browser() is None, reason="no Chromium: install it to test the live figures"
)

PAGES = [ROOT / f"{name}.md" for name, _ in contents()]
# JavaScript for the actions: what elements say with all digits, typing, moving.
HELP = """
const values = (selector) => [...figure.querySelectorAll(selector)].map(
  (node) => Number(node.dataset.value));
const texts = (selector) => [...figure.querySelectorAll(selector)].map(
  (node) => node.textContent);
const say = async () => { await wait(400); return texts(".explore-say")[0]; };
const put = (label, value) => {
  const node = typeof label === "string"
    ? figure.querySelector(`[aria-label="${label}"]`) : label;
  node.value = value;
  node.dispatchEvent(new Event(node.tagName === "SELECT" ? "change" : "input"));
};
const press = (node, key, shiftKey = false) =>
  node.dispatchEvent(new KeyboardEvent("keydown", { key, shiftKey, bubbles: true }));
const drag = (node, x, y) => {
  const svg = node.ownerSVGElement ?? node;
  const point = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM());
  const event = (type) => node.dispatchEvent(new PointerEvent(type, {
    clientX: point.x, clientY: point.y, pointerId: 7, bubbles: true }));
  event("pointerdown"); event("pointermove"); event("pointerup");
};
"""


def try_out(name, actions, **options):
    """Act on a figure, with the helpers above."""
    return act(name, HELP + actions, **options)


def close(shown, expected):
    np.testing.assert_allclose(shown, np.ravel(expected), rtol=0, atol=1e-6)


def shown_as(texts, expected, digits=2):
    """Check what stands in the page, rounded."""
    read = [float(text.replace("−", "-").strip("%")) for text in texts]
    np.testing.assert_allclose(
        read, np.ravel(expected), rtol=0, atol=0.5 * 10**-digits + 1e-9
    )


@pytest.mark.parametrize("name", names())
def test_a_still_shows_what_the_live_figure_shows_at_first(name):
    words = re.compile(r"<text[^>]*>([^<]+)</text>")
    drawn, committed = still(name), (FOLDER / f"{name}.svg").read_text("utf-8")
    assert words.findall(drawn) == words.findall(committed), (
        f"run `python book/tools/stills.py {name}`"
    )


@pytest.mark.parametrize("name", names())
def test_a_live_figure_is_small_and_asks_nobody(name):
    text = (FOLDER / f"{name}.js").read_text("utf-8")
    assert len(text.encode()) <= 30_000
    assert not re.search(r"https?://(?!www\.w3\.org)|\bfetch\(|\bimport\(", text)


@pytest.mark.parametrize("name", names())
def test_all_of_a_live_figure_has_a_name_and_fits_a_phone(name):
    report = try_out(
        name,
        """
        const bare = [...figure.querySelectorAll("input, select, button, [tabindex]")]
          .filter((node) => !(node.getAttribute("aria-label") || node.textContent.trim()
            || node.closest("label")?.textContent.trim()));
        const live = figure.querySelector(".explore-live");
        figure.style.width = "340px";
        await wait(500);
        return { bare: bare.map((node) => node.outerHTML), wide: live.scrollWidth,
          still: getComputedStyle(figure.querySelector("img")).display,
          status: figure.querySelectorAll("[role=status]").length, said: await say() };
        """,
    )
    assert report["bare"] == []
    assert report["wide"] <= 340
    assert report["still"] == "none"
    assert report["status"] == 1
    assert len(report["said"]) > 20


def test_a_live_figure_far_away_waits_for_a_reader_or_for_paper():
    address = (FOLDER / "layer.js").as_uri()
    head = f"""<link rel="stylesheet" href="{(FOLDER / "explore.css").as_uri()}">
    <script defer src="{(FOLDER / "explore.js").as_uri()}"></script>
    <script defer src="{address}"></script>"""
    figure = '<explore-layer class="explore" data-label="a figure"></explore-layer>'
    space = '<div style="height: 3000px"></div>'
    begun = """
    const figures = [...document.querySelectorAll(".explore")];
    const begun = () => figures.map((node) => node.dataset.live !== undefined);
    await wait(3000);
    const seen = [begun()];
    dispatchEvent(new Event("beforeprint")); seen.push(begun());
    await wait(3000);
    return [...seen, figures.map((node) => node.childElementCount)];
    """
    seen = open_page(head, f"{figure}{space}{figure}{space}{figure}", begun)
    assert seen == [[True, False, False], [True, True, True], [1, 1, 1]]


def attend(query, keys, values):
    query, keys, values = (np.asarray(a, float) for a in (query, keys, values))
    output, weights = oracle.attention(query[None], keys, values)
    return keys @ query / np.sqrt(2), weights[0], output[0]


ROWS = """[values(".score"), values(".weight"), values(".output")]"""


def test_the_query_starts_with_the_numbers_of_the_page():
    rows, texts, said = try_out(
        "query",
        f"""return [{ROWS}, [texts(".score"), texts(".weight"), texts(".output")],
        await say()];""",
    )
    for shown, text, expected in zip(
        rows,
        texts,
        attend([1, 1], [[0, 0], [3, 0], [1, 1]], [[0, 0], [3, 0], [1, 1]]),
        strict=True,
    ):
        close(shown, expected)
        shown_as(text, expected)
    assert "62% from central, 31% from bank, 7% from the" in said
    assert "(2.17, 0.31)" in said


def test_the_query_follows_mouse_keyboard_and_typing():
    dragged, stepped, typed, steep = try_out(
        "query",
        f"""
        const ring = figure.querySelector("[aria-label=query]"), all = () => {ROWS};
        drag(ring, (-1 + 2) * 340 / 6, (4 + 1) * 340 / 6);
        const dragged = all();
        press(ring, "ArrowRight"); press(ring, "ArrowUp", true);
        const stepped = all();
        figure.querySelector("[type=checkbox]").click();
        put("value of bank, water", 3.5); put("key of the, money", -2);
        put("query, money", 9);
        const typed = all();
        figure.querySelectorAll("button")[1].click();
        return [dragged, stepped, typed, all()];
        """,
    )
    words = [[0, 0], [3, 0], [1, 1]]
    cases = [
        (dragged, [-1, -1], words, words),
        (stepped, [-0.9, 0], words, words),
        (typed, [4, 0], [[-2, 0], *words[1:]], [[0, 0], [3, 0], [1, 3.5]]),
        (steep, [1, 1], [[0, 0], [0, 3], [1, 1]], [[0, 0], [0, 3], [1, 1]]),
    ]
    for rows, *given in cases:
        for shown, expected in zip(rows, attend(*given), strict=True):
            close(shown, expected)
    # The caption: away from the other two words, "the" weighs most.
    assert np.argmax(dragged[1]) == 0


def test_the_layer_computes_what_numpy_does():
    first, later, zero, large, said = try_out(
        "layer",
        """
        const all = () => ["Q", "K", "V", "S", "A", "O"].map((name, i) =>
          [...figure.querySelectorAll(".explore-matrix")][4 + i]).map((table) =>
          [...table.querySelectorAll("td")].map((cell) => Number(cell.dataset.value)));
        const first = all();
        put("X, row 2, column 1", -2.5); put("W V, row 1, column 2", 3);
        const later = all();
        figure.querySelectorAll("button")[3].click();
        const W = (factor) => [[1, 1], [0, 1]].forEach((row, i) => row.forEach(
          (value, j) => put(`W Q, row ${i + 1}, column ${j + 1}`, factor * value)));
        W(0); const zero = all();
        W(10); const large = all();
        figure.querySelectorAll("button")[1].click();
        return [first, later, zero, large, await say()];
        """,
    )

    def layer(X, W_Q, W_K, W_V):
        X, W_Q, W_K, W_V = (np.array(a, float) for a in (X, W_Q, W_K, W_V))
        Q, K, V = X @ W_Q, X @ W_K, X @ W_V
        output, weights = oracle.attention(Q, K, V)
        return Q, K, V, Q @ K.T / np.sqrt(2), weights, output

    X, W_Q = [[1, 0], [0, 1], [1, 1]], np.array([[1, 1], [0, 1]])
    W_K, W_V = [[1, 0], [1, 1]], [[0.5, 1], [1, 0]]
    cases = [
        (first, (X, W_Q, W_K, W_V)),
        (later, ([[1, 0], [-2.5, 1], [1, 1]], W_Q, W_K, [[0.5, 3], [1, 0]])),
        (zero, (X, 0 * W_Q, W_K, W_V)),
        (large, (X, 10 * W_Q, W_K, W_V)),
    ]
    for matrices, given in cases:
        for shown, expected in zip(matrices, layer(*given), strict=True):
            close(shown, expected)
    close(zero[4], np.full(9, 1 / 3))
    weights = np.reshape(large[4], (3, 3))
    assert weights[[0, 2]].max(axis=1).min() > 0.99
    close(weights[1], [weights[1, 0], weights[1, 1], weights[1, 1]])
    assert "Token 2 takes 0% from token 1, 50% from token 2, 50% from token 3" in said


def regress(asked, h):
    """The prediction at one income, its weights' summaries, the error left out."""
    income, food = (np.asarray(a, float) for a in engel())
    bills, weights = oracle.nadaraya_watson(
        np.array([[asked]]), income[:, None], food[:, None], h
    )
    scores = -(((income[:, None] - income) / h) ** 2) / 2
    np.fill_diagonal(scores, -np.inf)
    kernel = np.exp(scores - scores.max(axis=1, keepdims=True))
    missed = kernel @ food / kernel.sum(axis=1) - food
    return (
        bills[0, 0],
        1 / (weights**2).sum(),
        weights.max(),
        h**2,
        (missed**2).mean() ** 0.5,
    )


def test_the_bandwidth_gives_what_numpy_does_on_engel_s_families():
    moves = try_out(
        "bandwidth",
        """
        const [width, income] = figure.querySelectorAll("input");
        const [query, marker] = figure.querySelectorAll("[role=slider]");
        const all = () => [...figure.querySelectorAll("td")].map(
          (cell) => Number(cell.dataset.value));
        const seen = [all()];
        put(width, 0); seen.push(all());
        put(width, 3.7); put(income, 4000); seen.push(all());
        press(marker, "ArrowLeft", true); press(query, "ArrowRight"); seen.push(all());
        drag(marker, 38 + (2 / 3.7) * 322, 200); drag(query, 38 + 0.3 * 322, 100);
        seen.push(all());
        put(income, 4000); put(width, Math.log10(200)); seen.push(all());
        return [seen, await say()];
        """,
    )
    cases = [(800, 100), (800, 1), (4000, 10**3.7), (4010, 10**3.6), (1500, 100)]
    for shown, given in zip(moves[0], cases, strict=False):
        close(shown, regress(*given))
    # The caption: up to 200 francs the richest family answers almost alone.
    close(moves[0][-1], regress(4000, 10**2.3))
    assert moves[0][-1][2] > 0.99
    assert "about 1 family shares the weight" in moves[1]
    assert regress(800, 10**2.13)[-1] < min(regress(800, h)[-1] for h in (90, 200))


def word_model():
    """Count words of real English, and back off by absolute discounting."""
    words = re.findall(r"[a-z]+(?:['-][a-z]+)*|[.,;:()]", english().train.lower())
    words = words[:14400]
    counts = Counter(words)
    vocabulary = sorted(counts, key=lambda word: (-counts[word], word))[:250]
    # Of several words in a row that are not among them, one place is kept.
    known = [word if word in set(vocabulary) else None for word in words]
    kept = [a for a, b in zip(known, [1, *known], strict=False) if a or b]
    tables = [
        Counter(zip(*(kept[i:] for i in range(n)), strict=False)) for n in (1, 2, 3)
    ]

    def model(*context):
        table = tables[len(context)]
        row = np.array([table[(*context, word)] for word in vocabulary], float)
        if not context:
            return row / row.sum()
        shorter = model(*context[1:])
        if not row.any() or None in context:
            return shorter
        rest = 0.75 * np.count_nonzero(row) / row.sum()
        return np.maximum(row - 0.75, 0) / row.sum() + rest * shorter

    return vocabulary, model


def filtered(own, temperature=1.0, k=250, p=1.0, least=0.0):
    logits = oracle.keep_top_k(np.log(own) / temperature, k)
    logits = oracle.keep_top_p(logits, p) if p < 1 else logits
    probabilities = oracle.softmax(logits)
    probabilities[probabilities < least * probabilities.max()] = 0
    return probabilities / probabilities.sum()


def test_sampling_draws_from_what_numpy_computes():
    settings = [
        {},
        {"temperature": 0.5},
        {"temperature": 2.5, "k": 3},
        {"p": 0.75},
        {"temperature": 2.0, "k": 60, "p": 0.9},
        {"least": 0.05, "temperature": 1.5},
        {"least": 0.2, "p": 0.5},
        {"k": 1},
    ]
    names = ("temperature", "k", "p", "least")
    off = {"temperature": 1, "k": 250, "p": 1, "least": 0}
    wanted = [[(off | each)[name] for name in names] for each in settings]
    shown, texts, said = try_out(
        "sampling",
        f"""
        const seen = [], buttons = [...figure.querySelectorAll("button")];
        const write = (text) =>
          buttons.find((node) => node.textContent === text).click();
        const sliders = figure.querySelectorAll("input");
        for (const values_ of {wanted}) {{
          values_.forEach((value, i) => put(sliders[i], value));
          seen.push([texts("th[scope=row]"), values(".own"), values(".now")]);
        }}
        write("40 words");
        const prose = () => figure.querySelector("p").textContent;
        const greedy = prose();
        seen.push([texts("th[scope=row]"), values(".own"), values(".now")]);
        return [seen, [greedy], await say()];
        """,
    )
    vocabulary, model = word_model()
    own = model("value", "of")
    order = sorted(range(250), key=lambda i: (-own[i], i))
    for (words, before, after), setting in zip(shown, settings, strict=False):
        expected = filtered(own, **setting)
        assert words[:10] == [vocabulary[i] for i in order[:10]]
        assert words[10] == "240 others"
        close(before, [*own[order[:10]], own[order[10:]].sum()])
        close(after, [*expected[order[:10]], expected[order[10:]].sum()])
    # Greedy, with k = 1: always the likeliest word, and soon the same ones again.
    written = ["the", "value", "of"]
    for _ in range(40):
        written.append(vocabulary[int(np.argmax(model(*written[-2:])))])
    text = re.sub(r" ([.,;:)])", r"\1", " ".join(written)).replace("( ", "(")
    assert texts == [f"{text} …"]
    assert text.endswith("that finally clause, that finally clause,")
    later = model(*written[-2:])
    close(shown[-1][1][:10], np.sort(later)[::-1][:10])
    assert said.startswith("One word remains")


def test_sampling_writes_words_as_often_as_they_are_likely():
    drawn = try_out(
        "sampling",
        """
        const words = {}, [one, , again] = figure.querySelectorAll("button");
        for (let i = 0; i < 400; i += 1) {
          again.click(); one.click();
          const word = figure.querySelector("p").textContent.split(" ")[3];
          words[word] = (words[word] ?? 0) + 1;
        }
        return words;
        """,
    )
    _, model = word_model()
    own = model("value", "of")
    likeliest = own.max()
    deviation = (likeliest * (1 - likeliest) / 400) ** 0.5
    assert abs(max(drawn.values()) / 400 - likeliest) < 4 * deviation
    # What a caption may say: heat lets top-p keep far more words, min-p a few more.
    kept = {
        (name, heat): np.count_nonzero(filtered(own, temperature=heat, **{name: value}))
        for name, value in (("p", 0.9), ("least", 0.1))
        for heat in (1.0, 2.0)
    }
    assert list(kept.values()) == [13, 172, 3, 11]


def reached(mask, layers):
    """The fewest layers after which each row has something of each token, or -1."""
    seen = np.eye(len(mask), dtype=bool)
    first = np.where(seen, 0, -1)
    for layer in range(1, layers + 1):
        seen = seen | ((mask.astype(int) @ seen.astype(int)) > 0)
        first[(first < 0) & seen] = layer
    return first


def test_masks_reach_as_far_as_their_powers():
    seen, said = try_out(
        "masks",
        """
        const tables = [...figure.querySelectorAll("svg")];
        const cells = tables.map((svg) => [...svg.querySelectorAll("g")]);
        const pattern = figure.querySelector("select");
        const [size, layers] = figure.querySelectorAll("input");
        const all = () => [cells[0].map((cell) => cell.getAttribute("aria-checked")),
          cells[1].map((cell) => Number(cell.dataset.value))];
        const seen = [all()];
        put(layers, 4); seen.push(all());
        for (const name of ["no mask", "causal", "prefix | causal", "padding",
            "padding & causal", "document & causal"]) {
          pattern.value = name;
          pattern.dispatchEvent(new Event("change"));
          put(layers, 2);
          seen.push(all());
        }
        put(size, 6); seen.push(all());
        pattern.value = "causal";
        pattern.dispatchEvent(new Event("change"));
        cells[0][0].focus();
        for (let i = 0; i < 7; i += 1) press(document.activeElement, "ArrowRight");
        press(document.activeElement, " ");
        seen.push(all());
        return [seen, await say()];
        """,
    )
    i, j = np.arange(8)[:, None], np.arange(8)
    causal, every = j <= i, np.ones((8, 8), bool)
    leak = causal | ((i == 0) & (j == 7))
    cases = [
        (causal & (i - j < 3), 2),
        (causal & (i - j < 3), 4),
        (every, 2),
        (causal, 2),
        (causal | (j < 3), 2),
        (every & (j < 5), 2),
        (causal & (j < 5), 2),
        (causal & ((i < 4) == (j < 4)), 2),
        (causal & ((i < 6) == (j < 6)), 2),
        (leak, 2),
    ]
    for (checked, layers), (mask, n) in zip(seen, cases, strict=True):
        assert checked == [str(bool(may)).lower() for may in mask.ravel()]
        close(layers, reached(mask, n))
    # The caption: four layers of a window of three, and a single cell that leaks.
    assert reached(causal & (i - j < 3), 7)[7, 0] == 4
    assert reached(leak, 2)[:, 7].min() >= 0
    assert "row 1 has something of 8 of 8 tokens" in said


def turned(own, query, key, base):
    """Each pair's product, and their sum, from the oracle's rotary positions."""
    zeros, own = np.zeros(4), np.deg2rad(own)
    q = np.concatenate([np.ones(4), zeros])[None]
    k = np.concatenate([np.cos(own), np.sin(own)])[None]
    q, k = oracle.rotary(q, base, query)[0], oracle.rotary(k, base, key)[0]
    products = (q * k).reshape(2, 4).sum(axis=0)
    return [*products, products.sum()]


def test_rotary_hands_turn_as_the_oracle_does():
    seen, said = try_out(
        "rotary",
        """
        const all = () => values("svg text[data-value]");
        const [query, key] = figure.querySelectorAll("input");
        const hands = figure.querySelectorAll("[role=slider][aria-label^=key]");
        const step = figure.querySelector("[aria-label^=step]");
        const click = (i) => figure.querySelectorAll("button")[i].click();
        const seen = [all()];
        click(1); seen.push(all());
        put(query, 60); put(key, 13); seen.push(all());
        click(1); seen.push(all());
        put(query, 20); put(key, 20);
        press(hands[0], "ArrowRight", true);
        drag(hands[2], 85 + 40, 254 - 40);
        seen.push(all(), [...hands].map((hand) => hand.getAttribute("aria-valuenow")));
        put(figure.querySelector("select"), 10); seen.push(all());
        press(step, "ArrowLeft"); press(step, "ArrowLeft"); seen.push(all());
        click(2); seen.push(all());
        return [seen, await say()];
        """,
    )
    close(seen[0], turned([0] * 4, 7, 4, 10_000))
    close(seen[1], turned([0] * 4, 12, 9, 10_000))
    close(seen[1], seen[0])  # the caption: both moved, nothing changes
    close(seen[2], turned([0] * 4, 60, 13, 10_000))
    close(seen[3], seen[2])  # no further than the last position
    own = [float(angle) for angle in seen[5]]
    assert own == [
        50,
        0,
        35,
        0,
    ]  # 45 degrees less what 20 positions turn, in steps of 5
    close(seen[4], turned(own, 20, 20, 10_000))
    close(seen[6], turned(own, 20, 20, 10))
    close(seen[7], turned(own, 20, 18, 10))
    close(seen[8], turned([0] * 4, 20, 18, 10))
    assert "step −2" in said
    # The caption: with the first hand turned by 170 degrees, three places back is best.
    scores = [turned([170, 0, 0, 0], 30, 30 + step, 10_000)[-1] for step in STEPS]
    assert STEPS[int(np.argmax(scores))] == -3


STEPS = range(-30, 31)


SALES = {
    **{"pan": 9, "pans": 5, "cake": 6, "cakes": 8},
    **{"pancakes": 2, "saucepan": 3, "cup": 4, "cupcakes": 2},
}


def cut(word, merges):
    tokens = list(word)
    for pair in merges:
        joined = []
        for token in tokens:
            if joined and (joined[-1], token) == pair:
                joined[-1] += token
            else:
                joined.append(token)
        tokens = joined
    return tokens


def learn(sales, n):
    """Merge n pairs; return the merges, the tokens, and the next pairs' counts."""
    ids = {letter: i for i, letter in enumerate(sorted(set("".join(sales))))}
    merges = []
    while True:
        counts = Counter()
        for word, times in sales.items():
            for pair in pairwise(cut(word, merges)):
                counts[pair] += times
        order = sorted(counts, key=lambda p: (-counts[p], ids[p[0]], ids[p[1]]))
        if len(merges) == n or not order:
            return merges, list(ids), [(pair, counts[pair]) for pair in order]
        merges.append(order[0])
        ids.setdefault("".join(order[0]), len(ids))


def test_pairs_merge_as_on_the_page_of_tokens():
    seen, said = try_out(
        "pairs",
        """
        const all = () => [
          [...figure.querySelectorAll("table")[0].tBodies[0].rows].map((row) =>
            [...row.cells[1].children].map((chip) => chip.textContent)),
          [...figure.querySelectorAll("table")[1].tBodies[0].rows].map((row) =>
            row.style.visibility ? null
              : [row.cells[0].textContent, Number(row.cells[1].dataset.value)]),
          figure.querySelector(".explore-panels p").textContent];
        const [join, undo] = figure.querySelectorAll("button");
        const merges = figure.querySelector("[type=range]"), seen = [all()];
        put(merges, 0); seen.push(all());
        for (let i = 0; i < 6; i += 1) join.click();
        seen.push(all());
        undo.click(); seen.push(all());
        put("times pancakes was sold", 7); put(merges, 7); seen.push(all());
        put("a word to cut", "panache"); put("times saucepan was sold", 44);
        put(merges, 10); seen.push(all());
        put("times pancakes was sold", 2); put("times saucepan was sold", 3);
        put(merges, 16); seen.push(all());
        return [seen, await say()];
        """,
    )
    seven, many = SALES | {"pancakes": 7}, SALES | {"pancakes": 7, "saucepan": 44}
    cases = [
        (SALES, 3, "cheesecakes"),
        (SALES, 0, "cheesecakes"),
        (SALES, 6, "cheesecakes"),
        (SALES, 5, "cheesecakes"),
        (seven, 7, "cheesecakes"),
        (many, 10, "panache"),
        (SALES, 16, "panache"),
    ]
    for (words, pairs, listed), (sales, n, typed) in zip(seen, cases, strict=True):
        merges, tokens, counts = learn(sales, n)
        assert words == [cut(word, merges) for word in [*sales, typed]]
        expected = [[" + ".join(pair), times] for pair, times in counts[:6]]
        assert pairs == [*expected, *[None] * (6 - len(expected))]
        assert listed.startswith(f"{len(tokens)} tokens: 8 letters")
    # The caption: all items are tokens after 16 merges, and six pancakes come first.
    assert all(len(tokens) == 1 for tokens in seen[-1][0][:-1])
    assert "No neighbors are left" in said
    for times, first in ((5, False), (6, True)):
        tokens = learn(SALES | {"pancakes": times}, 16)[1]
        assert (tokens.index("pancakes") < tokens.index("cup")) is first
    # The words of the page, and the package's own merges.
    items = [item for item, times in SALES.items() for _ in range(times)]
    package = BPE.train(items, vocab_size=14)
    assert list(package.merges) == learn(SALES, 6)[0]


SMALL_GPT = GPTConfig(vocab_size=52, max_len=32, d_model=64, n_layers=2, n_heads=4)


@pytest.fixture(scope="module")
def shipped():
    """The weights of the live GPT, in 64 bits, under the names of the page."""
    text = (FOLDER / "weights" / "gpt.js").read_text("utf-8")
    given = json.loads(re.search(r"given.gpt = (.*);", text)[1])
    halves = np.frombuffer(base64.b64decode(given["half"]), "<f2").astype(float)
    ends = np.cumsum([np.prod(shape) for shape in given["shapes"].values()])
    parts = np.split(halves, ends)
    assert not parts.pop().size
    return {
        name: part.reshape(shape)
        for (name, shape), part in zip(given["shapes"].items(), parts, strict=True)
    }


@pytest.fixture(scope="module")
def packaged(shipped):
    """The same, under the names of the package: the page itself renames them."""
    code = cell("gpt", "def renamed(").split("def renamed(")[1].split("\n\n\n")[0]
    names = {"np": np}
    exec(f"def renamed({code.split('weights = renamed')[0]}", names)
    return names["renamed"](shipped)


def test_the_live_gpt_has_the_model_of_its_page(shipped, packaged):
    ct, torch = pytest.importorskip("course_lib.torch"), pytest.importorskip("torch")
    # What the command writes of these weights is the file, with the language of today.
    text = (FOLDER / "weights" / "gpt.js").read_text("utf-8")
    assert load("gpt", "checkpoints").as_script(shipped) == text
    assert len(text) < 300_000
    names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional}
    for words in ("class Block(", "class GPT("):
        exec(cell("gpt", words).removeprefix(":tags: [torch]\n"), names)
    model, language = names["GPT"](52, max_len=32), grammar()
    model.load_state_dict({n: torch.from_numpy(a) for n, a in shipped.items()})
    # It is trained as far as the page says, in the page's class and in the package's.
    ids = language.sample(500, 33, seed=1)
    package = ct.GPT(SMALL_GPT)
    ct.set_weights(package, {n: a.astype("f4") for n, a in packaged.items()})
    floor = language.source.losses(ids)[:, 1:].mean()
    for each in (model.float(), package.eval()):
        with torch.no_grad():
            logits = each(torch.from_numpy(ids[:, :-1])).flatten(0, 1)
        loss = torch.nn.functional.cross_entropy(
            logits, torch.from_numpy(ids[:, 1:]).flatten()
        )
        assert floor < loss < floor + 0.04


def unroll(text, weights, off=()):
    """Residual streams, attention maps and forecasts after each level, by NumPy.

    Heads that are `off`, each (layer, head), give nothing to the stream.
    """
    weights = dict(weights)
    for layer, head in off:
        name = f"blocks.{layer}.attention.o_proj.weight"
        weights[name] = weights[name].copy()
        weights[name][:, head * 16 : (head + 1) * 16] = 0
    ids = np.array(grammar().encode(text))
    c, past = SMALL_GPT, np.tri(len(ids), dtype=bool)
    x = weights["tokens.weight"][ids] + weights["positions.table.weight"][: len(ids)]
    streams, maps = [x], []
    for layer in range(c.n_layers):
        own = part(weights, f"blocks.{layer}")
        read = norm(x, own, "attention_norm", c.norm_eps)
        maps.append(
            oracle.multihead(read, None, part(own, "attention"), c.n_heads, mask=past)[
                1
            ]
        )
        x = block(
            x,
            own,
            c.n_heads,
            form=c.norm,
            activation=c.activation,
            eps=c.norm_eps,
            mask=past,
        )
        streams.append(x)
    table = weights["tokens.weight"].T
    logits = [norm(x, weights, "norm", c.norm_eps) @ table for x in streams]
    close(logits[-1].ravel(), oracle.gpt(ids[None], weights, c))
    forecasts = [np.array([oracle.softmax(row) for row in level]) for level in logits]
    return streams, maps, forecasts


def test_the_live_gpt_computes_what_the_package_does(packaged):
    seen = try_out(
        "gpt",
        """
        const map = figure.querySelector("[role=slider]");
        const field = figure.querySelector("[type=text]"), seen = [];
        const heads = () => [...figure.querySelectorAll("[aria-label^=block]")].map(
          (button) => button.dataset.value.split(" ").map(Number));
        const all = () => seen.push([field.value, Number(map.ariaValueNow) - 1, heads(),
          [...figure.querySelectorAll("td svg:not([style*='3.2rem'])")].map((strip) =>
            [...strip.querySelectorAll("rect")].map((d) => Number(d.dataset.value))),
          values(".length"), texts(".says"), values(".says"), texts("th button"),
          values(".own"), values(".real")]);
        all();
        press(map, "ArrowUp"); press(map, "ArrowUp"); all();
        put(field, "Do some firms grow? Each firm that many old banks trust pays");
        all();
        put("the text, to type", "firm firm firm ."); all();
        return seen;
        """,
    )
    language = grammar()
    assert [text for text, *_ in seen[:2]] == ["the firms near the new bank"] * 2
    assert [at for _, at, *_ in seen] == [5, 3, 12, 3]
    for text, at, heads, strips, lengths, best, shares, words, own, real in seen:
        ids = np.array(language.encode(text.lower().replace("?", " ?")))
        streams, maps, forecasts = unroll(language.decode(ids), packaged)
        close(np.ravel(heads), [m[h, at, : at + 1] for m in maps for h in range(4)])
        close(np.ravel(strips), [x[at] for x in streams])
        close(lengths, [np.linalg.norm(x[at]) for x in streams])
        close(shares, [p[at].max() for p in forecasts])
        shown_as([line.split()[1] for line in best], [100 * s for s in shares], 0)
        top = [language.words[p[at].argmax()] for p in forecasts]
        assert [line.split()[0] for line in best] == top
        p = forecasts[-1][at]
        order = sorted(range(52), key=lambda i: -p[i])
        assert words == [language.words[i] for i in order[:12]]
        close(own, [*p[order[:12]], p[order[12:]].sum()])
        if real[0] is not None:
            true = language.source.next_symbol(ids[None])[0, at + 1]
            close(real, [*true[order[:12]], true[order[12:]].sum()])
    assert [real[0] is None for *_, real in seen] == [False, False, False, True]


def plural_share(p):
    """Of the probability of all verbs, the share of plural ones."""
    mass = [
        sum(
            p[i]
            for i, name in enumerate(grammar().classes)
            if name in (f"verb {number}", f"intransitive {number}")
        )
        for number in ("singular", "plural")
    ]
    return mass[1] / sum(mass)


def test_heads_of_the_live_gpt_can_be_switched_off(packaged):
    """What the caption promises, too."""
    texts = [
        f"the {subject} near the new {other}"
        for subject in ("firms", "firm")
        for other in ("bank", "banks")
    ]
    seen = try_out(
        "gpt",
        f"""
        const seen = [], choose = figure.querySelector("select");
        const own = () => texts("th button").map((word, i) =>
          [word, values(".own")[i]]);
        const off = figure.querySelector("[type=checkbox]");
        const head = (name) => figure.querySelector(`[aria-label="${{name}}"]`);
        for (const text of {texts}) {{
          put(choose, text);
          seen.push([own(), await say()]);
          off.click(); seen.push([own(), await say()]);
          off.click();
        }}
        head("block 2, head 3").click(); off.click();
        head("block 1, head 2").click();
        if (off.checked) throw new Error("another head is off");
        off.click(); seen.push([own(), await say()]);
        return seen;
        """,
    )
    language = grammar()
    cases = [(text, off) for text in texts for off in ((), ((1, 2),))]
    cases.append((texts[-1], ((1, 2), (0, 1))))
    for (own, said), (text, off) in zip(seen, cases, strict=True):
        _, maps, forecasts = unroll(text, packaged, off)
        p = forecasts[-1][-1]
        close([share for _, share in own], np.sort(p)[::-1][: len(own)])
        assert [word for word, _ in own] == [
            language.words[i] for i in np.argsort(-p)[:12]
        ]
        assert f"plural forms have {100 * plural_share(p):.0f}%" in said
        assert ("is switched off" in said) == bool(off)
        # A head at the subject, one at "near", and what becomes of the verbs without
        # the first.
        assert maps[1][2, -1, 1] > 0.99 or len(off) > 1
        assert maps[0][1, -1, 2] > 0.7
        right = plural_share(p) > 0.5 if "firms" in text else plural_share(p) < 0.5
        assert right == ("firms" in text or not off)
    without = [unroll(text, packaged, ((0, 1),))[1][1][2, -1, 1] for text in texts]
    assert sum(weight < 0.5 for weight in without) == 3
    asked = "does the firm near the banks"
    assert unroll(asked, packaged)[1][0][0, -1, 0] > 0.9
    levels = unroll(texts[0], packaged)[-1]
    assert [language.words[p[-1].argmax()] for p in levels] == ["bank", "near", "see"]


def test_the_live_gpt_writes_and_says_what_it_cannot_read(packaged):
    greedy, odd, full, said, cut, drawn = try_out(
        "gpt",
        """
        const field = figure.querySelector("[type=text]");
        const button = (text) => [...figure.querySelectorAll("button")].find(
          (node) => node.textContent === text);
        for (let i = 0; i < 4; i += 1) button("the likeliest").click();
        const greedy = field.value;
        put(field, "the firms near inflation"); const odd = await say();
        put(field, "the firm");
        for (let i = 0; i < 20; i += 1) button("the likeliest").click();
        const full = [field.value.split(" ").length, button("one drawn").disabled];
        const said = await say();
        put(figure.querySelector("select"), "the firms near the new banks");
        const map = figure.querySelector("[role=slider]");
        for (let i = 0; i < 4; i += 1) press(map, "ArrowUp");
        button("all 48 words").click(); button("that").click();
        const cut = [field.value];
        button("take back").click(); button("take back").click(); cut.push(field.value);
        cut.push(button("take back").disabled);
        const drawn = {};
        for (let i = 0; i < 100; i += 1) {
          put(field, "the firms near the new bank");
          button("one drawn").click();
          const word = field.value.split(" ")[6];
          drawn[word] = (drawn[word] ?? 0) + 1;
        }
        return [greedy, odd, full, said, cut, drawn];
        """,
    )
    text = "the firms near the new bank"
    p = unroll(text, packaged)[-1][-1][-1]
    for word in greedy.split()[6:]:
        likely = unroll(text, packaged)[-1][-1][-1].argmax()
        assert word == grammar().words[likely]
        text += f" {word}"
    assert greedy == text
    assert odd.startswith("“inflation” is none of the model's words")
    assert full == [16, True]
    assert "The figure holds 16 words." in said
    assert cut == ["the firms that", "the", True]
    deviation = (p.max() * (1 - p.max()) / 100) ** 0.5
    assert abs(max(drawn.values()) / 100 - p.max()) < 4 * deviation


def test_the_heads_are_those_of_the_published_model():
    pytest.importorskip("torch")
    tokens, maps = load("heads", "checkpoints").maps()
    text = (FOLDER / "weights" / "heads.js").read_text("utf-8")
    given = json.loads(re.search(r"given.heads = (.*);", text)[1])
    stored = np.frombuffer(base64.b64decode(given["bytes"]), "u1").reshape(maps.shape)
    stored = stored.astype(float) / 255
    assert given["tokens"] == tokens
    assert abs(stored - maps).max() < 0.5 / 255 + 1e-4
    first, moved, wide, said = try_out(
        "heads",
        """
        const [map, heads] = figure.querySelectorAll("[role=slider]");
        const [sentence, shows] = figure.querySelectorAll("select");
        const cells = (table) => [...table.querySelectorAll("[data-value]")].map(
          (cell) => Number(cell.dataset.value));
        const all = async () => [cells(map), cells(heads), await say()];
        const first = await all();
        for (let i = 0; i < 2; i += 1) press(map, "ArrowLeft");
        press(heads, "ArrowRight"); press(heads, "ArrowUp", true);
        put(shows, "effective");
        const moved = await all();
        put(sentence, 1); put(shows, "weight");
        for (let i = 0; i < 2; i += 1) press(map, "ArrowRight");
        const wide = await all(), said = [];
        for (const at of [2, 11]) {
          press(heads, "ArrowUp", true);
          for (let i = 0; i < 12; i += 1) press(heads, "ArrowLeft");
          for (let i = 0; i < at; i += 1) press(heads, "ArrowRight");
          said.push(await say());
        }
        return [first, moved, wide, said];
        """,
    )
    it, animal, cls = 10, 2, 0
    assert (tokens[0][it], tokens[0][animal], tokens[0][cls]) == (
        "it",
        "animal",
        "[CLS]",
    )
    rows = stored[:, :, :, it]
    effective = rows.sum(axis=-1) ** 2 / (rows**2).sum(axis=-1)
    for (map_, heads, _), expected_map, expected in (
        (first, stored[0, 3, 1], rows[0, :, :, animal]),
        (moved, stored[0, 0, 2], effective[0]),
        (wide, stored[1, 0, 2], rows[1, :, :, animal]),
    ):
        close(map_, expected_map)
        close(heads, expected)
    # The caption and the page: 68% and two heads, then one; 18 heads and [CLS].
    assert "takes 68% from “animal”" in first[-1]
    assert "2 of 72 heads take over half from “animal”" in first[-1]
    assert "18 of 72 heads take over half from “[CLS]”" in moved[-1]
    assert "1 of 72 heads takes over half from “animal”" in wide[-1]
    assert "In effect it reads 1.0 of 16 tokens" in said[0]
    assert "In effect it reads 14.7 of 16 tokens" in said[1]
    nouns = [animal, tokens[0].index("street")]
    assert np.isin(maps[0, :, :, it].argmax(axis=-1), nouns).sum() == 4
    before = maps[0, 0, 2].argmax(axis=-1)
    assert before.tolist() == [0, *range(15)]


def given(name):
    """What the file holds that a live figure loads."""
    text = (FOLDER / "weights" / f"{name}.js").read_text("utf-8")
    return json.loads(re.search(rf"given.{name} = (.*);", text)[1])


@pytest.fixture(scope="module")
def stream():
    """Of each case: logarithms (number, quartile, block), cosines (block, pair)."""
    held = given("stream")
    logs = np.frombuffer(base64.b64decode(held["logs"]), "<i2") / held["scale"]
    pairs = np.frombuffer(base64.b64decode(held["cosines"]), "u1") / 127.5 - 1
    cases = [tuple(case) for case in held["cases"]]
    logs, pairs = (
        logs.reshape(len(cases), 3, 3, 101),
        pairs.reshape(len(cases), 101, -1),
    )
    return dict(zip(cases, zip(logs, pairs, strict=True), strict=True))


def test_the_stream_shows_what_is_stored(stream):
    moves = [(True, "pre", 20), (True, "pre", 0), (True, "post", 100)]
    moves += [(True, "none", 7), (False, "none", 99), (False, "pre", 2)]
    moves += [(False, "post", 50)]
    seen, dragged, said = try_out(
        "stream",
        f"""
        const [skip, slider] = figure.querySelectorAll("input"), seen = [];
        const norm = figure.querySelector("select");
        const all = () => [[...figure.querySelectorAll(".value")].map((node) =>
          node.dataset.value.split(" ").map(Number)), values(".mean"), values("rect")];
        for (const [skips, place, block] of {json.dumps(moves)}) {{
          if (skip.checked !== skips) skip.click();
          put(norm, place); put(slider, block);
          seen.push(all());
        }}
        const cut = await say();
        drag(figure.querySelector("svg"), 40 + 252 * 0.3, 100);
        const dragged = [slider.value, slider.getAttribute("aria-valuetext")];
        skip.click(); put(norm, "none");
        return [seen, dragged, [cut, await say()]];
        """,
    )
    for (numbers, mean, cells), (skip, place, after) in zip(seen, moves, strict=True):
        logs, pairs = stream[skip, place]
        close(np.ravel(numbers), logs[..., after])
        close(mean, pairs[after].mean())
        table = np.eye(8)
        i, j = np.triu_indices(8, 1)
        table[i, j] = table[j, i] = pairs[after]
        close([value for value in cells if value is not None], table)
    assert dragged == ["30", "30 of 100"]
    assert (
        "in post-norm and without skip connections, the mean square is 1.0." in said[0]
    )
    assert "Up to rounding, the words of a sentence are one vector." in said[0]
    assert "The gradient overflows on its way down." in said[1]


def test_the_stream_is_that_of_the_blocks_of_its_page(stream):
    torch = pytest.importorskip("torch")
    command = load("stream", "checkpoints")
    names = {"torch": torch}
    exec(cell("block", "def run_block("), names)
    rules = {(True, "pre"): "pre_norm", (True, "post"): "post_norm"}
    rules |= {(True, "none"): "no_norm", (False, "pre"): "no_skip"}
    # Going up, the first start, by the rules of the page. Below this share of words
    # that differ, rounding takes over.
    for case, rule in rules.items():
        torch.manual_seed(0)
        make = command.ct.Block
        blocks = [make(32, 4, activation="relu").double() for _ in range(100)]
        x, _ = torch.randn(2, 1, 8, 32).double()
        vectors = [x]
        with torch.no_grad():
            for each in blocks:
                vectors.append(names["run_block"](names[rule], vectors[-1], each))
        vectors = torch.cat(vectors).numpy()
        found = command.cosines(vectors)
        np.testing.assert_allclose(found, stream[case][1], rtol=0, atol=0.51 / 127.5)
    # The whole of the calmest case, with its gradients.
    logs, _ = command.case(True, "pre")
    np.testing.assert_allclose(logs / command.SCALE, stream[True, "pre"][0], atol=0.003)


def test_the_stream_does_what_its_caption_says(stream):
    logs = {case: stored for case, (stored, _) in stream.items()}
    for place in ("pre", "post", "none"):
        assert logs[False, place][1, :, 5:].max() <= -12
    for place in ("post", "none"):
        assert logs[True, place][1, 1, 60:].max() <= -12
    assert 0.03 < 10 ** logs[True, "pre"][1, 1, -1] < 0.05
    up = (logs[True, "pre"][0, 1, -1] - logs[True, "pre"][0, 1, 0]) / 2
    down = logs[True, "pre"][2, 1, 0]
    for factor in (up, down):
        assert 9 < 10**factor < 11


@pytest.fixture(scope="module")
def runs():
    """What is stored of the training runs: norm, warm-up, rate, start(, step)."""
    held = given("warmup")
    losses = np.frombuffer(base64.b64decode(held["losses"]), "<u2") / 1000
    sizes = [len(held[name]) for name in ("norm", "warmup", "rate", "start")]
    return held, np.reshape(held["ends"], sizes), losses.reshape(*sizes, -1)


def test_the_runs_show_what_is_stored(runs):
    held, ends, losses = runs
    seen, said = try_out(
        "warmup",
        """
        const [warmup, rate] = figure.querySelectorAll("input"), seen = [], said = [];
        const norm = figure.querySelector("select");
        const grid = figure.querySelector("[role=slider]");
        const curve = (path) => [...path.getAttribute("d").matchAll(
          /[ML]([0-9.]+) ([0-9.]+)/g)].map((at) => [Number(at[1]), Number(at[2])]);
        const all = async () => {
          seen.push([[norm.value, warmup.value, rate.value].map(Number),
            values(".end"), values("[role=slider] g"),
            [...figure.querySelectorAll("path[stroke-width='0.7']")].map(curve)]);
          said.push(await say());
        };
        await all();
        put(warmup, 2); put(rate, 3); await all();
        press(grid, "ArrowLeft"); press(grid, "ArrowUp", true); await all();
        press(grid, "ArrowRight", true); await all();
        put(norm, 1); await all();
        const cell = grid.querySelectorAll("rect")[13].getBoundingClientRect();
        grid.dispatchEvent(new MouseEvent("click", { bubbles: true,
          clientX: cell.x + 9, clientY: cell.y + 9 }));
        await all();
        return [seen, said];
        """,
    )
    moved = [[1, 0, 2], [1, 2, 3], [0, 0, 2], [0, 0, 5], [1, 0, 5], [0, 2, 1]]
    assert [place for place, *_ in seen] == moved
    medians = np.median(ends, axis=-1)
    best = f"{medians.min():.2f}"
    for (place, dots, cells, curves), words in zip(seen, said, strict=True):
        at = tuple(place)
        close(dots, ends[at])
        close(cells, medians)
        for curve, stored in zip(curves, losses[at], strict=True):
            steps, heights = np.transpose(curve)
            shown = np.flatnonzero(stored <= 5.5)
            np.testing.assert_allclose(steps, 30 + 310 * (shown + 1) / 200, atol=0.06)
            drawn = 1.5 + 4 * (200 - heights) / 176
            np.testing.assert_allclose(drawn, stored[shown], rtol=0, atol=0.003)
        low, *_, high = sorted(f"{end:.2f}" for end in ends[at])
        assert (
            f"between {low} and {high}" if low < high else f"at {low} from"
        ) in words
        ignore = (ends[at] > held["known"]["unigram"] - 0.1).sum()
        assert ("the frequencies of words" in words) == (ignore > 0)
        jumps = (losses[at].max(axis=1) > losses[at][:, 0] + 1).any()
        assert ("jumped" in words) == jumps
        assert f"ends at {best} (gray)" in words
    assert said[0].startswith("Post-norm at a rate of 0.01 with no warm-up: the loss")


def test_the_runs_begin_as_those_of_the_page(runs):
    """Later steps are another machine's own: rounding grows as training goes on."""
    pytest.importorskip("torch")
    pytest.importorskip("flax")
    held, _, losses = runs
    command = load("warmup", "checkpoints")
    assert {name: held[name] for name in command.GRID} == {
        name: list(values) for name, values in command.GRID.items()
    }
    names = command.page()
    for name, value in held["known"].items():
        assert abs(names[name] - value) < 1e-3
    for form, each in zip(held["norm"], losses, strict=True):
        # The warm-up is that of the whole run, and only a constant rate may end in it.
        few = dataclasses.replace(
            names["schedule"](100, 0.001), steps=4, schedule="constant"
        )
        found, _ = command.train(names, form, 1, few)
        np.testing.assert_allclose(found, each[2, 0, 1, :4], rtol=0, atol=0.002)


def test_the_runs_do_what_the_caption_and_its_page_say(runs):
    held, ends, losses = runs
    pre, post = ends
    known = held["known"]
    none, short, long = range(3)
    middle, high, higher, highest = range(2, 6)
    assert post[none, middle].min() > known["unigram"] - 0.1
    assert np.flatnonzero(post[short, middle] < 3).tolist() == [0]
    assert post[long, middle].max() < known["bigram"] - 0.1
    assert post[long, high].min() > known["unigram"] - 0.1
    assert (losses[1, long, high].min(axis=1) < 2.6).tolist() == [True, False, False]
    # The highest rates at which each form learns, and what pre-norm gains.
    assert pre[:, :higher].max() < 2.6
    assert np.median(pre, axis=-1)[:, higher].round(2).tolist() == [2.43, 2.23, 2.04]
    assert pre[:, highest].min() > 2.7
    assert post[:, high:].min() > 3.4
    for norm_ in (0, 1):
        before = losses[norm_, none, highest]
        assert (before.max(axis=1) > before[:, 0] + 2).all()
    assert pre[none, highest].min() > 3.2
    medians = np.median(ends, axis=-1)
    best = np.unravel_index(medians.argmin(), medians.shape)
    assert best == (0, long, middle)


def test_a_page_loads_its_figures_and_no_other_page_does(book):
    figure = (
        "\n```{explore} _static/still.svg\n:element: query\n:label: Try\n"
        ":name: fig-try\n:alt: A plane.\n\nDrag.\n```\n"
    )
    (book.folder / "_static").mkdir()
    (book.folder / "_static/still.svg").write_text(still("query"))
    book.write("\n{numref}`fig-try` moves.\n", figure)
    status, page, said = book.build("live_figures", numfig=True)
    assert status == 0, said
    assert re.search(r'<explore-query class="explore" data-label="Try">\s*<img', page)
    assert "Fig. 1" in page
    for file in ("explore/explore.js", "explore/query.js"):
        assert re.search(rf'<script defer="defer" src="_static/{file}', page)
    book.write("\nWords.\n")
    assert "explore" not in book.build("live_figures")[1]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_what_a_page_asks_for_is_there(page):
    used = re.findall(
        r"```\{explore\} (\S+)\n:element: (\w+)\n", page.read_text("utf-8")
    )
    for picture, element in used:
        assert (page.parent / picture).resolve() == FOLDER / f"{element}.svg"
        assert element in names()
