// A layer of attention on three tokens: every number of X and of the three matrices
// can be typed, and all that follows is computed again.
"use strict";

explore.define("layer", (live) => {
  const { html, set, show } = explore;
  const START = {
    X: [[1, 0], [0, 1], [1, 1]],
    W_Q: [[1, 1], [0, 1]],
    W_K: [[1, 0], [1, 1]],
    W_V: [[0.5, 1], [1, 0]],
  };
  const given = {}, entries = {}, shown = {};
  let chosen = 0; // the query whose row is followed
  const say = explore.status();
  const title = (name) => {
    const [letter, index] = name.split("_");
    return html("span", { style: "font-style:italic" }, letter,
      index ? html("sub", {}, index) : null);
  };
  const frame = (name, caption, rows) => html("table", { class:
    `explore-matrix part-${name.replace("_", "").toLowerCase()}` },
    html("caption", {}, title(name), caption ? `\u00a0= ${caption}` : ""),
    html("tbody", {}, ...rows));

  function typed(name) {
    given[name] = START[name].map((row) => [...row]);
    entries[name] = START[name].map((row, i) => row.map((_, j) => explore.entry({
      label: `${name.replace("_", " ")}, row ${i + 1}, column ${j + 1}`,
      value: given[name][i][j], min: -99, max: 99, step: 0.5,
      change: (value) => { given[name][i][j] = value; draw(); },
    })));
    return frame(name, "", entries[name].map((row) =>
      html("tr", {}, ...row.map((input) => html("td", {}, input)))));
  }
  function computed(name, caption, columns) {
    shown[name] = START.X.map(() => columns.map(() => html("td", { class: "number" })));
    return frame(name, caption, shown[name].map((row) => html("tr", {}, ...row)));
  }

  const two = [0, 1], three = [0, 1, 2];
  const picked = three.map((i) => html("button", { type: "button",
    onclick: () => { chosen = i; draw(); } }, `token ${i + 1}`));
  live.append(
    html("div", { class: "explore-controls" }, html("span", {}, "follow"), ...picked,
      html("button", { type: "button", onclick: () => {
        for (const [name, rows] of Object.entries(START)) {
          rows.forEach((row, i) => row.forEach((value, j) => {
            given[name][i][j] = value;
            entries[name][i][j].value = value;
          }));
        }
        draw();
      } }, "reset")),
    html("div", { class: "explore-row" }, typed("X"), typed("W_Q"), typed("W_K"),
      typed("W_V")),
    html("div", { class: "explore-row" }, computed("Q", "", two), computed("K", "", two),
      computed("V", "", two)),
    html("div", { class: "explore-row" }, computed("s", "QKᵀ / √2", three),
      computed("A", "softmax", three), computed("O", "AV", two)), say);

  function draw() {
    const { X, W_Q, W_K, W_V } = given;
    const Q = explore.matmul(X, W_Q), K = explore.matmul(X, W_K), V = explore.matmul(X, W_V);
    const s = Q.map((q) => K.map((k) => explore.dot(q, k) / Math.SQRT2));
    const A = s.map(explore.softmax), O = explore.matmul(A, V);
    for (const [name, matrix] of Object.entries({ Q, K, V, s, A, O })) {
      matrix.forEach((row, i) => row.forEach((value, j) => {
        const cell = show(shown[name][i][j], value, "sAO".includes(name) ? 3 : 2);
        const follows = "QsAO".includes(name) && i === chosen;
        cell.style.boxShadow = follows ? "inset 0 -2px var(--explore-accent)" : "";
        cell.style.background =
          name === "A" ? `rgba(var(--explore-cell), ${(0.6 * value).toFixed(3)})` : "";
      }));
    }
    picked.forEach((button, i) => set(button, { "aria-pressed": String(i === chosen) }));
    const shares = A[chosen].map((weight, j) =>
      `${explore.number(100 * weight, 0)}% from token ${j + 1}`);
    explore.say(say, `Token ${chosen + 1} takes ${shares.join(", ")}. Its output is (${
      O[chosen].map((value) => explore.number(value, 3)).join(", ")}).`);
  }
  draw();
});
