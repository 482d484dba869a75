// What a small GPT expects next, beside the truth, and without heads that one switches off.
"use strict";

explore.define("forecast", (live, figure) => {
  const { html, svg, set, show } = explore, small = explore.small();
  const { words, layers, heads } = small;
  const MOST = 32, SHOWN = 10, SMALL = 56, ALL = layers * heads;
  const state = { ids: [], off: new Set(), whole: null, own: null };
  const name = (i) => `${Math.floor(i / heads) + 1}.${(i % heads) + 1}`; // block, head

  // Each head, to switch off: its map, and what it is.
  const switches = [];
  const grid = small.grid((layer, head) => {
    const i = layer * heads + head, map = html("span"), word = html("span", { "aria-hidden": "true" });
    const button = html("button", { type: "button", role: "switch",
      "aria-label": `block ${layer + 1}, head ${head + 1}`, style: "padding:2px;line-height:1.2",
      onclick: () => {
        if (!state.off.delete(i)) state.off.add(i);
        draw();
      } }, map, word);
    switches.push({ layer, head, i, button, map, word });
    return button;
  });

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

  const percent = (p) => `${explore.number(100 * p, 0)}%`;
  const forms = ["singular", "plural"].map((number) => words.map((_, id) =>
    ["verb ", "intransitive "].some((kind) => small.names[small.classes[id]] === kind + number)));
  const say = set(explore.status(), { style: "min-height:7.3em" });
  function draw() {
    const { ids, off } = state, n = ids.length, full = n >= MOST;
    const model = off.size ? small.run(ids, off) : state.whole;
    const [own, whole] = [model, state.whole].map(({ streams }) =>
      small.forecast(streams.at(-1)[n - 1]));
    const real = small.truth(ids);
    state.own = own;
    for (const { layer, head, i, button, map, word } of switches) {
      const on = !off.has(i);
      set(button, { "aria-checked": String(on) });
      word.textContent = on ? "on" : "off";
      map.replaceChildren(svg("svg", { viewBox: `0 0 ${SMALL} ${SMALL}`, "aria-hidden": "true",
        style: `width:min(3.2rem, 15vw);opacity:${on ? 1 : 0.25}` },
      ...small.shade(model.maps[layer][head], SMALL / n, 0, 0)));
    }
    const order = own.map((_, id) => id).sort((a, b) => own[b] - own[a]);
    const rest = (p) => order.slice(SHOWN).reduce((sum, id) => sum + p[id], 0);
    const most = Math.max(...own, ...(real ?? [0]));
    rows.forEach((row, i) => {
      const id = order[i], last = i === SHOWN;
      row.id = id;
      if (last) row.name.textContent = `${words.length - small.special - SHOWN} others`;
      else row.button.textContent = words[id];
      set(row.button, { disabled: full || id < small.special });
      show(row.own, last ? rest(own) : own[id], 3);
      row.real.textContent = "–";
      if (real) show(row.real, last ? rest(real) : real[id], 3);
      else delete row.real.dataset.value;
      for (const node of [row.bar, row.tick]) node.hidden = last || (node === row.tick && !real);
      row.bar.style.width = `${((100 * own[id]) / most).toFixed(1)}%`;
      if (real) row.tick.style.left = `calc(${(real[id] / most).toFixed(3)} * (100% - 2px))`;
    });

    for (const button of [likeliest, drawn]) set(button, { disabled: full });
    set(back, { disabled: n < 2 });
    set(restore, { disabled: !off.size });
    const mass = (p, kind) => p.reduce((sum, each, id) => sum + (kind[id] ? each : 0), 0);
    const verbs = (p) => mass(p, forms[0]) + mass(p, forms[1]);
    const plural = (p) => percent(mass(p, forms[1]) / verbs(p));
    const shared = (p) => percent(p.reduce((sum, each, id) => sum + Math.min(each, real[id]), 0));
    const before = (share) => (off.size ? ` (${share(whole)} with all heads)` : "");
    explore.say(say, [
      off.size === ALL ? "All heads are off: each word is alone."
        : off.size ? `${off.size} of ${ALL} heads ${off.size > 1 ? "are" : "is"} off.` : "",
      `After “${words[ids.at(-1)]}”, “${words[order[0]]}” is likeliest, with ${percent(own[order[0]])}.`,
      verbs(own) > 0.1 ? `Plural forms take ${plural(own)} of what verbs have${before(plural)}.` : "",
      real ? `${shared(own)} of the forecast lies where the true one does${before(shared)}.`
        : "The language has no such text.",
      full ? `The figure holds ${MOST} words.` : "",
    ].filter(Boolean).join(" "));
    address.keep({ text: small.text(ids), off: [...off].sort().map(name).join(" ") || "none" });
  }
  function take(ids) {
    Object.assign(state, { ids, whole: small.run(ids) });
    texts.show(ids);
    draw();
  }
  const append = (id) => { if (state.ids.length < MOST) take([...state.ids, id]); };

  // Writing, and all words to click on
  const texts = small.texts(MOST, say, take);
  const press = (label, onclick) => html("button", { type: "button", onclick }, label);
  const likeliest = press("the likeliest", () =>
    append(state.own.indexOf(Math.max(...state.own))));
  const drawn = press("one drawn", () => append(explore.draw(state.own)));
  const back = press("take back", () => take(state.ids.slice(0, -1)));
  const restore = press("all heads on", () => {
    state.off.clear();
    draw();
  });
  const all = html("div", { hidden: true, style: "margin-bottom:.6rem" },
    ...small.members.filter((ids) => ids[0] >= small.special).map((ids) =>
      html("span", { style: "display:inline-block;margin-right:1rem" },
        ...ids.map((id) => press(words[id], () => append(id))))));
  const open = press(`all ${words.length - small.special} words`, () => {
    all.hidden = !all.hidden;
    set(open, { "aria-expanded": String(!all.hidden) });
  });
  set(open, { "aria-expanded": "false" });

  const address = explore.address(["text", "off"], figure, say, (given) => {
    const off = given?.off?.split(" ") ?? [];
    state.off = new Set(switches.map(({ i }) => i).filter((i) => off.includes(name(i))));
    texts.type(texts.starts[3]);
    if (given?.text) texts.type(given.text);
  });
  live.append(html("div", { class: "explore-controls" }, texts.field),
    html("div", { class: "explore-controls" }, "add", likeliest, drawn, back, open, texts.start), all,
    html("div", { class: "explore-panels" }, html("div", {}, grid,
      html("div", { class: "explore-controls", style: "margin:.3rem 0" }, restore,
        address.node), say), table));
  address.read();
}, { files: ["shared/decoder.js", "shared/address.js", "weights/gpt.js", "shared/small.js"] });
