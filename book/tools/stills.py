"""Draw the still pictures of the live figures, in a real browser.

    python book/tools/stills.py          # all of them
    python book/tools/stills.py query    # one

A still is what a live figure shows before anyone has touched it: the drawings of
`_static/explore/<name>.js`, side by side, as `_static/explore/<name>.svg`. It stands on
the page where there is no JavaScript, or until a reader asks for the figure. Its words
are in the letters of the pages or, since a picture loads no font, in some as wide.
Needs Chromium; the tests use the same browser.
"""

import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "_static" / "explore"
COMMON = FOLDER / "explore.js"
LETTERS = "'Source Serif 4', Georgia, serif"
FACE = FOLDER.with_name("fonts") / "source-serif-4.woff2"

# A page that acts on itself once it is loaded, and writes down what came of it.
PAGE = """<!doctype html>
<html lang="en" data-theme="light"><head><meta charset="utf-8"><title>A page</title>
{head}</head>
<body>{body}
<script>
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const errors = [];
addEventListener("error", (event) => errors.push(event.message));
addEventListener("load", async () => {{
  let result = null;
  try {{ result = await (async () => {{ {actions} }})(); }}
  catch (error) {{ errors.push(String(error.stack)); }}
  const said = document.createElement("pre");
  said.id = "result";
  said.textContent = JSON.stringify({{ result, errors }});
  document.body.append(said);
}});
</script></body></html>
"""

# What a figure shows without its controls, at 700 pixels: drawings as they are, with
# the colors of the light theme written into them, and words, lines, shades of tables.
STILL = f"""
const weights = {{ weight: "400 700" }};
const face = new FontFace("Source Serif 4", "url({FACE.as_uri()})", weights);
document.fonts.add(await face.load());
figure.style.fontFamily = "{LETTERS}";
"""
STILL += """
figure.style.width = "700px";
await wait(600);
const live = figure.querySelector(".explore-live"), parts = [];
const skip = live.querySelectorAll(".explore-controls, .explore-say");
skip.forEach((node) => { node.style.display = "none"; });
const origin = live.getBoundingClientRect();
const clear = "rgba(0, 0, 0, 0)";
const number = (value) => Number(value.toFixed(2));
const rect = (x, y, width, height, fill) => {
  if (width > 0 && height > 0 && fill !== clear) parts.push(
    `<rect x="${number(x)}" y="${number(y)}" width="${number(width)}" ` +
    `height="${number(height)}" fill="${fill}"/>`);
};
const write = (text, x, y, style, anchor, wide) => {
  const words = text.replace(/&/g, "&amp;").replace(/</g, "&lt;");
  const fits = wide
    ? `textLength="${number(wide)}" lengthAdjust="spacingAndGlyphs" ` : "";
  parts.push(`<text x="${number(x)}" y="${number(y)}" font-size="${style.fontSize}" ` +
    `font-style="${style.fontStyle}" text-anchor="${anchor}" ${fits}` +
    `fill="${style.color}">${words}</text>`);
};
const paint = (node) => {
  const style = getComputedStyle(node);
  const names = node.tagName === "text"
    ? ["fill", "font-size"] : ["fill", "stroke", "opacity", "fill-opacity"];
  for (const name of names) {
    const set = (node.getAttribute(name) ?? "") + node.style.getPropertyValue(name);
    if (node.tagName === "text" || set.includes("var(")) {
      node.setAttribute(name, style.getPropertyValue(name));
    }
  }
};
const draw = (svg, box) => {
  svg.querySelectorAll(".hit, [display=none]").forEach((node) => node.remove());
  svg.querySelectorAll("*").forEach(paint);
  const copy = svg.cloneNode(true);
  for (const node of [copy, ...copy.querySelectorAll("*")]) {
    for (const { name } of [...node.attributes]) {
      const gone = /^(aria-|role|tabindex|class|style|data-)/.test(name);
      if (gone) node.removeAttribute(name);
    }
  }
  const place = { x: box.x - origin.x, y: box.y - origin.y, width: box.width,
    height: box.height, overflow: "visible" };
  for (const [name, value] of Object.entries(place)) copy.setAttribute(name, value);
  parts.push(new XMLSerializer().serializeToString(copy));
};
// The lines of a text as the browser broke it: words and their box.
const lines = (node) => {
  const range = document.createRange(), found = [];
  const boxed = (start, end) => {
    range.setStart(node, start);
    range.setEnd(node, end);
    return range.getBoundingClientRect();
  };
  for (const { 0: word, index } of node.data.matchAll(/[^ \\n]+/g)) {
    const end = index + word.length, last = found.at(-1);
    const top = boxed(index, end).top;
    if (last && Math.abs(last.top - top) < 2) last.end = end;
    else found.push({ start: index, end, top });
  }
  return found.map(({ start, end }) =>
    [node.data.slice(start, end), boxed(start, end)]);
};
const visit = (node) => {
  if (node.nodeType === Node.TEXT_NODE) {
    const style = getComputedStyle(node.parentElement);
    const right = style.textAlign === "right";
    for (const [words, box] of lines(node)) {
      if (!box.width) continue;
      const below = box.bottom - (box.height - parseFloat(style.fontSize)) / 2;
      write(words, (right ? box.right : box.left) - origin.x,
        below - 0.18 * parseFloat(style.fontSize) - origin.y, style,
        right ? "end" : "start", box.width);
    }
    return;
  }
  if (node.nodeType !== Node.ELEMENT_NODE) return;
  const style = getComputedStyle(node), box = node.getBoundingClientRect();
  if (style.display === "none" || style.visibility === "hidden") return;
  if (node.tagName === "svg") { draw(node, box); return; }
  const above = node.caption ? node.caption.offsetHeight : 0;
  const [x, y] = [box.left - origin.x, box.top + above - origin.y];
  const height = box.height - above;
  rect(x, y, box.width, height, style.backgroundColor);
  const edge = (side) => parseFloat(style[`border${side}Width`]);
  rect(x, y + height - edge("Bottom"), box.width, edge("Bottom"),
    style.borderBottomColor);
  rect(x, y, edge("Left"), height, style.borderLeftColor);
  rect(x + box.width - edge("Right"), y, edge("Right"), height,
    style.borderRightColor);
  if (/^(INPUT|SELECT)$/.test(node.tagName)) {
    if (/^(number|text)$/.test(node.type)) {
      write(node.value, x + box.width / 2, y + 0.68 * box.height, style, "middle");
    }
    return;
  }
  node.childNodes.forEach(visit);
};
visit(live);
return [origin.width, live.getBoundingClientRect().height, parts.join("\\n")];
"""
EDGE = 14  # labels may stand out a little


def find_browser() -> str | None:
    """Find Chromium, under one of its names."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((found for name in names if (found := shutil.which(name))), None)


def open_page(
    head: str, body: str, actions: str, size: tuple[int, int] = (1000, 800)
) -> Any:
    """Open a page in Chromium, run JavaScript on it; return what that returns.

    `await wait(ms)` lets time pass.
    """
    browser = find_browser()
    if browser is None:
        raise FileNotFoundError("no Chromium here: install one, or skip this.")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "page.html")
        path.write_text(PAGE.format(head=head, body=body, actions=actions), "utf-8")
        options = [
            "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-dev-shm-usage", "--disable-extensions",
            "--virtual-time-budget=20000", f"--window-size={size[0]},{size[1]}",
            f"--user-data-dir={folder}/profile", "--dump-dom", path.as_uri(),
        ]  # fmt: skip
        done = subprocess.run(
            [browser, *options],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
            env={**os.environ, "HOME": folder},
        )
    found = re.search(r'<pre id="result">(.*?)</pre>', done.stdout, re.DOTALL)
    if found is None:
        raise RuntimeError(f"the page never came to its end: {done.stderr}")
    answer = json.loads(html.unescape(found[1]))
    if answer["errors"]:
        raise RuntimeError(f"in the page: {answer['errors']}")
    return answer["result"]


def act(name: str, actions: str, size: tuple[int, int] = (1000, 800)) -> Any:
    """Open a page with one live figure, which the actions find as `figure`."""
    css, script = (FOLDER / file for file in ("explore.css", f"{name}.js"))
    head = f'<link rel="stylesheet" href="{css.as_uri()}">' + "".join(
        f'<script defer src="{file.as_uri()}"></script>' for file in (COMMON, script)
    )
    figure = f'<explore-{name} class="explore" data-label="a figure"><img alt="">'
    find = 'const figure = document.querySelector(".explore");'
    find += "await figure.start?.();"
    return open_page(head, f"{figure}</explore-{name}>", find + actions, size)


def still(name: str) -> str:
    """Draw the still picture of a live figure, as SVG."""
    width, height, drawings = act(name, STILL)
    width, height = (round(side + 2 * EDGE) for side in (width, height))
    # Long numbers of the browser's arithmetic say nothing in a picture.
    drawings = re.sub(r"-?\d+\.\d{4,}", lambda m: f"{float(m[0]):.2f}", drawings)
    drawings = re.sub(
        r"rgb\((\d+), (\d+), (\d+)\)",
        lambda m: "#" + "".join(f"{int(part):02x}" for part in m.groups()),
        drawings,
    )
    drawings = drawings.replace(' xmlns="http://www.w3.org/2000/svg"', "")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="{-EDGE} {-EDGE} {width} {height}" font-family="{LETTERS}">\n'
        f"{drawings}\n</svg>\n"
    )


def names() -> list[str]:
    """List the live figures."""
    return sorted(path.stem for path in FOLDER.glob("*.js") if path != COMMON)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the stills of these figures, or of all."""
    for name in list(arguments or ()) or names():
        (FOLDER / f"{name}.svg").write_text(still(name), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
