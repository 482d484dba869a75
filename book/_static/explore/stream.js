// A hundred random blocks, one by one: the size of the vectors, how far the words still
// differ, and the gradient, with the skip connections and the norms that one chooses.
"use strict";

explore.define("stream", (live) => {
  const { html, svg, set } = explore;
  const { words, cases, scale, logs, cosines } = explore.given.stream;
  const DEPTH = 100, T = words.length, PAIRS = (T * (T - 1)) / 2, BEYOND = 60, LEAST = -12;
  const view = new DataView(explore.bytes(logs).buffer), stored = explore.bytes(cosines);
  // Base-10 logarithms: quartile 0, 1 or 2 of a number, after a block
  const log = (which, number, quartile, block) => view.getInt16(
    2 * (((which * 3 + number) * 3 + quartile) * (DEPTH + 1) + block), true) / scale;
  const state = { skip: true, norm: "pre", block: 20 };
  const chosen = () => cases.findIndex(([skip, norm]) =>
    skip === state.skip && norm === state.norm);

  const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";
  const power = (n) => `10${n < 0 ? "⁻" : ""}${[...String(Math.abs(n))].map((d) =>
    RAISED[d]).join("")}`;
  const print = (value) => {
    if (value >= BEYOND) return "overflows";
    if (value <= LEAST && value > LEAST - 0.01) return `below ${power(LEAST)}`;
    if (value >= -3 && value < 4) {
      return explore.number(10 ** value, explore.clamp(1 - Math.floor(value), 0, 4));
    }
    const whole = Math.floor(value);
    return `${explore.number(10 ** (value - whole), 1)}·${power(whole)}`;
  };

  // A chart of a number against the block, which follows the pointer
  const WIDTH = 300, LEFT = 40, TOP = 26, BOTTOM = 170;
  const px = (block) => LEFT + (block / DEPTH) * (WIDTH - LEFT - 8);
  function chart(number, name, low, high, every) {
    const py = (value) => BOTTOM - ((value - low) / (high - low)) * (BOTTOM - TOP);
    const inside = (value) => value >= low - 0.02 && value <= high;
    const path = (which, quartile) => Array.from({ length: DEPTH + 1 }, (_, n) =>
      [n, log(which, number, quartile, n)]).reduce(([d, on], [n, value]) => [
      inside(value) ? `${d}${on ? "L" : "M"}${px(n).toFixed(1)} ${py(value).toFixed(1)}` : d,
      inside(value)], ["", false])[0];
    const line = (color, width) => svg("path", { fill: "none", stroke: color,
      "stroke-width": width, "stroke-linejoin": "round" });
    const others = cases.map((_, which) => set(line("var(--explore-faint)", 1),
      { d: path(which, 1), opacity: 0.35 }));
    const band = svg("path", { fill: "var(--explore-accent)", "fill-opacity": 0.2 });
    const median = line("var(--explore-accent)", 2.5);
    const ruler = line("var(--explore-faint)", 1);
    const dot = svg("circle", { r: 5, fill: "var(--explore-accent)",
      stroke: "var(--explore-ground)", "stroke-width": 1.5 });
    const says = svg("text", { x: WIDTH - 8, y: 14, "text-anchor": "end", class: "value" });
    const ticks = [];
    for (let at = low; at <= high; at += every) {
      ticks.push(svg("text", { x: LEFT - 6, y: py(at) + 4, "text-anchor": "end",
        class: "faint" }, at === 0 ? "1" : power(at)));
    }
    const picture = svg("svg", { viewBox: `0 0 ${WIDTH} 194`, "aria-hidden": "true",
      style: "cursor:crosshair;touch-action:pan-y" },
    set(line("var(--explore-line)", 1), { d: `M${LEFT} ${TOP}V${BOTTOM}H${WIDTH - 8}` }),
    ...ticks, ...[0, 50, 100].map((n) => svg("text", { x: px(n), y: BOTTOM + 17,
      "text-anchor": n === DEPTH ? "end" : "middle", class: "faint" }, n)),
    svg("text", { x: LEFT, y: 14, class: "faint" }, name), ...others, ruler, band, median,
    dot, says, svg("rect", { class: "hit", width: WIDTH, height: 194, fill: "none",
      "pointer-events": "all" }));
    const follow = (event) => {
      if (event.type === "pointermove" && !event.buttons && event.pointerType === "mouse") return;
      const point = new DOMPoint(event.clientX, event.clientY);
      const { x } = point.matrixTransform(picture.getScreenCTM().inverse());
      go(Math.round(((x - LEFT) / (WIDTH - LEFT - 8)) * DEPTH));
    };
    for (const type of ["pointerdown", "pointermove"]) picture.addEventListener(type, follow);
    return { picture, draw(which, n) {
      const all = Array.from({ length: DEPTH + 1 }, (_, k) => k);
      const edge = (k, q) => `${px(k).toFixed(1)} ${
        py(explore.clamp(log(which, number, q, k), low, high)).toFixed(1)}`;
      const within = all.filter((k) => [0, 2].some((q) => inside(log(which, number, q, k))));
      set(band, { d: within.length < 2 ? "" : `M${within.map((k) => edge(k, 2)).join("L")}L${
        within.reverse().map((k) => edge(k, 0)).join("L")}Z` });
      set(median, { d: path(which, 1) });
      const [lower, value, upper] = [0, 1, 2].map((q) => log(which, number, q, n));
      set(ruler, { d: `M${px(n)} ${TOP}V${BOTTOM}` });
      set(dot, { cx: px(n), cy: py(explore.clamp(value, low, high)),
        "fill-opacity": inside(value) ? 1 : 0 });
      const range = [lower, upper].map(print);
      says.textContent = range[0] === range[1] ? print(value)
        : `${print(value)} (${range[0]} to ${range[1]})`;
      says.dataset.value = [lower, value, upper].join(" ");
    } };
  }
  const charts = [chart(0, "mean square", -2, 6, 2), chart(1, "share that differs", -12, 0, 3),
    chart(2, "gradient", -6, 2, 2)];

  // The cosines of the words of one start
  const SIDE = 16.5, ACROSS = 44, ABOVE = 60;
  const cells = Array.from({ length: T * T }, (_, i) => svg("rect", { width: SIDE - 1,
    height: SIDE - 1, x: ACROSS + (i % T) * SIDE, y: ABOVE + Math.floor(i / T) * SIDE }));
  const mean = svg("text", { x: WIDTH - 8, y: 14, "text-anchor": "end", class: "mean" });
  const table = svg("svg", { viewBox: `0 0 ${WIDTH} 194`, "aria-hidden": "true" },
    svg("text", { x: 0, y: 14, class: "faint" }, "cosines, first start"), mean, ...cells,
    ...words.map((word, i) => svg("text", { x: ACROSS - 6, y: ABOVE + (i + 0.72) * SIDE,
      "text-anchor": "end" }, word)),
    ...words.map((word, i) => svg("text", { transform:
      `translate(${ACROSS + (i + 0.7) * SIDE} ${ABOVE - 5}) rotate(-60)` }, word)));

  const slider = explore.slider({ label: "block", min: 0, max: DEPTH, step: 1,
    value: state.block, text: (n) => `${n} of ${DEPTH}`, change: (n) => go(n) });
  const skip = html("input", { type: "checkbox" });
  skip.checked = state.skip;
  skip.addEventListener("change", () => { state.skip = skip.checked; draw(); });
  const NAMES = { pre: "before (pre-norm)", post: "after (post-norm)", none: "none" };
  const FORMS = { pre: "in pre-norm", post: "in post-norm", none: "without norms" };
  const norm = explore.choice(Object.entries(NAMES), state.norm, "norm", (name) => {
    state.norm = name;
    draw();
  });
  const say = set(explore.status(), { style: "min-height:4.4em" });
  function go(n) {
    state.block = explore.clamp(n, 0, DEPTH);
    slider.set(state.block);
    draw();
  }
  function draw() {
    const which = chosen(), n = state.block, at = (number) => log(which, number, 1, n);
    const pairs = Array.from(stored.subarray((which * (DEPTH + 1) + n) * PAIRS).subarray(
      0, PAIRS), (byte) => byte / 127.5 - 1);
    const between = (i, j) => (i === j ? 1
      : pairs[Math.min(i, j) * T - (Math.min(i, j) * (Math.min(i, j) + 1)) / 2
        + Math.abs(i - j) - 1]);
    charts.forEach((each) => each.draw(which, n));
    cells.forEach((cell, i) => {
      const value = between(Math.floor(i / T), i % T);
      set(cell, { fill: value < 0 ? "var(--explore-share)" : "var(--explore-accent)",
        "fill-opacity": Math.abs(value).toFixed(2), "data-value": value });
    });
    const average = pairs.reduce((sum, value) => sum + value, 0) / PAIRS;
    mean.textContent = `mean ${explore.number(average, 2)}`;
    mean.dataset.value = average;
    const share = at(1), gradient = at(2);
    explore.say(say, [`${n ? `After block ${n}` : "Before the first block"}, ${
      FORMS[state.norm]} ${state.skip ? "with" : "and without"} skip connections, the mean square is ${
      print(at(0))}.`,
    share <= LEAST ? "Up to rounding, the words of a sentence are one vector."
      : `Of it, ${share < -3 ? print(share) : `${explore.number(100 * 10 ** share,
        share < -1 ? 1 : 0)}%`} differs between the words of a sentence.`,
    gradient >= BEYOND ? "The gradient overflows on its way down."
      : n < DEPTH ? `The gradient is ${print(gradient)} times as long as at the top.` : "",
    ].filter(Boolean).join(" "));
  }
  live.append(html("div", { class: "explore-controls" }, html("label", {}, skip,
    "skip connections"), norm.node, slider.node),
  html("div", { class: "explore-panels" }, charts[0].picture, charts[1].picture),
  html("div", { class: "explore-panels" }, charts[2].picture, table), say);
  draw();
}, { files: ["weights/stream.js"] });
