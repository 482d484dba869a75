// Byte pairs merging step by step, on the sales of the page; the counts can be changed.
"use strict";

explore.define("pairs", (live) => {
  const { html, set, show } = explore;
  const SALES = { pan: 9, pans: 5, cake: 6, cakes: 8, pancakes: 2, saucepan: 3,
    cup: 4, cupcakes: 2 };
  const MOST = 20, PAIRS = 6, COMMON = " + ";
  const times = { ...SALES };
  const state = { merges: 3, word: "cheesecakes" };

  const join = (tokens, [a, b]) => {
    const joined = [];
    for (const token of tokens) {
      if (joined.at(-1) === a && token === b) joined[joined.length - 1] += token;
      else joined.push(token);
    }
    return joined;
  };
  // All merges up to this many, and the counts that decide on the next one.
  function learn(steps) {
    let corpus = Object.entries(times).map(([word, n]) => [[...word], n]);
    const letters = [...new Set(Object.keys(times).join(""))].sort();
    const ids = new Map(letters.map((letter, i) => [letter, i]));
    const merges = [];
    let counts = [];
    for (let step = 0; step <= steps; step += 1) {
      const found = new Map();
      for (const [tokens, n] of corpus) {
        for (let i = 1; i < tokens.length; i += 1) {
          const key = tokens[i - 1] + COMMON + tokens[i];
          found.set(key, (found.get(key) ?? 0) + n);
        }
      }
      counts = [...found].filter(([, n]) => n > 0).map(([key, n]) => [key.split(COMMON), n])
        .sort(([p, m], [q, n]) => n - m || ids.get(p[0]) - ids.get(q[0])
          || ids.get(p[1]) - ids.get(q[1]));
      if (step === steps || counts.length === 0) break;
      const [pair] = counts[0];
      merges.push(pair);
      if (!ids.has(pair.join(""))) ids.set(pair.join(""), ids.size);
      corpus = corpus.map(([tokens, n]) => [join(tokens, pair), n]);
    }
    return { merges, counts, corpus, ids };
  }

  const chips = (node, tokens) => node.replaceChildren(...tokens.map((token) =>
    html("span", { class: "explore-chip", style: token.length > 1
      ? "background:rgba(var(--explore-cell), 0.22)" : "" }, token)));
  const words = Object.keys(SALES).map((word) => {
    const cell = html("td");
    const input = explore.entry({ label: `times ${word} was sold`, value: times[word],
      min: 0, max: 99, step: 1, change: (n) => { times[word] = Math.round(n); draw(); } });
    return { cell, input, row: html("tr", {}, html("td", {}, input), cell) };
  });
  const fresh = html("td", { "data-fresh": "" });
  const typed = html("input", { type: "text", "aria-label": "a word to cut", size: 11,
    maxlength: 24, autocomplete: "off", spellcheck: "false", oninput: () => {
      state.word = typed.value;
      draw();
    } });
  typed.value = state.word;
  const left = html("table", {}, html("thead", {}, html("tr", {},
    html("th", { scope: "col" }, "sold"), html("th", { scope: "col" }, "tokens"))),
    html("tbody", {}, ...words.map(({ row }) => row), html("tr", {},
      html("td", {}, typed), fresh)));
  const pairs = Array.from({ length: PAIRS }, () => {
    const pair = html("th", { scope: "row" }), count = html("td", { class: "number count" });
    const bar = html("span", { class: "bar" });
    return { pair, count, bar, row: html("tr", {}, pair, count, html("td", {
      "aria-hidden": "true", style: "width:45%" }, bar)) };
  });
  const right = html("table", { style: "width:100%" }, html("thead", {}, html("tr", {},
    html("th", { scope: "col" }, "neighbors"),
    html("th", { scope: "col", class: "number" }, "times"),
    html("th", { "aria-hidden": "true" }))), html("tbody", {},
    ...pairs.map(({ row }) => row)));
  const list = html("p", { style: "margin:.5rem 0 0" });

  const say = explore.status();
  const slider = explore.slider({ label: "merges", min: 0, max: MOST, step: 1,
    value: state.merges, text: String, change: (n) => { state.merges = n; draw(); } });
  const go = (n) => {
    state.merges = explore.clamp(n, 0, MOST);
    slider.set(state.merges);
    draw();
  };
  const next = html("button", { type: "button", onclick: () => go(state.merges + 1) });
  const back = html("button", { type: "button", onclick: () => go(state.merges - 1) },
    "undo");
  live.append(
    html("div", { class: "explore-controls" }, slider.node, next, back),
    html("div", { class: "explore-panels" }, left, html("div", {}, right, list)), say);

  function draw() {
    const { merges, counts, corpus, ids } = learn(state.merges);
    words.forEach(({ cell }, i) => chips(cell, corpus[i][0]));
    chips(fresh, merges.reduce(join, [...state.word]));
    pairs.forEach(({ pair, count, bar, row }, i) => {
      row.style.visibility = i < counts.length ? "" : "hidden";
      const [[a, b], n] = counts[i] ?? [["", ""], 0];
      pair.textContent = `${a} + ${b}`;
      show(count, n, 0);
      bar.style.width = `${counts.length ? (100 * n) / counts[0][1] : 0}%`;
      bar.style.opacity = i === 0 ? 1 : 0.45;
    });
    const tokens = [...ids.keys()].filter((token) => token.length > 1);
    list.textContent = `${ids.size} tokens: ${ids.size - tokens.length} letters${
      tokens.length ? `, ${tokens.join(", ")}` : ""}`;
    const possible = counts.length > 0 && merges.length === state.merges;
    next.textContent = possible ? `join ${counts[0][0].join(COMMON)}` : "nothing to join";
    set(next, { disabled: !possible || state.merges === MOST });
    set(back, { disabled: state.merges === 0 });
    const last = merges.at(-1);
    explore.say(say, `${last ? `Merge ${merges.length} joined ${last.join(COMMON)}.`
      : "No merge yet, all tokens are letters."} ${counts.length
      ? `The most frequent neighbors are now ${counts[0][0].join(COMMON)}, ${
        counts[0][1]} times.` : "No neighbors are left."}`);
  }
  draw();
});
