// Attention for one word: drag the query among the keys, or type every number.
"use strict";

explore.define("query", (live) => {
  const { html, svg, set, show } = explore;
  const PHRASES = {
    "the central bank": [["the", 0, 0], ["central", 3, 0], ["bank", 1, 1]],
    "the steep bank": [["the", 0, 0], ["steep", 0, 3], ["bank", 1, 1]],
  };
  const LOW = -2, HIGH = 4, SIDE = 340, UNIT = SIDE / (HIGH - LOW);
  const place = ([x, y]) => [(x - LOW) * UNIT, (HIGH - y) * UNIT];
  const state = { query: [1, 1], words: [], keys: [], values: [], apart: false };

  // The plane
  const plane = svg("svg", { viewBox: `0 0 ${SIDE} ${SIDE}`, role: "group",
    "aria-label": "plane with the axes money and water" });
  const [left, zero] = place([LOW, 0]), [middle, top] = place([0, HIGH]);
  plane.append(
    svg("path", { d: `M${left} ${zero}H${SIDE}M${middle} ${SIDE}V${top}`,
      stroke: "var(--explore-line)", "stroke-width": 1 }),
    svg("text", { x: SIDE, y: zero - 7, "text-anchor": "end", class: "faint" }, "money"),
    svg("text", { x: middle - 6, y: top + 12, "text-anchor": "end", class: "faint" },
      "water"),
  );
  const shares = svg("polyline", { fill: "none", stroke: "var(--explore-share)",
    "stroke-width": 3, "stroke-linejoin": "round" });
  const arrow = svg("path", { class: "part-output", fill: "none", stroke: "var(--explore-new)",
    "stroke-width": 3, "stroke-linecap": "round" });
  const outputName = svg("text", { class: "part-output", style: "fill:var(--explore-new)" }, "output");
  plane.append(shares, arrow, outputName);

  const round = (value) => explore.clamp(Math.round(value * 10) / 10, LOW, HIGH);
  function point(kind, name, vector, moved) {
    const shape = {
      query: () => svg("circle", { r: 9, fill: "none", stroke: "var(--explore-accent)",
        "stroke-width": 3 }),
      key: () => svg("circle", { r: 5, fill: "var(--explore-accent)" }),
      value: () => svg("rect", { x: -4, y: -4, width: 8, height: 8,
        fill: "var(--explore-share)" }),
    }[kind]();
    const words = { query: "query", key: name, value: "" }[kind];
    const text = svg("text", kind === "query"
      ? { x: -13, y: -9, "text-anchor": "end", style: "fill:var(--explore-accent)" }
      : { x: 8, y: 18 }, words);
    const handle = svg("g", { class: `explore-handle part-${kind}`, tabindex: 0, role: "slider",
      "aria-label": kind === "query" ? "query" : `${kind} of ${name}`,
      "aria-roledescription": "point to move with the arrow keys",
      "aria-valuemin": LOW, "aria-valuemax": HIGH,
    }, svg("circle", { class: "hit", r: 16 }), shape, text);
    const go = (x, y) => moved([round(x), round(y)]);
    explore.draggable(plane, handle, {
      move: (x, y) => go(x / UNIT + LOW, HIGH - y / UNIT),
      step: (x, y) => go(vector()[0] + x / 10, vector()[1] + y / 10),
    });
    plane.append(handle);
    return { handle, shape, draw() {
      const [x, y] = vector();
      set(handle, { transform: `translate(${place([x, y])})`, "aria-valuenow": x,
        "aria-valuetext": `money ${explore.number(x, 1)}, water ${explore.number(y, 1)}` });
    } };
  }

  // The numbers
  const say = explore.status();
  const body = html("div");
  const two = (of, vector, moved) => ["money", "water"].map((axis, i) => {
    const input = explore.entry({ label: `${of}, ${axis}`, value: vector()[i], min: LOW,
      max: HIGH, change: (value) => {
        const next = [...vector()];
        next[i] = value;
        moved(next);
      } });
    input.draw = () => {
      if (document.activeElement !== input) input.value = vector()[i];
    };
    return input;
  });
  let drawn = [];

  function build(phrase) {
    const words = PHRASES[phrase];
    for (const old of plane.querySelectorAll(".explore-handle")) old.remove();
    Object.assign(state, { query: [1, 1], words: words.map(([word]) => word),
      keys: words.map(([, ...v]) => v), values: words.map(([, ...v]) => v) });
    drawn = [];
    const query = [() => state.query, (v) => { state.query = v; draw(); }];
    const inputs = two("query", ...query);
    const table = html("table", {}, html("thead", {}, html("tr", {},
      html("th", { scope: "col" }, "word"), html("th", { scope: "col" }, "key"),
      html("th", { scope: "col", class: "number" }, "score"),
      html("th", { scope: "col", class: "number" }, "weight"),
      html("th", { "aria-hidden": "true" }))));
    const rows = state.words.map((word, j) => {
      const key = [() => state.keys[j], (v) => {
        state.keys[j] = v;
        if (!state.apart) state.values[j] = v;
        draw();
      }];
      const value = [() => state.values[j], (v) => { state.values[j] = v; draw(); }];
      const k = two(`key of ${word}`, ...key), v = two(`value of ${word}`, ...value);
      const score = html("td", { class: "number score" });
      const weight = html("td", { class: "number weight" });
      const bar = html("span", { class: "bar" });
      const own = html("tr", { hidden: true },
        html("td", { class: "faint" }, "value"), html("td", {}, ...v));
      table.append(html("tbody", {}, html("tr", {}, html("th", { scope: "row" }, word),
        html("td", {}, ...k), score, weight, html("td", { "aria-hidden": "true",
          style: "width:4.5rem" }, bar)), own));
      const square = point("value", word, ...value), dot = point("key", word, ...key);
      drawn.push(square, dot, ...k, ...v);
      return { score, weight, bar, own, square, dot };
    });
    drawn.push(point("query", "", ...query), ...inputs);
    const output = ["money", "water"].map(() => html("span", { class: "number output" }));
    table.append(html("tbody", {}, html("tr", { class: "part-output" },
      html("th", { scope: "row", style: "color:var(--explore-new)" }, "output"),
      html("td", { colspan: 4 }, ...output))));
    body.replaceChildren(
      html("p", { class: "part-query", style: "margin:0 0 .3rem" }, "query of bank ", ...inputs), table);
    build.rows = rows;
    build.output = output;
    draw();
  }

  function draw() {
    const scores = state.keys.map((k) => explore.dot(state.query, k) / Math.SQRT2);
    const weights = explore.softmax(scores);
    const ends = [[0, 0]];
    state.values.forEach(([x, y], j) => {
      const [fromX, fromY] = ends[j];
      ends.push([fromX + weights[j] * x, fromY + weights[j] * y]);
    });
    const output = ends.at(-1);
    build.rows.forEach((row, j) => {
      show(row.score, scores[j]);
      show(row.weight, weights[j]);
      row.bar.style.width = `${(100 * weights[j]).toFixed(1)}%`;
      row.own.hidden = !state.apart;
      set(row.square.handle, { display: state.apart ? null : "none" });
      set(row.dot.shape, { "fill-opacity": (0.25 + 0.75 * weights[j]).toFixed(2) });
    });
    build.output.forEach((cell, i) => show(cell, output[i]));
    for (const each of drawn) each.draw();
    set(shares, { points: ends.map(place).join(" ") });
    const [x0, y0] = place([0, 0]), [x1, y1] = place(output);
    const angle = Math.atan2(y1 - y0, x1 - x0), length = Math.hypot(x1 - x0, y1 - y0);
    const head = Math.min(10, length / 2);
    const barb = (turn) => `${x1 - head * Math.cos(angle + turn)} ${
      y1 - head * Math.sin(angle + turn)}`;
    set(arrow, { d: `M${x0} ${y0}L${x1} ${y1}M${barb(0.5)}L${x1} ${y1}L${barb(-0.5)}` });
    set(outputName, { x: x1 + 8, y: y1 - 8 });
    const order = weights.map((weight, j) => [weight, state.words[j]])
      .sort((a, b) => b[0] - a[0]);
    explore.say(say, `Bank takes ${order.map(([weight, word]) =>
      `${explore.number(100 * weight, 0)}% from ${word}`).join(", ")}. Its new vector is (${
      output.map((value) => explore.number(value)).join(", ")}).`);
  }

  const buttons = Object.keys(PHRASES).map((phrase) => html("button", {
    type: "button", onclick: () => choose(phrase) }, phrase));
  function choose(phrase) {
    buttons.forEach((button) =>
      set(button, { "aria-pressed": String(button.textContent === phrase) }));
    build(phrase);
  }
  const apart = html("input", { type: "checkbox", onchange: () => {
    state.apart = apart.checked;
    if (!state.apart) state.values = state.keys.map((key) => [...key]);
    draw();
  } });
  live.append(
    html("div", { class: "explore-controls" }, ...buttons,
      html("label", {}, apart, "values of their own")),
    html("div", { class: "explore-panels" }, plane, body), say);
  choose("the central bank");
});
