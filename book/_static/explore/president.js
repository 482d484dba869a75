// A GPT that writes like a president: a decade, first words, and what it makes of them.
"use strict";

explore.define("president", (live) => {
  const { html } = explore, given = explore.given.president;
  const FIRST = 1790, DECADES = 24, PAUSE = 25, LONGEST = given.most - 32;
  const pieces = explore.pieces(given.merges);
  const model = explore.decoder(explore.unpack(given), given);
  const state = { year: given.year, temperature: 0.8, p: 0.95, ids: [], cache: null };
  const decade = (year) => `${year}s`;

  // Writing: a piece, then a pause in which the page shows it and listens.
  const begun = html("span", { class: "begun", style: "color:var(--explore-accent)" });
  const written = html("span", { class: "written" });
  const read = (id) => {
    state.x = model.read(id, state.cache).levels.at(-1);
    state.left -= 1;
  };
  function write() {
    stop();
    const ids = pieces.encode(field.value);
    begun.textContent = field.value;
    written.textContent = "";
    if (ids.length > LONGEST) {
      explore.say(say, `Your text has ${ids.length} pieces: start with at most ${LONGEST}.`);
      return;
    }
    Object.assign(state, { ids: [], cache: model.begin(), left: given.most });
    [pieces.size + (state.year - FIRST) / 10, ...ids].forEach(read);
    button.textContent = "Stop";
    explore.say(say, `It writes in the ${decade(state.year)} …`);
    state.timer = setTimeout(next, PAUSE);
  }
  function next() {
    const logits = model.logits(state.x).slice(0, pieces.size); // a text has no decades in it
    state.ids.push(explore.draw(explore.nucleus(logits, state.temperature, state.p)));
    written.textContent = pieces.decode(state.ids);
    if (state.left === 0) stop("It never read a longer text, and stops.");
    else {
      read(state.ids.at(-1));
      state.timer = setTimeout(next, PAUSE);
    }
  }
  function stop(because = "Write begins anew.") {
    clearTimeout(state.timer);
    state.timer = null;
    button.textContent = "Write";
    explore.say(say, `${state.ids.length} pieces in the ${decade(state.year)}. ${because}`);
  }

  const field = html("input", { type: "text", "aria-label": "first words", maxlength: 400,
    autocomplete: "off", spellcheck: "false", style: "flex:1 1 14rem;min-width:0",
    onkeydown: (event) => { if (event.key === "Enter") write(); } });
  field.value = given.prompt;
  const button = html("button", { type: "button", onclick: () => (state.timer ? stop() : write()) },
    "Write");
  const slider = (label, name, min, max, step, digits) => explore.slider({ label, min, max, step,
    value: state[name], text: (value) => explore.number(value, digits),
    change: (value) => { state[name] = value; } }).node;
  const years = explore.slider({ label: "decade", min: FIRST, max: FIRST + 10 * (DECADES - 1),
    step: 10, value: state.year, text: decade, change: (year) => {
      state.year = year;
      write();
    } });
  const say = explore.status();
  live.append(html("div", { class: "explore-controls" }, field, button),
    html("div", { class: "explore-controls" }, years.node,
      slider("temperature", "temperature", 0, 2, 0.1, 1), slider("top-p", "p", 0.05, 1, 0.05, 2)),
    html("p", { style: "white-space:pre-wrap;min-height:12em;margin:0" }, begun, written), say);
  begun.textContent = given.prompt;
  written.textContent = given.text.slice(given.prompt.length);
  explore.say(say, `So it went on in the ${decade(state.year)}. Press Write, or move the decade.`);
}, { files: ["shared/decoder.js", "shared/pieces.js", "weights/president.js"], size: "3 MB" });
