// Turns the slides with the keyboard or a finger, fits the sheet to the screen, and makes
// what is too large for its slide smaller.
(() => {
  "use strict";
  const slides = [...document.querySelectorAll(".slide")];
  const fits = (body) => [body, ...body.querySelectorAll("pre, .code")].every(
    (box) => box.scrollHeight <= box.clientHeight + 1 && box.scrollWidth <= box.clientWidth + 1
  );
  const shrink = (slide) => {
    const body = slide.querySelector(".body");
    const parts = [...slide.querySelectorAll(".fit, .equation, .body > p, blockquote")];
    const sizes = parts.map((part) => parseFloat(getComputedStyle(part).fontSize));
    for (let scale = 1; scale > 0.4 && !fits(body); scale -= 0.02)
      parts.forEach((part, i) => { part.style.fontSize = `${sizes[i] * scale}px`; });
  };
  const show = (number) => {
    const at = Math.max(1, Math.min(slides.length, number || 1));
    slides.forEach((slide, i) => slide.classList.toggle("now", i === at - 1));
    if (location.hash !== `#${at}`) history.replaceState(null, "", `#${at}`);
    return at;
  };
  const place = () => {
    const scale = Math.min(innerWidth / 1280, innerHeight / 720);
    const x = (innerWidth - 1280 * scale) / 2, y = (innerHeight - 720 * scale) / 2;
    for (const slide of slides) slide.style.transform = `translate(${x}px, ${y}px) scale(${scale})`;
  };
  let now = show(Number(location.hash.slice(1)));
  const step = (by) => { now = show(now + by); };
  const KEYS = {
    ArrowRight: 1, ArrowDown: 1, PageDown: 1, " ": 1, Enter: 1,
    ArrowLeft: -1, ArrowUp: -1, PageUp: -1, Backspace: -1,
    Home: -Infinity, End: Infinity,
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest?.("button") && (event.key === " " || event.key === "Enter")) return;
    if (event.key === "f") document.documentElement.requestFullscreen?.();
    if (!(event.key in KEYS)) return;
    event.preventDefault();
    step(event.shiftKey && event.key === " " ? -1 : KEYS[event.key]);
  });
  for (const button of document.querySelectorAll("[data-step]"))
    button.addEventListener("click", () => step(Number(button.dataset.step)));
  let from = 0;
  addEventListener("touchstart", (event) => { from = event.touches[0].clientX; }, { passive: true });
  addEventListener("touchend", (event) => {
    const by = event.changedTouches[0].clientX - from;
    if (Math.abs(by) > 60) step(by < 0 ? 1 : -1);
  });
  addEventListener("hashchange", () => { now = show(Number(location.hash.slice(1))); });
  addEventListener("resize", place);
  place();
  for (const image of document.images)
    image.decode().then(() => {
      const wide = image.naturalWidth > 1.55 * image.naturalHeight;
      image.parentElement.classList.toggle("beside", !wide);
    });
  document.fonts.ready.then(() => slides.forEach(shrink));
})();
