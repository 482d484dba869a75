// A small GPT: its attention, its residual stream and its forecast, for any text, also
// with heads switched off, so that nothing of theirs reaches the stream.
"use strict";

explore.define("gpt", (live) => {
  const { html, svg, set, show } = explore;
  const { words, classes, names, states, shapes, half } = explore.given.gpt;
  const LAYERS = 2, HEADS = 4, MOST = 16, SHOWN = 12;
  const SPECIAL = names.indexOf("special");
  const VERBS = ["verb ", "intransitive "];

  // The weights: 16 bits each, sign, exponent, fraction; a matrix is its rows.
  const bytes = explore.bytes(half);
  const weights = {};
  let read = 0;
  const next = () => {
    const bits = bytes[read] | (bytes[read + 1] << 8);
    const exponent = (bits >> 10) & 31, fraction = (bits & 1023) / 1024;
    read += 2;
    return (bits >> 15 ? -1 : 1)
      * (exponent ? (1 + fraction) * 2 ** (exponent - 15) : fraction * 2 ** -14);
  };
  const some = (n) => Float64Array.from({ length: n }, next);
  for (const [name, [rows, columns]] of Object.entries(shapes)) {
    weights[name] = columns ? Array.from({ length: rows }, () => some(columns)) : some(rows);
  }

  const model = explore.decoder(weights, { layers: LAYERS, heads: HEADS });
  const head = (x) => explore.softmax(model.logits(x));
  function run(ids) {
    const cache = model.begin(), steps = ids.map((id) => model.read(id, cache, state.off));
    const all = (name, n) => Array.from({ length: n }, (_, i) => steps.map((step) => step[name][i]));
    return { streams: all("levels", LAYERS + 1), maps: all("maps", LAYERS).map((rows) =>
      Array.from({ length: HEADS }, (_, h) => rows.map((row) => row[h]))) };
  }

  // The language: within a class the words have shares in proportion to 1, 1/2, 1/3 …
  const members = names.map((_, c) => words.map((_, id) => id).filter((id) => classes[id] === c));
  const share = classes.map((c, id) => {
    const sum = members[c].reduce((total, _, i) => total + 1 / (i + 1), 0);
    return 1 / (members[c].indexOf(id) + 1) / sum;
  });
  // The true distribution after a text; nothing after one that cannot be.
  function truth(ids) {
    let state = 0;
    for (const id of ids) {
      const way = states[state].find(([c]) => c === classes[id]);
      if (!way) return null;
      [, , state] = way;
    }
    const p = new Array(words.length).fill(0);
    for (const [c, chance] of states[state]) {
      for (const id of members[c]) p[id] = chance * share[id];
    }
    return p;
  }

  // What is chosen, and what follows from it
  const encode = (text) => text.split(" ").map((word) => words.indexOf(word));
  const STARTS = ["the firms near the new bank", "the firms near the new banks",
    "the firm near the new bank", "the firm near the new banks",
    "does the firm near the banks", "the firm that the workers trust"];
  const state = { ids: [], at: 0, layer: 1, head: 3, off: new Set(), model: null };
  const word = (t) => words[state.ids[t]];
  const text = (ids) => ids.map((id) => words[id]).join(" ");
  function take(ids, typed = false) {
    Object.assign(state, { ids, at: ids.length - 1, model: run(ids) });
    if (!typed) field.value = text(ids);
    start.select.value = STARTS.includes(text(ids)) ? text(ids) : "";
    draw();
  }
  const append = (id) => {
    if (state.at + 1 < MOST) take([...state.ids.slice(0, state.at + 1), id]);
  };

  // The map of one head, whose rows can be chosen
  const LEFT = 64, TOP = 58, SIDE = 234;
  const picture = svg("svg", { viewBox: `0 0 ${LEFT + SIDE + 16} ${TOP + SIDE + 4}`,
    class: "explore-handle", role: "slider", tabindex: 0, "aria-orientation": "vertical",
    "aria-label": "word at which we ask", "aria-valuemin": 1,
    style: "cursor:pointer;touch-action:auto" });
  const cellSize = () => Math.min(40, SIDE / state.ids.length);
  const choose = (t) => {
    state.at = explore.clamp(t, 0, state.ids.length - 1);
    draw();
  };
  picture.addEventListener("click", (event) => {
    const point = new DOMPoint(event.clientX, event.clientY);
    const { y } = point.matrixTransform(picture.getScreenCTM().inverse());
    choose(Math.floor((y - TOP) / cellSize()));
  });
  picture.addEventListener("keydown", (event) =>
    explore.arrows(event, (x, y) => choose(state.at + x - y)));
  const shade = (map, side, x, y) => map.flatMap((row, i) => row.map((weight, j) =>
    weight < 0.01 ? null : svg("rect", { x: x + j * side, y: y + i * side, width: side,
      height: side, fill: "var(--explore-accent)", "fill-opacity": weight.toFixed(2) })));
  const ground = (n, side, x, y) => svg("path", { d: `M${x} ${y}${Array.from({ length: n },
    (_, i) => `H${x + (i + 1) * side}V${y + (i + 1) * side}`).join("")}H${x}Z`,
  fill: "var(--explore-line)", "fill-opacity": 0.3 });

  // All heads, small
  const SMALL = 56;
  const heads = Array.from({ length: LAYERS }, (_, layer) => Array.from({ length: HEADS },
    (_, h) => html("button", { type: "button",
      "aria-label": `block ${layer + 1}, head ${h + 1}`, style: "padding:2px;line-height:0",
      onclick: () => {
        Object.assign(state, { layer, head: h });
        draw();
      } })));
  const grid = html("table", {}, html("thead", {}, html("tr", {}, html("td"),
    ...heads[0].map((_, h) => html("th", { scope: "col" }, `head ${h + 1}`)))),
  html("tbody", {}, ...heads.map((row, layer) => html("tr", {},
    html("th", { scope: "row" }, `block ${layer + 1}`),
    ...row.map((button) => html("td", {}, button))))));

  const off = html("input", { type: "checkbox", onchange: () => {
    const which = state.layer * HEADS + state.head;
    if (off.checked) state.off.add(which);
    else state.off.delete(which);
    state.model = run(state.ids);
    draw();
  } });

  // The forecast, whose words can be appended
  const rows = Array.from({ length: SHOWN + 1 }, (_, i) => {
    const button = html("button", { type: "button", style: "min-height:1.5rem",
      onclick: () => append(row.id) });
    const row = { id: -1, button, own: html("td", { class: "number own" }),
      real: html("td", { class: "number real" }), bar: html("span", { class: "bar" }),
      tick: html("span", { style: "position:absolute;width:2px;height:1.15em;top:.2em;"
        + "background:var(--explore-ink)" }) };
    row.name = html("th", { scope: "row" }, i < SHOWN ? button : "");
    return row;
  });
  const table = html("table", { style: "width:100%" }, html("thead", {}, html("tr", {},
    html("th", { scope: "col" }, "next word"), html("th", { scope: "col", class: "number" },
      "model"), html("th", { scope: "col", class: "number" }, "true"),
    html("th", { "aria-hidden": "true" }))), html("tbody", {}, ...rows.map((row) =>
    html("tr", {}, row.name, row.own, row.real, html("td", { "aria-hidden": "true",
      style: "width:38%;position:relative" }, row.bar, row.tick)))));

  // The residual stream at the chosen word
  const LEVELS = ["table", "block 1", "block 2"];
  const strips = LEVELS.map((name) => ({ name, length: html("td", { class: "number length" }),
    vector: svg("svg", { viewBox: "0 0 240 14", preserveAspectRatio: "none",
      style: "max-width:none;height:1.1rem", "aria-hidden": "true" }),
    says: html("td", { class: "says" }) }));
  const title = html("th", { scope: "col", style: "width:60%" });
  const stream = html("table", { style: "width:100%;margin-top:.7rem" }, html("thead", {},
    html("tr", {}, html("th", { scope: "col" }, "after"), title, html("th", { scope: "col", class: "number" }, "length"),
      html("th", { scope: "col" }, "forecast"))), html("tbody", {},
    ...strips.map(({ name, vector, length, says }) => html("tr", {},
      html("th", { scope: "row" }, name), html("td", {}, vector), length, says))));

  const say = set(explore.status(), { style: "min-height:4.4em" });
  function draw() {
    const { ids, at, model, layer, head: h } = state, n = ids.length;
    const side = cellSize(), map = model.maps[layer][h];
    const past = Array.from({ length: n }, (_, t) => t);
    picture.replaceChildren(svg("text", { x: 0, y: 16, class: "faint" }, `block ${layer + 1},`),
      svg("text", { x: 0, y: 34, class: "faint" }, `head ${h + 1}`), ground(n, side, LEFT, TOP),
      ...shade(map, side, LEFT, TOP).filter(Boolean),
      ...past.map((t) => svg("text", { x: LEFT - 8, y: TOP + (t + 0.5) * side + 4,
        "text-anchor": "end", class: t === at ? "" : "faint" }, word(t))),
      ...past.map((t) => svg("text", { class: t <= at ? "" : "faint",
        transform: `translate(${LEFT + (t + 0.5) * side} ${TOP - 7}) rotate(${side < 24 ? -75 : -45})` },
        word(t))),
      svg("rect", { x: LEFT - 2, y: TOP + at * side - 1, width: (at + 1) * side + 3,
        height: side + 2, fill: "none", stroke: "var(--explore-ink)", "stroke-width": 1.5 }),
      svg("rect", { class: "hit", width: LEFT + SIDE, height: TOP + SIDE }));
    off.checked = state.off.has(layer * HEADS + h);
    heads.forEach((row, l) => row.forEach((button, k) => {
      set(button, { "aria-pressed": String(l === layer && k === h) });
      button.dataset.value = model.maps[l][k][at].join(" ");
      button.replaceChildren(svg("svg", { viewBox: `0 0 ${SMALL} ${SMALL}`,
        style: `width:3.2rem;opacity:${state.off.has(l * HEADS + k) ? 0.25 : 1}`,
        "aria-hidden": "true" }, ground(n, SMALL / n, 0, 0),
      ...shade(model.maps[l][k], SMALL / n, 0, 0).filter(Boolean)));
    }));

    const levels = model.streams.map((x) => head(x[at])), own = levels.at(-1);
    const real = truth(ids.slice(0, at + 1));
    const order = own.map((_, id) => id).sort((a, b) => own[b] - own[a]);
    const rest = (p) => order.slice(SHOWN).reduce((sum, id) => sum + p[id], 0);
    const most = Math.max(...own, ...(real ?? [0]));
    rows.forEach((row, i) => {
      const id = order[i], last = i === SHOWN;
      row.id = id;
      if (last) row.name.textContent = `${words.length - members[SPECIAL].length - SHOWN} others`;
      else row.button.textContent = words[id];
      set(row.button, { disabled: at + 1 >= MOST });
      show(row.own, last ? rest(own) : own[id], 3);
      row.real.textContent = "–";
      if (real) show(row.real, last ? rest(real) : real[id], 3);
      else delete row.real.dataset.value;
      for (const node of [row.bar, row.tick]) node.hidden = last || (node === row.tick && !real);
      row.bar.style.width = `${((100 * own[id]) / most).toFixed(1)}%`;
      if (real) row.tick.style.left = `${((100 * real[id]) / most).toFixed(1)}%`;
    });
    title.textContent = `vector of “${word(at)}”`;
    strips.forEach(({ vector, length, says }, level) => {
      const x = model.streams[level][at], top = Math.max(...x.map(Math.abs));
      vector.replaceChildren(...x.map((value, d) => svg("rect", { x: d * 5, width: 5,
        height: 14, "data-value": value, fill: value > 0 ? "var(--explore-accent)"
          : "var(--explore-share)", "fill-opacity": Math.abs(value / top).toFixed(2) })));
      show(length, Math.sqrt(explore.dot(x, x)), 1);
      const best = levels[level].indexOf(Math.max(...levels[level]));
      says.textContent = `${words[best]} ${explore.number(100 * levels[level][best], 0)}%`;
      says.dataset.value = levels[level][best];
    });

    const row = map[at], from = row.indexOf(Math.max(...row));
    const mass = ["singular", "plural"].map((number) => own.reduce((sum, p, id) =>
      sum + (VERBS.some((kind) => names[classes[id]] === kind + number) ? p : 0), 0));
    const verbs = mass[0] + mass[1], percent = (p) => `${explore.number(100 * p, 0)}%`;
    const attended = 1 / explore.dot(row, row);
    set(picture, { "aria-valuemax": n, "aria-valuenow": at + 1,
      "aria-valuetext": `${word(at)}, attends most to ${word(from)}` });
    set(likeliest, { disabled: at + 1 >= MOST });
    set(drawn, { disabled: at + 1 >= MOST });
    set(back, { disabled: n < 2 });
    explore.say(say, [
      `After “${text(ids.slice(0, at + 1))}”, “${words[order[0]]}” is likeliest, with ${
        percent(own[order[0]])}.`,
      at + 1 < n ? `What came, “${word(at + 1)}”, had ${percent(own[ids[at + 1]])}.` : "",
      verbs > 0.1 ? `Of what verbs have, plural forms have ${percent(mass[1] / verbs)}.` : "",
      `Block ${layer + 1}, head ${h + 1} takes ${percent(row[from])} from “${word(from)}”, ${
        explore.number(attended, 1)} ${attended < 1.05 ? "word" : "words"} in effect${
        off.checked ? ", but is switched off" : ""}.`,
      real ? "" : "The language has no such text.",
      at + 1 >= MOST ? `The figure holds ${MOST} words.` : "",
    ].filter(Boolean).join(" "));
  }

  // Texts to start from, typing, writing
  const start = explore.choice([...STARTS.map((each) => [each, each]), ["", "–"]],
    STARTS[0], "or", (chosen) => { if (chosen) take(encode(chosen)); });
  const field = html("input", { type: "text", "aria-label": "the text, to type",
    autocapitalize: "none", autocomplete: "off", spellcheck: "false",
    style: "flex:1 1 16rem;min-width:0" });
  field.addEventListener("input", () => {
    const typed = field.value.toLowerCase().replace(/([.?])/g, " $1 ").trim();
    if (!typed) return;
    const parts = typed.split(/\s+/), ids = parts.map((part) => words.indexOf(part));
    const odd = ids.findIndex((id) => id < members[SPECIAL].length);
    const unfinished = odd === ids.length - 1 && !/\s$/.test(field.value)
      && words.some((each) => each.startsWith(parts[odd]));
    if (odd >= 0 && !unfinished) {
      explore.say(say, `“${parts[odd]}” is none of the model's words. They stand under “all ${
        words.length - members[SPECIAL].length} words”.`);
    } else if (ids.length > MOST) explore.say(say, `The figure holds ${MOST} words.`);
    else if (odd < 0) take(ids, true);
  });
  const press = (label, onclick) => html("button", { type: "button", onclick }, label);
  const now = () => head(state.model.streams.at(-1)[state.at]);
  const likeliest = press("the likeliest", () => {
    const p = now();
    append(p.indexOf(Math.max(...p)));
  });
  const drawn = press("one drawn", () => {
    append(explore.draw(now()));
  });
  const back = press("take back", () => take(state.ids.slice(0, -1)));
  const all = html("div", { hidden: true, style: "margin-bottom:.6rem" },
    ...names.map((name, c) => (c === SPECIAL ? null : html("span", {
      style: "display:inline-block;margin-right:1rem" }, ...members[c].map((id) =>
      press(words[id], () => append(id)))))));
  const open = press(`all ${words.length - members[SPECIAL].length} words`, () => {
    all.hidden = !all.hidden;
    set(open, { "aria-expanded": String(!all.hidden) });
  });
  set(open, { "aria-expanded": "false" });
  live.append(html("div", { class: "explore-controls" }, field, open), all,
    html("div", { class: "explore-controls" }, "add", likeliest, drawn, back, start.node),
    html("div", { class: "explore-panels" }, html("div", {}, grid,
      html("div", { class: "explore-controls", style: "margin:.3rem 0" },
        html("label", {}, off, "switch this head off")), picture), table),
    stream, say);
  take(encode(STARTS[0]));
}, { files: ["shared/decoder.js", "weights/gpt.js"], size: "120 kB" });
