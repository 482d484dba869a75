// What the live figures share: elements, numbers, sliders, points that one can drag.
// No library, no network, and plain scripts, so that a page opened as a file works too.
"use strict";

const explore = {
  // An element: attributes, then children. Functions named on… listen to events.
  make(namespace, tag, attributes, children) {
    const node = namespace
      ? document.createElementNS(namespace, tag)
      : document.createElement(tag);
    explore.set(node, attributes);
    node.append(...children.filter((child) => child !== null));
    return node;
  },
  html(tag, attributes = {}, ...children) {
    return explore.make(null, tag, attributes, children);
  },
  svg(tag, attributes = {}, ...children) {
    return explore.make("http://www.w3.org/2000/svg", tag, attributes, children);
  },
  set(node, attributes) {
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (value === false || value === null) node.removeAttribute(name);
      else node.setAttribute(name, value === true ? "" : value);
    }
    return node;
  },

  // A number as the page prints it; `data-value` keeps all its digits.
  number(value, digits = 2) {
    const text = value.toFixed(digits);
    return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "−");
  },
  show(node, value, digits = 2, unit = "") {
    node.textContent = explore.number(value, digits) + unit;
    node.dataset.value = value;
    return node;
  },
  percent(node, value) {
    node.textContent = explore.number(100 * value, 0) + "%";
    node.dataset.value = value;
    return node;
  },

  softmax(scores) {
    const top = Math.max(...scores);
    const exps = scores.map((score) => Math.exp(score - top));
    const sum = exps.reduce((a, b) => a + b, 0);
    return exps.map((value) => value / sum);
  },
  dot(a, b) { // a loop: a language model writes as fast as this is
    let sum = 0;
    for (let i = 0; i < a.length; i += 1) sum += a[i] * b[i];
    return sum;
  },
  matmul: (a, b) =>
    a.map((row) => b[0].map((_, j) => explore.dot(row, b.map((other) => other[j])))),
  clamp: (value, low, high) => Math.min(high, Math.max(low, value)),
  // Numbers from 0 to 1 that a seed decides, the same in all browsers: mulberry32.
  random: (seed) => () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  },

  // The sentence under a figure: seen by all, read aloud once things have settled.
  say(node, text) {
    clearTimeout(node.waiting);
    node.waiting = setTimeout(() => {
      if (node.textContent !== text) node.textContent = text;
    }, node.textContent ? 200 : 0);
  },
  status() {
    return explore.html("p", { class: "explore-say", role: "status" });
  },
  // Words of a caption, `[the ring]{.part-query}`, light up what they name in the figure.
  lightUp(caption, live) {
    for (const word of caption?.querySelectorAll('[class^="part-"]') ?? []) {
      const parts = live.getElementsByClassName(word.className);
      const turn = (on) => () => {
        for (const part of parts) part.classList.toggle("lit", on);
      };
      explore.set(word, { tabindex: 0, role: "button", onfocus: turn(true),
        onblur: turn(false), onpointerenter: turn(true), onpointerleave: turn(false),
        onclick: turn(true) });
    }
  },

  // A labelled slider. `text` says its value, also to screen readers.
  slider({ label, min, max, step, value, text, change }) {
    const shown = explore.html("span", { class: "number" });
    const input = explore.html("input", { type: "range", min, max, step, value });
    input.value = value;
    const update = () => {
      shown.textContent = text(Number(input.value));
      input.setAttribute("aria-valuetext", shown.textContent);
    };
    input.addEventListener("input", () => {
      update();
      change(Number(input.value));
    });
    update();
    const node = explore.html("label", { class: "wide" }, label, input, shown);
    return { node, input, set: (now) => { input.value = now; update(); } };
  },
  choice(options, chosen, label, change) {
    const select = explore.html("select", {});
    for (const [value, text] of options) {
      select.append(explore.html("option", { value }, text));
    }
    select.value = chosen;
    select.addEventListener("change", () => change(select.value));
    return { node: explore.html("label", {}, label, select), select };
  },
  // A small number to type, kept between its bounds.
  entry({ label, value, min, max, step = 0.1, change }) {
    const input = explore.html("input", {
      type: "number", min, max, step, "aria-label": label, inputmode: "decimal",
    });
    input.value = value;
    input.addEventListener("input", () => {
      const typed = input.valueAsNumber;
      if (Number.isFinite(typed)) change(explore.clamp(typed, min, max));
    });
    input.addEventListener("change", () => {
      const typed = input.valueAsNumber;
      if (Number.isFinite(typed)) input.value = explore.clamp(typed, min, max);
    });
    return input;
  },
  // Arrow keys, Home and End, as a direction for x and y, in steps.
  arrows(event, move) {
    const size = event.shiftKey ? 10 : 1;
    const way = {
      ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1],
    }[event.key];
    if (!way) return;
    event.preventDefault();
    move(way[0] * size, way[1] * size);
  },
  // Make a group of an SVG draggable. `move` gets the pointer in the SVG's own units,
  // `step` the direction of an arrow key.
  draggable(svg, handle, { move, step }) {
    const at = (event) => {
      const point = new DOMPoint(event.clientX, event.clientY);
      const { x, y } = point.matrixTransform(svg.getScreenCTM().inverse());
      move(x, y);
    };
    handle.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      handle.focus({ preventScroll: true });
      handle.dragged = event.pointerId;
      try { handle.setPointerCapture(event.pointerId); } catch { /* a made-up event */ }
    });
    handle.addEventListener("pointermove", (event) => {
      if (handle.dragged === event.pointerId) at(event);
    });
    // `touch-action` does nothing on a group of an SVG: the page would scroll instead.
    handle.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
    for (const end of ["pointerup", "pointercancel"]) {
      handle.addEventListener(end, () => { handle.dragged = undefined; });
    }
    handle.addEventListener("keydown", (event) => explore.arrows(event, step));
  },

  // Large things that scripts of their own hold, by the name of the figure.
  given: {},
  bytes: (base64) => Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0)),
  load(address) {
    return new Promise((onload, onerror) => {
      document.head.append(explore.html("script", { src: address, onload, onerror }));
    });
  },

  // What stands in the address behind #, which no server sees: a link to a figure's state.
  asked: () => new URLSearchParams(location.hash.slice(1)),

  // What a figure shows costs time before anyone sees it: it waits until the reader is a
  // screen away and the browser has nothing else to do, or until the page is printed.
  whenNear(node, start) {
    const idle = window.requestIdleCallback ?? ((call) => setTimeout(call, 1));
    const observer = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      idle(start, { timeout: 2000 });
    }, { rootMargin: "100% 0px" });
    observer.observe(node);
    addEventListener("beforeprint", start);
  },

  // Name an element: `build` fills `live`, which then stands for the still picture. Where
  // it needs files, `needs` lists them. Large ones, with a size, are asked for first,
  // unless a link asks for this figure, by a name of `state`.
  define(name, build, needs = null) {
    const from = document.currentScript.src;
    const load = () => Promise.all((needs?.files ?? []).map((file) =>
      explore.load(new URL(file, from).href)));
    customElements.define(`explore-${name}`, class extends HTMLElement {
      connectedCallback() {
        if (this.dataset.live !== undefined || this.start) return;
        if (needs?.size) {
          this.prepend(this.ask());
          const linked = () => {
            const wanted = needs.state?.some((name) => explore.asked().has(name));
            if (wanted && !navigator.connection?.saveData) this.start();
          };
          addEventListener("hashchange", linked);
          linked();
        } else {
          let begun;
          this.start = () => (begun ??= this.begin());
          explore.whenNear(this, this.start);
        }
      }
      async begin() {
        if (needs) await load();
        return this.show();
      }
      show() {
        const live = explore.html("div", {
          class: "explore-live", role: "group", "aria-label": this.dataset.label,
        });
        build(live, this);
        this.append(live);
        this.dataset.live = "";
        explore.lightUp(this.closest("figure")?.querySelector("figcaption"), live);
        return live;
      }
      ask() {
        const words = explore.html("span", { role: "status" }, `Run it here (${needs.size})`);
        let begun;
        const run = async (pressed) => {
          words.textContent = "Loading …";
          try {
            await load();
            button.remove();
            const live = explore.set(this.show(), { tabindex: -1 });
            if (pressed) live.focus({ preventScroll: true });
          } catch {
            begun = null;
            words.textContent = "It could not be loaded. Try again";
          }
        };
        this.start = (pressed) => (begun ??= run(pressed));
        const button = explore.html("button", {
          type: "button", class: "explore-start", onclick: this.start }, words);
        return button;
      }
    });
  },
};
