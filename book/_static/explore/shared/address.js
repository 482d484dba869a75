// A figure's state in the address, so that a link shows it again: behind #, where no server
// sees it. All figures of a page share it, and the one that was touched last comes first.
"use strict";

// `restore` gets what a link says of the figure's `names`, or null; what it shows then, and
// after each change, it is to `keep`.
explore.address = (names, figure, say, restore) => {
  const { html } = explore;
  let own = null, reading = false, waiting;
  const asks = () => names.some((name) => explore.asked().has(name));
  const link = () => {
    const others = [...explore.asked()].filter(([name, value]) => value && !names.includes(name));
    const all = new URLSearchParams([...Object.entries(own ?? {}), ...others]);
    return location.href.replace(/#.*/s, "") + (String(all) && `#${all}`);
  };
  const write = () => {
    clearTimeout(waiting);
    try {
      history.replaceState(history.state, "", link());
    } catch { /* too often for this browser: the next change writes it */ }
  };
  function keep(state) {
    own = state;
    if (reading) return;
    clearTimeout(waiting);
    waiting = setTimeout(write, 400);
  }
  function read() {
    reading = true;
    restore(asks() ? Object.fromEntries(explore.asked()) : null);
    reading = false;
    if (!asks()) own = null;
    else if (names.includes([...explore.asked().keys()][0])) {
      (figure.closest("section") ?? figure).scrollIntoView(); // with its heading
    }
  }
  addEventListener("hashchange", () => { if (asks()) read(); });

  const field = html("input", { type: "text", readonly: true, hidden: true, "aria-label": "the link" });
  const copy = async () => {
    write();
    const before = say.textContent.replace(/^The link is copied\. /, "");
    try {
      await navigator.clipboard.writeText(link());
      explore.say(say, `The link is copied. ${before}`);
    } catch {
      Object.assign(field, { hidden: false, value: link() }).select();
      explore.say(say, "This browser lets no page copy: take the link from the field.");
    }
  };
  const node = html("span", {}, html("button", { type: "button", onclick: copy }, "Copy the link"), field);
  return { keep, read, node };
};

// A number that a link gives, within its bounds, or the one that was there.
explore.linked = (text, { min, max, step }, otherwise) => {
  const number = Number.parseFloat(text);
  if (!Number.isFinite(number)) return otherwise;
  return explore.clamp(Number((Math.round(number / step) * step).toFixed(2)), min, max);
};
