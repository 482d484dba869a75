// A small GPT from inside: the attention of each head and the residual stream, for any text.
"use strict";

explore.define("gpt", (live) => {
  const { html, svg, set, show } = explore, small = explore.small();
  const { words } = small;
  const MOST = 16;

  // What is chosen, and what follows from it
  const state = { ids: [], at: 0, layer: 1, head: 3, model: null };
  const word = (t) => words[state.ids[t]];
  function take(ids) {
    Object.assign(state, { ids, at: ids.length - 1, model: small.run(ids) });
    texts.show(ids);
    draw();
  }

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

  // All heads, small
  const SMALL = 56;
  const maps = [];
  const grid = small.grid((layer, head) => {
    const button = html("button", { type: "button",
      "aria-label": `block ${layer + 1}, head ${head + 1}`, style: "padding:2px;line-height:0",
      onclick: () => {
        Object.assign(state, { layer, head });
        draw();
      } });
    maps.push({ layer, head, button });
    return button;
  });

  // The residual stream at the chosen word
  const LEVELS = ["table", "block 1", "block 2"];
  const strips = LEVELS.map((name) => ({ name, length: html("td", { class: "number length" }),
    vector: svg("svg", { viewBox: "0 0 240 14", preserveAspectRatio: "none",
      style: "max-width:none;height:1.1rem", "aria-hidden": "true" }),
    says: html("td", { class: "says" }) }));
  const title = html("th", { scope: "col", style: "width:60%;white-space:normal" });
  const stream = html("table", { style: "width:100%;margin-top:.7rem" }, html("thead", {},
    html("tr", {}, html("th", { scope: "col" }, "after"), title, html("th", { scope: "col", class: "number" }, "length"),
      html("th", { scope: "col" }, "forecast"))), html("tbody", {},
    ...strips.map(({ name, vector, length, says }) => html("tr", {},
      html("th", { scope: "row" }, name), html("td", {}, vector), length, says))));

  const say = set(explore.status(), { style: "min-height:4.4em" });
  function draw() {
    const { ids, at, model, layer, head } = state, n = ids.length;
    const side = cellSize(), map = model.maps[layer][head];
    const past = Array.from({ length: n }, (_, t) => t);
    picture.replaceChildren(svg("text", { x: 0, y: 16, class: "faint" }, `block ${layer + 1},`),
      svg("text", { x: 0, y: 34, class: "faint" }, `head ${head + 1}`),
      ...small.shade(map, side, LEFT, TOP),
      ...past.map((t) => svg("text", { x: LEFT - 8, y: TOP + (t + 0.5) * side + 4,
        "text-anchor": "end", class: t === at ? "" : "faint" }, word(t))),
      ...past.map((t) => svg("text", { class: t <= at ? "" : "faint",
        transform: `translate(${LEFT + (t + 0.5) * side} ${TOP - 7}) rotate(${side < 24 ? -75 : -45})` },
        word(t))),
      svg("rect", { x: LEFT - 2, y: TOP + at * side - 1, width: (at + 1) * side + 3,
        height: side + 2, fill: "none", stroke: "var(--explore-ink)", "stroke-width": 1.5 }),
      svg("rect", { class: "hit", width: LEFT + SIDE, height: TOP + SIDE }));
    maps.forEach((each) => {
      const own = model.maps[each.layer][each.head];
      set(each.button, { "aria-pressed": String(each.layer === layer && each.head === head) });
      each.button.dataset.value = own[at].join(" ");
      each.button.replaceChildren(svg("svg", { viewBox: `0 0 ${SMALL} ${SMALL}`,
        style: "width:min(3.2rem, 15vw)", "aria-hidden": "true" }, ...small.shade(own, SMALL / n, 0, 0)));
    });

    const levels = model.streams.map((x) => small.forecast(x[at])), own = levels.at(-1);
    const likeliest = (p) => p.indexOf(Math.max(...p));
    title.textContent = `vector of “${word(at)}”`;
    strips.forEach(({ vector, length, says }, level) => {
      const x = model.streams[level][at], top = Math.max(...x.map(Math.abs));
      vector.replaceChildren(...x.map((value, d) => svg("rect", { x: d * 5, width: 5,
        height: 14, "data-value": value, fill: value > 0 ? "var(--explore-accent)"
          : "var(--explore-share)", "fill-opacity": Math.abs(value / top).toFixed(2) })));
      show(length, Math.sqrt(explore.dot(x, x)), 1);
      const best = likeliest(levels[level]);
      says.textContent = `${words[best]} ${explore.number(100 * levels[level][best], 0)}%`;
      says.dataset.value = levels[level][best];
    });

    const row = map[at], from = likeliest(row), attended = 1 / explore.dot(row, row);
    const percent = (p) => `${explore.number(100 * p, 0)}%`;
    set(picture, { "aria-valuemax": n, "aria-valuenow": at + 1,
      "aria-valuetext": `${word(at)}, attends most to ${word(from)}` });
    explore.say(say, [
      `After “${small.text(ids.slice(0, at + 1))}”, “${words[likeliest(own)]}” is likeliest, with ${
        percent(Math.max(...own))}.`,
      at + 1 < n ? `What came, “${word(at + 1)}”, had ${percent(own[ids[at + 1]])}.` : "",
      `Block ${layer + 1}, head ${head + 1} takes ${percent(row[from])} from “${word(from)}”, ${
        explore.number(attended, 1)} ${attended < 1.05 ? "word" : "words"} in effect.`,
    ].filter(Boolean).join(" "));
  }

  const texts = small.texts(MOST, say, take);
  live.append(html("div", { class: "explore-controls" }, texts.field, texts.start),
    html("div", { class: "explore-panels" }, grid, picture), stream, say);
  texts.type(texts.starts[0]);
}, { files: ["shared/decoder.js", "weights/gpt.js", "shared/small.js"], size: "120 kB" });
