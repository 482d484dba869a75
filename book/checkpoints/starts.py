"""What pages of the weekend end with from five starts, and with a part taken away.

    python book/checkpoints/starts.py               # into course_lib/data/trained
    python book/checkpoints/starts.py some/folder   # into another folder

The cells of a page's lesson run as they stand there, once for each start, with 0 to 4
where the page says 0, some half an hour in all. Where a page tells a cause they run
again with that part, and nothing else, taken out of their text. The file,
starts.safetensors, holds what is listed below: "page/wing/name", a number a start.
"""

import contextlib
import io
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import jupytext
import matplotlib.pyplot as plt
import numpy as np
import torch
from page_cells import BOOK
from safetensors.numpy import load_file, save_file
from store import run_command

WINGS = {"torch": "", "nnx": "j"}  # and what names of that tab begin with
EXERCISES = "## Exercises"


class Sweep(NamedTuple):
    """What to run of a page, and what to keep of it."""

    page: str  #: Its file in the book
    keep: dict[str, str]  #: An expression for each name; a @ is a j in the NNX tab
    edits: Sequence[tuple[str, str]] = ()  #: What is written otherwise, in both tabs
    starts: int = 5
    without: Sequence[str] = ()  #: Words of cells that aren't needed
    seeds: Sequence[str] = ("torch.manual_seed({})", "nnx.Rngs({})")


MULTI_HEAD = Sweep(
    "similarity/multi-head.md",
    {
        "one head, both": "@found['one head'][2]",
        "two heads, both": "@found['two heads'][2]",
        "more": "@looked[0].max()",
        "less": "@looked[0].min()",
        "short": "@looked[1]",
        "same": "@looked[2]",
        "unread right": "@looked[3]",
        "lost": "sum(min(s[:2]) < 0.6 < 0.9 < max(s[:2]) for s in @alone)",
    },
)
SPLITS = Sweep(
    "similarity/learned-similarity.md",
    {
        "learned, left out": "@rows['learned'][0]",
        "no dice, left out": "@rows['learned, no dice'][0]",
        "learned": "@rows['learned'][1]",
        "no dice": "@rows['learned, no dice'][1]",
        "line in income": "@rows['line, income'][1]",
    },
    starts=6,
    seeds=("default_rng({})",),
)
COMPANY = (
    "cosines(@tables[200])[language.encode('firm')[0], language.encode('bank')[0]]"
)
TOKENS = Sweep("similarity/tokens.md", {"firm and bank": COMPANY})
NO_COMPANY = TOKENS._replace(
    keep={"firm and bank, no company": COMPANY},
    edits=[
        (
            "neighbors, words = data.windows(200 * 512, seed=0)",
            "neighbors, words = data.windows(200 * 512, seed=0)\n"
            "beside = (neighbors == language.encode('firm')[0]).any(axis=1)\n"
            "words[beside] = np.random.default_rng(0).choice(words, beside.sum())",
        )
    ],
)
ATTENTION = Sweep(
    "similarity/attention.md", {"right": "@after[0][0]", "std 2": "@stuck[0][0]"}
)
ROOT = "math.sqrt(q.shape[-1])"
SMALL_SCORES = ATTENTION._replace(
    keep={"std 2, scores / 400": "@stuck[0][0]"}, edits=[(ROOT, f"(400 * {ROOT})")]
)
# Entries of variance 1: weights begin with 1 / (3 n_in) in PyTorch, 1 / n_in in NNX.
WIDE = [
    ("JAsk(language.vocab_size, std=2.0", "JAsk(language.vocab_size, 32, 256, std=1.0"),
    (
        " Ask(language.vocab_size, std=2.0",
        " Ask(language.vocab_size, 32, 256, std=3**0.5",
    ),
]
WITH_ROOT = ATTENTION._replace(keep={"width 256, root": "@stuck[0][0]"}, edits=WIDE)
NO_ROOT = ATTENTION._replace(
    keep={"width 256, no root": "@stuck[0][0]"}, edits=[*WIDE, (ROOT, "1.0")]
)
ON_MOVED = "@accuracy(@models['dense'], *texts(2000, seed=1, moved={}))"
SELF_ATTENTION = Sweep(
    "similarity/self-attention.md",
    {
        "moved by 8": ON_MOVED.format(8),
        "moved by 11": ON_MOVED.format(11),
        "shuffled": "@accuracy(@models['dense'], shuffled(test_ids), test_answers)",
    },
    starts=3,
)
POSITIONS = Sweep(
    "similarity/positions.md",
    {
        "half the pace, short": "@accuracy(@rope, *short)",
        "half the pace, long": "@accuracy(@rope, *long)",
        "RoPE, long": "(setattr(@rope.attention, 'rotary', "
        "{'': Rotary, 'j': JRotary}['@'](16)), @accuracy(@rope, *long))[1]",
    },
)
JUDGED = "@found['{}'].mean()"
BLOCK = Sweep(
    "transformer/block.md",
    {name: JUDGED.format(name) for name in ("attention alone", "block")},
)
NO_G = [
    ("F.gelu(self.up_proj(x))", "self.up_proj(x)"),
    ("nnx.gelu(self.up_proj(x), approximate=False)", "self.up_proj(x)"),
]
NO_NORMS = [
    ("self.attention(self.attention_norm(x)", "self.attention((x)"),
    ("self.feed_forward(self.feed_forward_norm(x)", "self.feed_forward((x)"),
]
LARGER = [
    (
        "ct.Embedding(language.vocab_size, d_model",
        "ct.Embedding(language.vocab_size, d_model, 1.0",
    ),
    (
        "cn.Embedding(language.vocab_size, d_model",
        "cn.Embedding(language.vocab_size, d_model, 1.0",
    ),
]
NO_SKIPS = [
    ("x = x + self.attention(", "x = self.attention("),
    ("return x + self.feed_forward(", "return self.feed_forward("),
]
WITHOUT = [
    BLOCK._replace(
        keep={name: JUDGED.format("block")},
        edits=[('("attention alone", "block")', '("block",)'), *edits],
        without=("plt.show",),
    )
    for name, edits in (
        ("without g", NO_G),
        ("without g and its norm", [*NO_G, NO_NORMS[1]]),
        ("without norms", NO_NORMS),
        ("without norms, larger words", NO_NORMS + LARGER),
        ("without skips", NO_SKIPS),
    )
]
ONE_BY_ONE = (
    "@one_by_one(@models['no mask'], {'': held_out, 'j': test}['@'], @masks['no mask'])"
)
STACK = [
    (
        "self.block = Block(d_model, n_heads, rotary=ct.Rotary(d_model // n_heads))",
        "rotary = ct.Rotary(d_model // n_heads)\n"
        "        blocks = [Block(d_model, n_heads, rotary=rotary) for _ in range(4)]\n"
        "        self.blocks = nn.ModuleList(blocks)",
    ),
    (
        "self.block = JBlock(d_model, n_heads, rotary=rotary, rngs=rngs)",
        "sizes = {'rotary': rotary, 'rngs': rngs}\n"
        "        blocks = [JBlock(d_model, n_heads, **sizes) for _ in range(4)]\n"
        "        self.blocks = nnx.data(blocks)",
    ),
    (
        "x = self.block(self.embed(ids), mask=mask)",
        "x = self.embed(ids)\n        for block in self.blocks:\n"
        "            x = block(x, mask=mask)",
    ),
]
WITHOUT += [
    WITHOUT[0]._replace(
        keep={name: JUDGED.format("block")},
        edits=[('("attention alone", "block")', '("block",)'), *STACK, *edits],
    )
    for name, edits in (("four blocks", []), ("four blocks, no skips", NO_SKIPS))
]
MASKING = Sweep(
    "transformer/masking.md",
    {
        "one by one": f"{ONE_BY_ONE}.mean()",
        "one by one, last place": f"{ONE_BY_ONE}[:, -1].mean()",
    },
)
NO_LAST_PLACE = MASKING._replace(
    keep={"one by one, last place not trained": f"{ONE_BY_ONE}[:, -1].mean()"},
    edits=[
        (
            "cross_entropy(model(ids[:, :-1], mask), ids[:, 1:])",
            "cross_entropy(model(ids[:, :-1], mask)[:, :-1], ids[:, 1:-1])",
        )
    ],
)
GPT = Sweep(
    "architectures/gpt.md",
    {
        "end": "@next_token_loss(@model, {'': held_out, 'j': test}['@']) - floor",
        "passed": "10 + np.argmax(above_floor(@losses) < stairs[-1])",
        "grow": "@ours[0]",
        "grows": "@ours[1]",
    },
    starts=3,
    without=("own_token_loss", "NGram(", "reader = "),
)
ON_LETTERS = (
    "@next_token_loss(@reader, {'': torch.from_numpy, 'j': np.asarray}['@'](%s))"
)
ENGLISH = GPT._replace(
    keep={
        "English, 1,200 steps": ON_LETTERS % "rest",
        "English, 1,200 steps, read": ON_LETTERS
        % "read[: rest.size].reshape(rest.shape)",
    },
    edits=[("(300, 32, 1)", "(1200, 32, 1)")],
    without=("own_token_loss", "above_floor", "forecast(", "fit(model", "fit(jmodel"),
)
GENERATION = Sweep(
    "architectures/generation.md",
    {
        f"{setting}, wrong": f"@judged['{setting}'][0]"
        for setting in (
            "as it is",
            "temperature 0.8",
            "top-k 10",
            "top-p 0.98",
            "top-p 0.9",
        )
    },
    starts=3,
    without=("plt.show", "data.presidents", "president", "prompt = ", "jprompt = "),
)
SWEEPS = [
    *(MULTI_HEAD, SPLITS, TOKENS, NO_COMPANY),
    *(ATTENTION, SMALL_SCORES, WITH_ROOT, NO_ROOT, SELF_ATTENTION, POSITIONS),
    *(BLOCK, *WITHOUT, MASKING, NO_LAST_PLACE, GPT, ENGLISH, GENERATION),
]


def stored_so_far(path: Path) -> dict[str, Any]:
    """What the file says, which a page prints; zeros where it says nothing yet."""
    return defaultdict(lambda: np.zeros(5), load_file(path))


def cells(page: str) -> list[Any]:
    """A page's cells of code, up to its exercises and without what only asserts."""
    found = []
    for cell in jupytext.read(BOOK / page, fmt="md:myst").cells:
        if EXERCISES in cell.source:
            break
        tags = cell.metadata.get("tags", [])
        if cell.cell_type == "code" and "remove-cell" not in tags:
            found.append(cell)
    return found


def run(sweep: Sweep, start: int) -> dict[str, float]:
    """Run the cells from one start; return what is kept, by wing and name.

    Raises:
        ValueError: If an edit finds nothing to change.
    """
    names: dict[str, Any] = {}
    todo = dict(sweep.edits)
    used = set()
    for cell in cells(sweep.page):
        source = cell.source
        if any(words in source for words in sweep.without):
            continue
        for seed in sweep.seeds:
            source = source.replace(seed.format(0), seed.format(start))
        for old, new in todo.items():
            used |= {old} if old in source else set()
            source = source.replace(old, new)
        with (
            contextlib.redirect_stdout(io.StringIO()),
            patch("safetensors.numpy.load_file", stored_so_far),
        ):
            exec(source, names)
        plt.close("all")
    if used != set(todo):
        raise ValueError(f"{sweep.page} must say what is edited: {set(todo) - used}.")
    with torch.no_grad():
        return {
            f"{wing}/{name}": float(eval(expression.replace("@", j), names))
            for wing, j in WINGS.items()
            for name, expression in sweep.keep.items()
        }


def main(folder: Path) -> None:
    """Train and write the file."""
    torch.set_num_threads(1)
    found: dict[str, Any] = {}
    for sweep in SWEEPS:
        ends = [run(sweep, start) for start in range(sweep.starts)]
        for name in ends[0]:
            kept = np.array([end[name] for end in ends], dtype=np.float32)
            found[f"{Path(sweep.page).stem}/{name}"] = kept
    save_file(found, folder / "starts.safetensors")


if __name__ == "__main__":
    run_command(main)
