// Masks: who may attend to whom in one layer, and who has heard of whom after several.
"use strict";

explore.define("masks", (live) => {
  const { svg, set } = explore;
  const TEXT = "the bank near the firms grows slowly .".split(" "), T = TEXT.length;
  // A rule for query i and key j, and what its number says, from 1 to T.
  const RULES = {
    "no mask": { rule: () => true },
    causal: { rule: (i, j) => j <= i },
    "window & causal": { rule: (i, j, n) => j <= i && i - j < n, size: "window", start: 3 },
    "prefix | causal": { rule: (i, j, n) => j <= i || j < n, size: "prefix", start: 3 },
    padding: { rule: (i, j, n) => j < n, size: "words before the padding", start: 5 },
    "padding & causal": { rule: (i, j, n) => j < n && j <= i,
      size: "words before the padding", start: 5 },
    "document & causal": { rule: (i, j, n) => j <= i && i < n === j < n,
      size: "words of the first text", start: 4 },
  };
  const state = { name: "window & causal", size: 3, layers: 2, row: T - 1, mask: [] };
  const CELL = 30, LEFT = 62, TOP = 54, SIDE = T * CELL;
  const word = (i) => (state.name.startsWith("padding") && i >= state.size
    ? "[PAD]" : TEXT[i]);

  function table(label) {
    const picture = svg("svg", { viewBox: `0 0 ${LEFT + SIDE + 30} ${TOP + SIDE + 4}`,
      role: "group", "aria-label": label });
    const rows = TEXT.map((_, i) => svg("text", { x: LEFT - 8, y: TOP + i * CELL + 20,
      "text-anchor": "end" }));
    const columns = TEXT.map((_, j) => svg("text", {
      transform: `translate(${LEFT + j * CELL + 13} ${TOP - 7}) rotate(-45)` }));
    const cells = TEXT.map((_, i) => TEXT.map((_, j) => {
      const box = svg("rect", { width: CELL - 2, height: CELL - 2 });
      const words = svg("text", { x: CELL / 2 - 1, y: CELL / 2 + 4, "text-anchor": "middle" });
      const cell = svg("g", { transform: `translate(${LEFT + j * CELL} ${TOP + i * CELL})` },
        box, words);
      cell.addEventListener("pointerenter", () => follow(i));
      picture.append(cell);
      return { cell, box, words };
    }));
    const frame = svg("rect", { x: LEFT - 3, width: SIDE + 4, height: CELL + 4, fill: "none",
      stroke: "var(--explore-ink)", "stroke-width": 1.5, "pointer-events": "none" });
    picture.append(...rows, ...columns, frame);
    return { picture, cells, frame, name() {
      rows.forEach((node, i) => { node.textContent = word(i); });
      columns.forEach((node, j) => { node.textContent = word(j); });
      set(frame, { y: TOP + state.row * CELL - 3 });
    } };
  }
  const one = table("the mask of one layer, to change cell by cell");
  const many = table("after several layers");

  // The mask's cells are switches; arrow keys go from one to the next.
  const place = { i: 0, j: 0 };
  one.cells.forEach((row, i) => row.forEach(({ cell }, j) => {
    const flip = () => {
      state.mask[i][j] = !state.mask[i][j];
      focus(i, j);
      follow(i);
    };
    set(cell, { role: "checkbox", tabindex: i || j ? -1 : 0, class: "explore-handle",
      style: "cursor:pointer;touch-action:auto", onclick: flip, onkeydown: (event) => {
        if (event.key === " " || event.key === "Enter") {
          event.preventDefault();
          flip();
        }
        explore.arrows(event, (x, y) => {
          focus(explore.clamp(i - y, 0, T - 1), explore.clamp(j + x, 0, T - 1));
        });
      }, onfocus: () => follow(i) });
    cell.prepend(svg("rect", { class: "hit", x: -1, y: -1, width: CELL, height: CELL }));
  }));
  function focus(i, j) {
    set(one.cells[place.i][place.j].cell, { tabindex: -1 });
    Object.assign(place, { i, j });
    set(one.cells[i][j].cell, { tabindex: 0 });
    one.cells[i][j].cell.focus({ preventScroll: true });
  }

  const say = explore.status();
  const size = explore.slider({ label: "size", min: 1, max: T, step: 1, value: 3,
    text: String, change: (n) => { state.size = n; apply(); } });
  const layers = explore.slider({ label: "layers", min: 1, max: T, step: 1, value: 2,
    text: String, change: (n) => { state.layers = n; draw(); } });
  const pattern = explore.choice(Object.keys(RULES).map((name) => [name, name]), state.name,
    "mask", (name) => {
      state.name = name;
      state.size = RULES[name].start ?? T;
      size.set(state.size);
      apply();
    });
  const label = size.node.firstChild;
  live.append(
    explore.html("div", { class: "explore-controls" }, pattern.node, size.node, layers.node),
    explore.html("div", { class: "explore-panels" }, one.picture, many.picture), say);

  function apply() {
    const { rule, size: meaning } = RULES[state.name];
    size.node.hidden = !meaning;
    label.textContent = meaning ?? "";
    state.mask = TEXT.map((_, i) => TEXT.map((_, j) => rule(i, j, state.size)));
    draw();
  }
  // The fewest layers after which row i has something of token j. A token keeps itself,
  // through the skip connection.
  function reach() {
    const first = TEXT.map((_, i) => TEXT.map((_, j) => (i === j ? 0 : Infinity)));
    let seen = first.map((row) => row.map((n) => n === 0));
    for (let layer = 1; layer <= T; layer += 1) {
      const now = seen.map((own, i) => own.map((has, j) => has
        || state.mask[i].some((may, k) => may && seen[k][j])));
      now.forEach((row, i) => row.forEach((has, j) => {
        if (has && first[i][j] === Infinity) first[i][j] = layer;
      }));
      seen = now;
    }
    return first;
  }
  function follow(i) {
    state.row = i;
    draw();
  }
  function draw() {
    const first = reach();
    for (const each of [one, many]) each.name();
    TEXT.forEach((_, i) => TEXT.forEach((_, j) => {
      const may = state.mask[i][j], needs = first[i][j], has = needs <= state.layers;
      const paint = (box, filled, strength) => set(box, {
        fill: filled ? "var(--explore-accent)" : "var(--explore-line)",
        "fill-opacity": filled ? strength : 0.3 });
      paint(one.cells[i][j].box, may, 1);
      set(one.cells[i][j].cell, { "aria-checked": String(may),
        "aria-label": `${word(i)} (${i + 1}) may attend to ${word(j)} (${j + 1})` });
      paint(many.cells[i][j].box, has, 0.3);
      const cell = many.cells[i][j];
      cell.words.textContent = has ? String(needs) : "";
      cell.cell.dataset.value = has ? needs : -1;
    }));
    const known = TEXT.map((_, j) => j).filter((j) => first[state.row][j] <= state.layers);
    explore.say(say, `After ${state.layers} ${state.layers === 1 ? "layer" : "layers"}, “${
      word(state.row)}” in row ${state.row + 1} has something of ${known.length} of ${T
      } tokens: ${known.map(word).join(" ")}`);
  }
  apply();
});
