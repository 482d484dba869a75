// The GPT of the page on GPT, and its small English, whose probabilities are known.
"use strict";

explore.small = () => {
  const { html, svg, set } = explore;
  const { words, classes, names, states, shapes, half } = explore.given.gpt;
  const LAYERS = 2, HEADS = 4;

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
  const forecast = (x) => explore.softmax(model.logits(x));
  // The stream after the table and each block, and the heads' maps, without heads that
  // are `off`, numbered through both blocks.
  function run(ids, off) {
    const cache = model.begin(), steps = ids.map((id) => model.read(id, cache, off));
    const all = (name, n) => Array.from({ length: n }, (_, i) => steps.map((step) => step[name][i]));
    return { streams: all("levels", LAYERS + 1), maps: all("maps", LAYERS).map((rows) =>
      Array.from({ length: HEADS }, (_, h) => rows.map((row) => row[h]))) };
  }

  // The language: within a class the words have shares in proportion to 1, 1/2, 1/3 …
  const members = names.map((_, c) => words.map((_, id) => id).filter((id) => classes[id] === c));
  const special = members[names.indexOf("special")].length;
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

  // A field to type a text into, and texts to begin with. `take` gets the ids of one.
  const STARTS = ["the firms near the new bank", "the firms near the new banks",
    "the firm near the new bank", "the firm near the new banks",
    "does the firm near the banks", "the firm that the workers trust"];
  const text = (ids) => ids.map((id) => words[id]).join(" ");
  function texts(most, say, take) {
    const field = html("input", { type: "text", "aria-label": "the text, to type",
      autocapitalize: "none", autocomplete: "off", spellcheck: "false",
      style: "flex:1 1 16rem;min-width:0" });
    let typing = false;
    field.addEventListener("input", () => {
      const typed = field.value.toLowerCase().replace(/([.?])/g, " $1 ").trim();
      if (!typed) return;
      const parts = typed.split(/\s+/), ids = parts.map((part) => words.indexOf(part));
      const odd = ids.findIndex((id) => id < special);
      const unfinished = odd === ids.length - 1 && !/\s$/.test(field.value)
        && words.some((each) => each.startsWith(parts[odd]));
      if (odd >= 0 && !unfinished) {
        explore.say(say, `“${parts[odd]}” is none of the model's ${words.length - special} words: ${
          list()}.`);
      } else if (ids.length > most) explore.say(say, `The figure holds ${most} words.`);
      else if (odd < 0) {
        typing = true;
        take(ids);
        typing = false;
      }
    });
    const list = () => words.slice(special).join(", ");
    const start = explore.choice([...STARTS.map((each) => [each, each]), ["", "–"]],
      STARTS[0], "or", (chosen) => { if (chosen) type(chosen); });
    set(start.node, { style: "flex:1 1 10rem;min-width:0" });
    set(start.select, { style: "flex:1;min-width:0;text-overflow:ellipsis" });
    function type(typed) {
      field.value = typed;
      field.dispatchEvent(new Event("input"));
    }
    // What stands in them when this text is shown.
    function show(ids) {
      if (!typing) field.value = text(ids);
      start.select.value = STARTS.includes(text(ids)) ? text(ids) : "";
    }
    return { field, start: start.node, starts: STARTS, type, show };
  }

  // A map of attention, row below row, and the triangle that it may fill.
  const shade = (map, side, x, y) => [
    svg("path", { d: `M${x} ${y}${map.map((_, i) =>
      `H${x + (i + 1) * side}V${y + (i + 1) * side}`).join("")}H${x}Z`,
    fill: "var(--explore-line)", "fill-opacity": 0.3 }),
    ...map.flatMap((row, i) => row.flatMap((weight, j) => (weight < 0.01 ? []
      : svg("rect", { x: x + j * side, y: y + i * side, width: side, height: side,
        fill: "var(--explore-accent)", "fill-opacity": weight.toFixed(2) })))),
  ];
  // A table with a cell for each head.
  const grid = (cell) => html("table", {}, html("thead", {}, html("tr", {}, html("td"),
    ...Array.from({ length: HEADS }, (_, h) => html("th", { scope: "col" }, `head ${h + 1}`)))),
  html("tbody", {}, ...Array.from({ length: LAYERS }, (_, layer) => html("tr", {},
    html("th", { scope: "row" }, `block ${layer + 1}`),
    ...Array.from({ length: HEADS }, (_, h) => html("td", {}, cell(layer, h)))))));

  return { words, names, classes, members, special, layers: LAYERS, heads: HEADS, run,
    forecast, truth, text, texts, shade, grid };
};
