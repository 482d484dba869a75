// A GPT that writes like a president: a decade, first words, and what it makes of them.
"use strict";

explore.define("president", (live, figure) => {
  const { html } = explore, given = explore.given.president;
  const PAUSE = 25, LONGEST = given.most - 32, SEEDS = 9999;
  const YEARS = { min: 1790, max: 2020, step: 10 };
  const TEMPERATURES = { min: 0, max: 2, step: 0.1 }, SHARES = { min: 0.05, max: 1, step: 0.05 };
  const pieces = explore.pieces(given.merges);
  const model = explore.decoder(explore.unpack(given), given);
  const state = { year: given.year, temperature: 0.8, p: 0.95, seed: 1, ids: [], timer: null };
  const decade = (year) => `${year}s`;

  // Writing: a piece, then a pause in which the page shows it and listens. The same words,
  // settings and seed give the same text.
  const begun = html("span", { class: "begun", style: "color:var(--explore-accent)" });
  const written = html("span", { class: "written" });
  function write() {
    stop();
    const ids = pieces.encode(field.value);
    begun.textContent = field.value;
    written.textContent = "";
    address.keep({ prompt: field.value, decade: decade(state.year), "top-p": explore.number(state.p),
      temperature: explore.number(state.temperature, 1), seed: state.seed });
    if (ids.length > LONGEST) {
      explore.say(say, `Your text has ${ids.length} pieces: start with at most ${LONGEST}.`);
      return;
    }
    Object.assign(state, { ids: [], cache: model.begin(), left: given.most,
      ahead: [pieces.size + (state.year - YEARS.min) / YEARS.step, ...ids],
      random: explore.random(state.seed) });
    button.textContent = "Stop";
    explore.say(say, `It writes in the ${decade(state.year)} …`);
    state.timer = setTimeout(next, 0);
  }
  function next() {
    const reads = state.ahead.length > 0;
    if (!reads) {
      const logits = model.logits(state.x).slice(0, pieces.size); // a text has no decades in it
      const kept = explore.nucleus(logits, state.temperature, state.p);
      state.ids.push(explore.draw(kept, state.random()));
      written.textContent = pieces.decode(state.ids);
    }
    if (state.left === 0) stop("It never read a longer text, and stops.");
    else {
      state.x = model.read(reads ? state.ahead.shift() : state.ids.at(-1), state.cache).levels.at(-1);
      state.left -= 1;
      state.timer = setTimeout(next, reads ? 0 : PAUSE);
    }
  }
  function stop(because = "Write begins anew, with another seed.") {
    clearTimeout(state.timer);
    state.timer = null;
    button.textContent = "Write";
    explore.say(say, `${state.ids.length} pieces in the ${decade(state.year)}. ${because}`);
  }
  // Another text of the same kind.
  function again() {
    state.seed = 1 + Math.floor(SEEDS * Math.random());
    seed.value = state.seed;
    write();
  }

  const field = html("input", { type: "text", "aria-label": "first words", maxlength: 400,
    autocomplete: "off", spellcheck: "false", style: "flex:1 1 14rem;min-width:0",
    onkeydown: (event) => { if (event.key === "Enter") again(); } });
  const button = html("button", { type: "button", onclick: () => (state.timer ? stop() : again()) },
    "Write");
  // What is moved makes it write anew, with the same seed.
  const slider = (label, name, bounds, text) => explore.slider({ label, ...bounds,
    value: state[name], text, change: (value) => {
      state[name] = value;
      write();
    } });
  const sliders = { year: slider("decade", "year", YEARS, decade),
    temperature: slider("temperature", "temperature", TEMPERATURES, (t) => explore.number(t, 1)),
    p: slider("top-p", "p", SHARES, (p) => explore.number(p)) };
  const seed = explore.entry({ label: "seed", value: state.seed, min: 1, max: SEEDS, step: 1,
    change: (value) => {
      state.seed = Math.round(value);
      write();
    } });
  const say = explore.status();
  const address = explore.address(["prompt", "decade", "temperature", "top-p", "seed"], figure, say,
    (link) => {
      field.value = (link?.prompt ?? given.prompt).slice(0, field.maxLength);
      if (!link) {
        begun.textContent = given.prompt;
        written.textContent = given.text.slice(given.prompt.length);
        explore.say(say, `So it went on in the ${decade(state.year)}. Press Write, or move the decade.`);
        return;
      }
      state.year = explore.linked(link.decade, YEARS, given.year);
      state.temperature = explore.linked(link.temperature, TEMPERATURES, 0.8);
      state.p = explore.linked(link["top-p"], SHARES, 0.95);
      state.seed = explore.linked(link.seed, { min: 1, max: SEEDS, step: 1 }, 1);
      for (const [name, { set }] of Object.entries(sliders)) set(state[name]);
      seed.value = state.seed;
      write();
    });
  live.append(html("div", { class: "explore-controls" }, field, button, address.node),
    html("div", { class: "explore-controls" }, ...Object.values(sliders).map(({ node }) => node),
      html("label", {}, "seed", seed)),
    html("p", { style: "white-space:pre-wrap;min-height:12em;margin:0" }, begun, written), say);
  address.read();
}, { files: ["shared/decoder.js", "shared/address.js", "shared/pieces.js", "weights/president.js"],
  size: "3 MB", state: ["prompt", "decade", "temperature", "top-p", "seed"] });
