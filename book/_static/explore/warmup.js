// Training runs over a grid of settings: the norm, the warm-up, the learning rate. The
// loss of every step against losses that are known beforehand, and where each run ends.
"use strict";

explore.define("warmup", (live) => {
  const { html, svg, set } = explore;
  const { norm: NORMS, warmup: WARMUPS, rate: RATES, start: STARTS, known, ends, losses } =
    explore.given.warmup;
  const RUNS = ends.length, NAMES = { pre: "pre-norm", post: "post-norm" };
  const bytes = explore.bytes(losses);
  const view = new DataView(bytes.buffer), STEPS = bytes.length / 2 / RUNS, WINDOW = 10;
  const run = (norm, warmup, rate, start) =>
    ((norm * WARMUPS.length + warmup) * RATES.length + rate) * STARTS.length + start;
  const curve = (which) => Array.from({ length: STEPS }, (_, t) =>
    view.getUint16(2 * (which * STEPS + t), true) / 1000);
  const smooth = (values) => values.map((_, t) => {
    const some = values.slice(Math.max(0, t + 1 - WINDOW), t + 1);
    return some.reduce((a, b) => a + b, 0) / some.length;
  });
  // Settings: the losses at the end, in order, and whether training failed
  const all = NORMS.flatMap((_, norm) => WARMUPS.flatMap((__, warmup) =>
    RATES.map((___, rate) => {
      const runs = STARTS.map((____, start) => run(norm, warmup, rate, start));
      const sorted = runs.map((which) => ends[which]).sort((a, b) => a - b);
      const jumps = runs.filter((which) => {
        const values = curve(which);
        return Math.max(...values) > values[0] + 1;
      }).length;
      return { norm, warmup, rate, runs, sorted, jumps, median: sorted[1] };
    })));
  const best = all.reduce((a, b) => (b.median < a.median ? b : a));
  const state = { norm: NORMS.indexOf("post"), warmup: 0, rate: RATES.indexOf(0.01) };
  const setting = () => all[(state.norm * WARMUPS.length + state.warmup) * RATES.length
    + state.rate];
  const steps = (warmup) => (warmup ? `${warmup} steps of warm-up` : "no warm-up");
  const name = ({ norm, warmup, rate }) =>
    `${NAMES[NORMS[norm]]} at a rate of ${RATES[rate]} with ${steps(WARMUPS[warmup])}`;
  const count = (n) => ["None", "One of them", "Two of them", "All three"][n];
  const loss = (value) => explore.number(value, 2);

  // The loss, and under it the learning rate
  const WIDTH = 350, LEFT = 30, RIGHT = 340, TOP = 24, BOTTOM = 200, HIGH = 5.5, LOW = 1.5;
  const px = (t) => LEFT + (t / STEPS) * (RIGHT - LEFT);
  const py = (value) => BOTTOM - ((value - LOW) / (HIGH - LOW)) * (BOTTOM - TOP);
  const line = (color, width, more = {}) => svg("path", { fill: "none", stroke: color,
    "stroke-width": width, "stroke-linejoin": "round", ...more });
  const path = (values) => values.reduce(([d, on], value, t) => (value > HIGH ? [d, false]
    : [`${d}${on ? "L" : "M"}${px(t + 1).toFixed(1)} ${py(value).toFixed(1)}`, true]),
  ["", false])[0];
  const text = (x, y, words, anchor = "start") => svg("text", { x, y,
    "text-anchor": anchor, class: "faint" }, words);
  const accent = "var(--explore-accent)", faint = "var(--explore-faint)";
  const raw = STARTS.map(() => line(accent, 0.7, { opacity: 0.3 }));
  const means = STARTS.map(() => line(accent, 1.8));
  const dots = STARTS.map(() => svg("circle", { r: 3.5, fill: accent, class: "end" }));
  const other = line(faint, 1.4, { opacity: 0.8 });
  const rates = line("var(--explore-share)", 1.8), peak = text(RIGHT, 222, "", "end");
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} 276`, "aria-hidden": "true" },
    line("var(--explore-line)", 1, { d: `M${LEFT} ${TOP}V${BOTTOM}H${RIGHT}M${LEFT} 254H${RIGHT}` }),
    text(LEFT, 14, "loss, nats a word"), text(LEFT, 222, "learning rate"), peak,
    ...[2, 3, 4, 5].map((value) => text(LEFT - 6, py(value) + 4, value, "end")),
    ...[0, 100, 200].map((t) => text(px(t), 271, t, t === STEPS ? "end" : "middle")),
    ...Object.entries(known).flatMap(([words, value]) => [line(faint, 1.2, {
      "stroke-dasharray": "4 3", d: `M${LEFT} ${py(value)}H${RIGHT}` }),
    words === "unigram" ? text(RIGHT, py(value) - 9, `${words} ${loss(value)}`, "end")
      : text(LEFT + 5, py(value) + (words === "entropy" ? 13 : -4), `${words} ${loss(value)}`)]),
    other, ...raw, ...means, ...dots, rates);

  // Where all settings end
  const CELL = 48, HEIGHT = 25, ACROSS = 58, ABOVE = 68;
  const rows = NORMS.flatMap((norm, i) => WARMUPS.map((warmup, j) => [i, j]));
  const below = (row) => ABOVE + row * HEIGHT + Math.floor(row / WARMUPS.length) * 32;
  const cells = all.map((each) => {
    const row = each.norm * WARMUPS.length + each.warmup;
    const x = ACROSS + each.rate * CELL, y = below(row);
    const share = (known.unigram - each.median) / (known.unigram - known.entropy);
    return svg("g", { "data-value": each.median },
      svg("rect", { x, y, width: CELL - 1, height: HEIGHT - 1, fill: accent,
        "fill-opacity": (0.5 * explore.clamp(share, 0, 1)).toFixed(2) }),
      svg("text", { x: x + CELL / 2, y: y + 17, "text-anchor": "middle" },
        `${loss(each.median)}${each === best ? "★" : ""}${each.jumps ? "↑" : ""}`));
  });
  const frame = svg("rect", { width: CELL + 2, height: HEIGHT + 2, fill: "none",
    stroke: "var(--explore-ink)", "stroke-width": 1.5 });
  const grid = svg("svg", { viewBox: `0 0 ${ACROSS + RATES.length * CELL + 4} 276`,
    role: "slider", tabindex: 0, class: "explore-handle", "aria-label": "setting",
    "aria-roledescription": "table to go through with the arrow keys", "aria-valuemin": 1,
    "aria-valuemax": all.length, style: "cursor:pointer;touch-action:auto" },
  text(0, 14, "loss at the end, median of three starts"), text(ACROSS - 8, 36, "rate", "end"),
  ...RATES.map((rate, i) => text(ACROSS + (i + 0.5) * CELL, 36, rate, "middle")),
  ...NORMS.map((norm, i) => text(0, below(i * WARMUPS.length) - 8, `${NAMES[norm]}, after so many steps of warm-up`)),
  ...rows.map(([, warmup], row) => text(ACROSS - 8, below(row) + 17, WARMUPS[warmup], "end")),
  ...cells, svg("rect", { class: "hit", width: ACROSS + RATES.length * CELL, height: 276 }),
  frame);
  const go = (row, rate) => {
    const at = explore.clamp(row, 0, rows.length - 1);
    [state.norm, state.warmup] = rows[at];
    state.rate = explore.clamp(rate, 0, RATES.length - 1);
    draw();
  };
  grid.addEventListener("click", (event) => {
    const point = new DOMPoint(event.clientX, event.clientY);
    const { x, y } = point.matrixTransform(grid.getScreenCTM().inverse());
    const row = rows.findIndex((_, i) => y >= below(i) && y < below(i) + HEIGHT);
    if (row >= 0 && x >= ACROSS) go(row, Math.floor((x - ACROSS) / CELL));
  });
  grid.addEventListener("keydown", (event) => explore.arrows(event, (x, y) =>
    go(state.norm * WARMUPS.length + state.warmup - y, state.rate + x)));

  const norm = explore.choice(NORMS.map((each, i) => [String(i), NAMES[each]]),
    String(state.norm), "norm", (chosen) => { state.norm = Number(chosen); draw(); });
  const slider = (label, values, key, says) => explore.slider({ label, min: 0,
    max: values.length - 1, step: 1, value: state[key], text: (i) => says(values[i]),
    change: (i) => { state[key] = i; draw(); } });
  const warmup = slider("warm-up", WARMUPS, "warmup", (n) => `${n} steps`);
  const rate = slider("rate", RATES, "rate", String);
  const say = set(explore.status(), { style: "min-height:4.4em" });

  function draw() {
    const now = setting(), { runs, sorted } = now;
    norm.select.value = String(state.norm);
    warmup.set(state.warmup);
    rate.set(state.rate);
    runs.forEach((which, i) => {
      const values = curve(which);
      set(raw[i], { d: path(values) });
      set(means[i], { d: path(smooth(values)) });
      set(dots[i], { cx: RIGHT, cy: py(ends[which]), "data-value": ends[which] });
    });
    set(other, { d: path(smooth(curve(best.runs[0]))) });
    const w = WARMUPS[state.warmup];
    set(rates, { d: `M${LEFT} ${w ? 254 : 228}${Array.from({ length: STEPS }, (_, t) => {
      const s = t < w ? (t + 1) / w
        : 0.5 * (1 + Math.cos((Math.PI * (t + 1 - w)) / (STEPS - w)));
      return `L${px(t + 1).toFixed(1)} ${(254 - 26 * s).toFixed(1)}`;
    }).join("")}` });
    peak.textContent = `peak ${RATES[state.rate]}`;
    const row = state.norm * WARMUPS.length + state.warmup;
    set(frame, { x: ACROSS + state.rate * CELL - 1.5, y: below(row) - 1.5 });
    set(grid, { "aria-valuenow": all.indexOf(now) + 1,
      "aria-valuetext": `${name(now)}: ${loss(now.median)}` });
    const ignore = sorted.filter((end) => end > known.unigram - 0.1).length;
    const share = (known.unigram - now.median) / (known.unigram - known.entropy);
    explore.say(say, [`${name(now).replace("p", "P")}: the loss ends ${loss(sorted[0]) === loss(sorted[2])
      ? `at ${loss(sorted[0])} from all` : `between ${loss(sorted[0])} and ${
        loss(sorted[2])} from`} three starts.`,
    ignore ? `${count(ignore)} ${ignore === 1 ? "ends" : "end"} with no more than the frequencies of words.`
      : `The median has gone ${explore.number(100 * share, 0)}% of the way from the unigram loss to the entropy.`,
    now.jumps ? `${count(now.jumps)} had first jumped by more than 1.` : "",
    now === best ? "It is the best of all settings." : `The best, ${name(best)}, ends at ${
      loss(best.median)} (gray).`].filter(Boolean).join(" "));
  }
  live.append(html("div", { class: "explore-controls" }, norm.node, warmup.node, rate.node),
    html("div", { class: "explore-panels" }, picture, grid), say);
  draw();
}, { files: ["weights/warmup.js"] });
