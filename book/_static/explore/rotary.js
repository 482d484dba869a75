// Rotary positions: queries and keys turn with their places, products with the step.
"use strict";

explore.define("rotary", (live) => {
  const { html, svg, set, show } = explore;
  const PAIRS = 4, LAST = 60, FAR = 30;
  const state = { query: 7, key: 4, base: 10000, own: new Array(PAIRS).fill(0) };
  const speed = (m) => state.base ** (-m / PAIRS);
  const product = (m, step) => Math.cos(speed(m) * step + state.own[m]);
  const score = (step) => state.own.reduce((sum, _, m) => sum + product(m, step), 0);
  const ORANGE = "var(--explore-share)", BLUE = "var(--explore-new)";
  const degrees = (angle) => (angle * 180) / Math.PI;

  // One clock for each pair of features; the key's hand can be turned.
  const clocks = svg("svg", { viewBox: "0 0 340 372", role: "group",
    "aria-label": "four pairs of features" });
  const hands = state.own.map((_, m) => {
    const x = 85 + 170 * (m % 2), y = 66 + 188 * Math.floor(m / 2), R = 58;
    const hand = (color, faint) => svg("path", { fill: "none", stroke: color,
      "stroke-width": faint ? 2 : 3.5, "stroke-linecap": "round",
      opacity: faint ? 0.35 : 1 });
    const parts = { q0: hand(ORANGE, true), k0: hand(BLUE, true), q: hand(ORANGE),
      k: hand(BLUE) };
    const handle = svg("g", { class: "explore-handle", tabindex: 0, role: "slider",
      "aria-label": `key of pair ${m + 1}, its own angle`, "aria-valuemin": -180,
      "aria-valuemax": 180 }, svg("circle", { class: "hit", r: 15 }),
      svg("circle", { r: 4.5, fill: BLUE }));
    const label = { x, "text-anchor": "middle" };
    const pace = svg("text", { ...label, y: y + R + 20, class: "faint" });
    const value = svg("text", { ...label, y: y + R + 38 });
    clocks.append(svg("circle", { cx: x, cy: y, r: R, fill: "none",
      stroke: "var(--explore-line)" }), ...Object.values(parts), pace, value, handle);
    const turn = (angle) => {
      const whole = Math.round(degrees(angle) / 5) * 5;
      const wrapped = ((((whole + 180) % 360) + 360) % 360) - 180;
      state.own[m] = (wrapped * Math.PI) / 180;
      draw();
    };
    explore.draggable(clocks, handle, {
      move: (px, py) => turn(Math.atan2(y - py, px - x) - speed(m) * state.key),
      step: (dx, dy) => turn(state.own[m] + ((dx + dy) * 5 * Math.PI) / 180) });
    const line = (node, angle, length) => set(node, {
      d: `M${x} ${y}L${x + length * Math.cos(angle)} ${y - length * Math.sin(angle)}` });
    return () => {
      const q = speed(m) * state.query, k = speed(m) * state.key + state.own[m];
      line(parts.q0, 0, R);
      line(parts.k0, state.own[m], R);
      line(parts.q, q, R - 8);
      line(parts.k, k, R);
      set(handle, { transform: `translate(${x + R * Math.cos(k)} ${y - R * Math.sin(k)})`,
        "aria-valuenow": Math.round(degrees(state.own[m])),
        "aria-valuetext": `${Math.round(degrees(state.own[m]))} degrees` });
      pace.textContent = `${explore.number(degrees(speed(m)), 2)}° a position`;
      show(value, product(m, state.key - state.query));
      value.textContent = `product ${value.textContent}`;
    };
  });

  // The score against the step from the query to the key
  const WIDTH = 340, HEIGHT = 300, px = (step) => 30 + ((step + FAR) / (2 * FAR)) * 300;
  const py = (value) => 130 - (value / PAIRS) * 112;
  const chart = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group",
    "aria-label": "score against the step from query to key" });
  chart.append(svg("path", { d: `M30 10V250M30 ${py(0)}H330`, fill: "none",
    stroke: "var(--explore-line)" }));
  for (const step of [-30, -20, -10, 0, 10, 20, 30]) {
    chart.append(svg("text", { x: px(step), y: 268, "text-anchor": "middle",
      class: "faint" }, explore.number(step, 0)));
  }
  for (const value of [-4, -2, 0, 2, 4]) {
    chart.append(svg("text", { x: 24, y: py(value) + 4, "text-anchor": "end",
      class: "faint" }, explore.number(value, 0)));
  }
  const curve = svg("path", { fill: "none", stroke: "var(--explore-faint)",
    "stroke-width": 2, "stroke-linejoin": "round" });
  const marker = svg("g", { class: "explore-handle", tabindex: 0, role: "slider",
    "aria-label": "step from the query to the key", "aria-valuemin": -LAST,
    "aria-valuemax": LAST }, svg("circle", { class: "hit", r: 16 }),
    svg("circle", { r: 6, fill: "var(--explore-accent)" }));
  const sum = svg("text", { x: 330, y: 16, "text-anchor": "end",
    style: "fill:var(--explore-accent)" });
  chart.append(svg("text", { x: 36, y: 16, class: "faint" }, "score"),
    svg("text", { x: 330, y: 290, "text-anchor": "end", class: "faint" },
      "step j − i, from the query to the key"), sum, curve, marker);

  const say = explore.status();
  const at = (name, label) => explore.slider({ label, min: 0, max: LAST, step: 1,
    value: state[name], text: String, change: (t) => { state[name] = t; draw(); } });
  const sliders = { query: at("query", "query at"), key: at("key", "key at") };
  const put = (name, t) => {
    state[name] = explore.clamp(Math.round(t), 0, LAST);
    sliders[name].set(state[name]);
  };
  const moveKey = (step) => { put("key", state.query + step); draw(); };
  explore.draggable(chart, marker, {
    move: (x) => moveKey(explore.clamp(((x - 30) / 300) * 2 * FAR - FAR, -FAR, FAR)),
    step: (x, y) => moveKey(state.key - state.query + x + y) });
  const both = (by, words) => html("button", { type: "button", onclick: () => {
    const low = Math.min(state.query, state.key), high = Math.max(state.query, state.key);
    const move = explore.clamp(by, -low, LAST - high);
    put("query", state.query + move);
    put("key", state.key + move);
    draw();
  } }, words);
  const base = explore.choice([[10000, "10,000"], [100, "100"], [10, "10"]], "10000",
    "base", (value) => { state.base = Number(value); draw(); });
  live.append(
    html("div", { class: "explore-controls" }, sliders.query.node, sliders.key.node),
    html("div", { class: "explore-controls" }, both(-5, "both 5 back"),
      both(5, "both 5 on"), html("button", { type: "button", onclick: () => {
        state.own.fill(0);
        draw();
      } }, "equal contents"), base.node),
    html("div", { class: "explore-panels" }, clocks, chart), say);

  function draw() {
    const step = state.key - state.query;
    for (const hand of hands) hand();
    const steps = Array.from({ length: 301 }, (_, i) => -FAR + (i * 2 * FAR) / 300);
    set(curve, { d: `M${steps.map((s) =>
      `${px(s).toFixed(2)} ${py(score(s)).toFixed(2)}`).join("L")}` });
    set(marker, { transform: `translate(${px(explore.clamp(step, -FAR, FAR))} ${
      py(score(step))})`, "aria-valuenow": step, "aria-valuetext": `step ${step}` });
    show(sum, score(step), 3);
    sum.textContent = `Σ = ${sum.textContent}`;
    explore.say(say, `Query at ${state.query}, key at ${state.key}, step ${
      explore.number(step, 0)}: the score is ${explore.number(score(step), 3)}.`);
  }
  draw();
});
