// All attention maps of a published model for one sentence, and each head's weight of one
// token on another.
"use strict";

explore.define("heads", (live) => {
  const { html, svg, set } = explore;
  const { tokens, shape: [, LAYERS, HEADS, T], bytes } = explore.given.heads;
  const stored = explore.bytes(bytes);
  const state = { text: 0, layer: 3, head: 1, from: tokens[0].indexOf("it"),
    to: tokens[0].indexOf("animal"), shown: "weight" };
  // A row of a map, which rounding to bytes has left a little off 1
  const row = (layer, head, from) => Array.from(stored.subarray(
    (((state.text * LAYERS + layer) * HEADS + head) * T + from) * T).subarray(0, T),
  (byte) => byte / 255);
  const effective = (weights) => {
    const sum = weights.reduce((a, b) => a + b, 0);
    return sum ** 2 / explore.dot(weights, weights);
  };
  const percent = (p) => `${explore.number(100 * p, 0)}%`;

  // A table of cells, of which one is chosen
  function board(columns, rows, side, left, top, label, choose) {
    const cells = Array.from({ length: rows }, (_, y) => Array.from({ length: columns },
      (_, x) => svg("rect", { x: left + x * side, y: top + y * side, width: side - 1,
        height: side - 1, fill: "var(--explore-accent)" })));
    const ground = svg("rect", { x: left, y: top, width: columns * side - 1,
      height: rows * side - 1, fill: "var(--explore-line)", "fill-opacity": 0.3 });
    const frame = svg("rect", { width: side + 3, height: side + 3, fill: "none",
      stroke: "var(--explore-ink)", "stroke-width": 1.5 });
    const across = Array.from({ length: columns }, () => svg("text"));
    const down = Array.from({ length: rows }, () => svg("text", {
      x: left - 7, "text-anchor": "end" }));
    const picture = svg("svg", { role: "slider", tabindex: 0, class: "explore-handle",
      viewBox: `0 0 ${left + columns * side + 12} ${top + rows * side + 3}`,
      "aria-label": label, "aria-roledescription": "table to go through with the arrow keys",
      "aria-valuemin": 1, "aria-valuemax": columns * rows,
      style: "cursor:pointer;touch-action:auto" }, ground, ...cells.flat(), ...across,
    ...down, svg("rect", { class: "hit", width: left + columns * side,
      height: top + rows * side }), frame);
    const now = [0, 0];
    const go = (x, y) => choose(explore.clamp(x, 0, columns - 1), explore.clamp(y, 0, rows - 1));
    picture.addEventListener("click", (event) => {
      const point = new DOMPoint(event.clientX, event.clientY);
      const { x, y } = point.matrixTransform(picture.getScreenCTM().inverse());
      go(Math.floor((x - left) / side), Math.floor((y - top) / side));
    });
    picture.addEventListener("keydown", (event) =>
      explore.arrows(event, (x, y) => go(now[0] + x, now[1] - y)));
    return { picture, draw(x, y, value, names, says, turn) {
      [now[0], now[1]] = [x, y];
      cells.forEach((line, i) => line.forEach((cell, j) => {
        const [strength, exact] = value(j, i);
        set(cell, { "fill-opacity": strength.toFixed(2), "data-value": exact });
      }));
      across.forEach((node, j) => {
        node.textContent = names[0][j];
        set(node, { class: j === x ? "" : "faint", "text-anchor": turn ? "start" : "middle",
          transform: `translate(${left + (j + 0.5) * side + (turn ? 4 : 0)} ${top - 6}) rotate(${
            turn})` });
      });
      down.forEach((node, i) => {
        node.textContent = names[1][i];
        set(node, { class: i === y ? "" : "faint", y: top + (i + 0.5) * side + 4 });
      });
      set(frame, { x: left + x * side - 2, y: top + y * side - 2 });
      set(picture, { "aria-valuenow": y * columns + x + 1, "aria-valuetext": says });
    } };
  }
  const map = board(T, T, 16, 56, 56, "token and what it takes from", (x, y) => {
    Object.assign(state, { from: y, to: x });
    draw();
  });
  const all = board(HEADS, LAYERS, 23, 52, 24, "layer and head", (x, y) => {
    Object.assign(state, { layer: y, head: x });
    draw();
  });

  const say = set(explore.status(), { style: "min-height:2.9em" });
  const title = html("p", { class: "faint", style: "margin:0 0 .2rem" });
  const caption = html("p", { class: "faint", style: "margin:0 0 .2rem" });
  function draw() {
    const { text, layer, head, from, to, shown } = state, words = tokens[text];
    const weights = Array.from({ length: LAYERS }, (_, l) =>
      Array.from({ length: HEADS }, (_, h) => row(l, h, from)));
    const rows = words.map((_, i) => row(layer, head, i)), own = rows[from];
    map.draw(to, from, (x, y) => [rows[y][x], rows[y][x]], [words, words],
      `${words[from]} takes ${percent(own[to])} from ${words[to]}`, -75);
    all.draw(head, layer, (h, l) => {
      const exact = shown === "weight" ? weights[l][h][to] : effective(weights[l][h]);
      return [shown === "weight" ? exact : exact / T, exact];
    }, [Array.from({ length: HEADS }, (_, h) => String(h)),
      Array.from({ length: LAYERS }, (_, l) => `layer ${l}`)], `head ${layer}-${head}`, 0);
    caption.textContent = shown === "weight"
      ? `all heads: weight of “${words[from]}” on “${words[to]}”`
      : `all heads: effective number of tokens for “${words[from]}”`;
    title.textContent = `head ${layer}-${head}`;
    const most = weights.flat().filter((each) => each[to] > 0.5).length;
    const top = own.indexOf(Math.max(...own));
    explore.say(say, `Head ${layer}-${head}: “${words[from]}” takes ${percent(own[to])} from “${
      words[to]}”${top === to ? ", more than from any other"
      : `, and most, ${percent(own[top])}, from “${words[top]}”`}. In effect it reads ${
      explore.number(effective(own), 1)} of ${T} tokens. ${most || "None"} of ${
      LAYERS * HEADS} heads ${most === 1 ? "takes" : "take"} over half from “${words[to]}”.`);
  }

  const sentence = explore.choice(tokens.map((each, i) => [String(i),
    each.slice(-4, -2).join(" ")]), "0", "… because it was", (chosen) => {
    state.text = Number(chosen);
    draw();
  });
  const shows = explore.choice([["weight", "weight on the chosen token"],
    ["effective", "effective number of tokens"]], "weight", "all heads show", (chosen) => {
    state.shown = chosen;
    draw();
  });
  live.append(html("div", { class: "explore-controls" }, sentence.node, shows.node),
    html("div", { class: "explore-panels" }, html("div", {}, title, map.picture),
      html("div", {}, caption, all.picture)), say);
  draw();
}, { files: ["weights/heads.js"] });
