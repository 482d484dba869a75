// What a page does by itself: one switch for the two frameworks, which keeps the reader's
// place; output that wraps where a long line would be cut off, and boxes that fade where
// they go on; pictures that a phone shows larger; previews of what links lead to; marks
// beside pages read.
(() => {
  "use strict";
  const NAMES = { torch: "PyTorch", nnx: "Flax NNX" };

  // Tabs of different heights move what is below them. What the reader looks at stays
  // where it was: the tab set that was clicked, or the first block on the screen.
  const anchor = (clicked) => {
    if (clicked) return clicked;
    const top = document.querySelector(".bd-header-article")?.getBoundingClientRect().bottom ?? 0;
    const blocks = document.querySelectorAll(
      ".bd-article section > *, .bd-article .framework-tabs"
    );
    const inTabs = (e) => e.parentElement.closest(".framework-tabs");
    return [...blocks].find((e) => !inTabs(e) && e.tagName !== "SECTION" && e.getBoundingClientRect().bottom > top);
  };
  const hold = (element, change) => {
    const before = element?.getBoundingClientRect().top;
    change();
    if (element) window.scrollBy({ top: element.getBoundingClientRect().top - before, behavior: "instant" });
  };

  const frameworkSwitch = () => {
    const inputs = [...document.querySelectorAll(".framework-tabs > input")];
    const header = document.querySelector(".article-header-buttons");
    if (!inputs.length || !header) return;
    const nameOf = (input) => input.nextElementSibling?.dataset.syncId;
    const group = document.createElement("div");
    group.className = "framework-switch";
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", "Framework of the code");
    const buttons = Object.entries(NAMES).map(([name, label]) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = label;
      button.addEventListener("click", () => {
        const input = inputs.find((i) => nameOf(i) === name);
        if (input && !input.checked) hold(anchor(), () => input.click());
      });
      group.append(button);
      return [name, button];
    });
    const show = () => {
      const chosen = nameOf(inputs.find((i) => i.checked));
      for (const [name, button] of buttons) button.setAttribute("aria-pressed", name === chosen);
    };
    for (const input of inputs) input.addEventListener("change", show);
    // A click on a tab: by the time of `change` the page has moved already.
    for (const label of document.querySelectorAll(".framework-tabs > .sd-tab-label")) {
      label.addEventListener("click", (event) => {
        const input = document.getElementById(label.htmlFor);
        if (!input || input.checked) return;
        event.preventDefault();
        hold(label, () => input.click());
        input.focus({ preventScroll: true });
      });
    }
    show();
    header.prepend(group);
  };

  // A sentence that is wider than its box wraps; a table of numbers scrolls instead.
  const wrapSentences = () => {
    const boxes = [...document.querySelectorAll(".cell_output pre")];
    const scrolls = boxes.map((pre) => pre.scrollWidth > pre.clientWidth); // all at once
    boxes.forEach((pre, i) => {
      const longest = Math.max(...pre.textContent.split("\n").map((line) => line.length));
      if (longest > 88 && !/\S {3,}\S/.test(pre.textContent)) pre.classList.add("wraps");
      else if (scrolls[i]) pre.tabIndex = 0;
    });
  };

  // What goes on to the right of its box fades there, until one has moved to its end.
  const fadeEdges = () => {
    const boxes = ".bd-article :is(pre, .pst-scrollable-table-container, .formula, figure > a)";
    const look = (seen) => {
      const on = seen.map((b) => b.scrollWidth - b.clientWidth - Math.ceil(b.scrollLeft) > 8);
      seen.forEach((box, i) => box.classList.toggle("goes-on", on[i]));
    };
    const sizes = new ResizeObserver((changes) => look(changes.map((c) => c.target)));
    for (const box of document.querySelectorAll(boxes)) {
      sizes.observe(box); // once now, and when a tab or a fold opens
      box.addEventListener("scroll", () => look([box]), { passive: true });
    }
  };

  // What a link leads to, beside it: a term's definition and a cited work stand in the
  // link's title, figures and equations on the page. Pointed at, focused, or touched once.
  // A figure that both tabs draw, each its own, is the one of the tab that is shown.
  const previews = () => {
    const source = (link) => {
      const [page, id] = link.href.split("#");
      if (page !== location.href.split("#")[0]) return null;
      const of = (name) => document.getElementById(decodeURIComponent(name ?? ""));
      const twin = of(`${id}-nnx`);
      return (twin?.offsetParent ? twin : of(id))?.closest("figure, div.math");
    };
    document.addEventListener("click", (event) => {
      const link = event.target.closest?.(".bd-article a.reference.internal");
      const found = link?.hash && !event.defaultPrevented && source(link);
      if (!found?.id || !found.id.endsWith("-nnx")) return;
      event.preventDefault();
      location.hash = found.id;
    });
    const links = [...document.querySelectorAll(".bd-article a.reference.internal")]
      .filter((link) => link.title || source(link));
    if (!links.length) return;
    const box = document.createElement("div");
    box.id = "preview";
    box.setAttribute("role", "tooltip");
    box.hidden = true;
    document.querySelector(".bd-article").append(box);
    let shown = null, waiting;
    const hide = () => {
      clearTimeout(waiting);
      shown?.removeAttribute("aria-describedby");
      shown = null;
      box.hidden = true;
    };
    const fill = (link) => {
      if (link.dataset.preview) return box.replaceChildren(link.dataset.preview);
      const copy = source(link).cloneNode(true);
      for (const e of copy.querySelectorAll("button, .headerlink, .explore > :not(img)")) e.remove();
      for (const e of [copy, ...copy.querySelectorAll("[id], [tabindex]")])
        for (const name of ["id", "tabindex"]) e.removeAttribute(name);
      for (const e of copy.querySelectorAll("img")) e.loading = "eager";
      box.replaceChildren(copy);
    };
    const show = (link) => {
      hide();
      fill(link);
      shown = link;
      box.hidden = false;
      link.setAttribute("aria-describedby", box.id);
      // Under the line of the link, or over it where there is more room.
      const line = link.getClientRects()[0], page = box.offsetParent.getBoundingClientRect();
      const room = document.documentElement.clientWidth - box.offsetWidth - 8;
      box.style.left = `${Math.max(8, Math.min(line.left, room)) - page.left}px`;
      const top = document.querySelector(".bd-header-article")?.getBoundingClientRect().bottom ?? 0;
      const under = innerHeight - line.bottom - 8, over = line.top - Math.max(top, 0) - 8;
      box.style.maxHeight = "none";
      const below = box.offsetHeight <= under || under >= over;
      box.style.maxHeight = `${below ? under : over}px`;
      box.style.top = `${(below ? line.bottom + 4 : line.top - box.offsetHeight - 4) - page.top}px`;
    };
    const soon = (act, time) => { clearTimeout(waiting); waiting = setTimeout(act, time); };
    for (const link of links) {
      if (link.title) link.dataset.preview = link.title;
      link.removeAttribute("title");
      let touched = false;
      link.addEventListener("pointerdown", ({ pointerType }) => {
        touched = pointerType === "touch" && shown !== link;
      });
      link.addEventListener("click", (event) => {
        if (touched) { event.preventDefault(); show(link); }
      });
      link.addEventListener("focus", () => { if (link.matches(":focus-visible")) show(link); });
      link.addEventListener("blur", hide);
      link.addEventListener("pointerenter", ({ pointerType }) => {
        if (pointerType === "mouse") soon(() => show(link), 250);
      });
      link.addEventListener("pointerleave", ({ pointerType }) => {
        if (pointerType === "mouse") soon(hide, 250);
      });
    }
    box.addEventListener("pointerenter", () => clearTimeout(waiting));
    box.addEventListener("pointerleave", ({ pointerType }) => {
      if (pointerType === "mouse") soon(hide, 250);
    });
    document.addEventListener("keydown", ({ key }) => { if (key === "Escape") hide(); });
    document.addEventListener("pointerdown", ({ target }) => {
      if (shown && !box.contains(target) && !shown.contains(target)) hide();
    });
  };

  // On a phone the words of a picture are small: a button under it, which only narrow
  // screens show, opens it as large as in a column of text and a little more, to be moved.
  const COLUMN = 736, LARGER = 1.15;
  const enlargePictures = () => {
    const pictures = [...document.querySelectorAll(".bd-article :is(figure, .cell_output) img")]
      .filter((picture) => !picture.closest(".explore"));
    if (!pictures.length) return;
    const dialog = document.createElement("dialog");
    dialog.className = "picture";
    dialog.innerHTML = '<button type="button">Close</button><div tabindex="0" role="group"></div>';
    const [close, frame] = dialog.children;
    let opener;
    close.addEventListener("click", () => dialog.close());
    dialog.addEventListener("click", ({ target }) => { if (target === dialog) dialog.close(); });
    dialog.addEventListener("close", () => opener.focus());
    document.body.append(dialog);
    for (const picture of pictures) {
      const number = picture.closest("figure")?.querySelector(".caption-number")?.textContent.trim();
      const button = document.createElement("button");
      button.type = "button";
      button.className = "enlarge";
      button.innerHTML = `Enlarge <span class="visually-hidden">${number ?? "the picture"}</span>`;
      button.addEventListener("click", () => {
        const share = parseFloat(picture.style.width) / 100 || 1;
        const copy = picture.cloneNode();
        copy.loading = "eager";
        copy.style.width = `${LARGER * Math.min(share * COLUMN, picture.naturalWidth || COLUMN)}px`;
        opener = button;
        dialog.setAttribute("aria-label", number ?? "Picture");
        frame.setAttribute("aria-label", `${number ?? "Picture"}, to be moved`);
        frame.replaceChildren(copy);
        dialog.showModal();
        frame.scrollTo(0, 0);
      });
      (picture.closest("a") ?? picture).after(button);
    }
  };

  // How far one has read: a page whose end was on the screen has a mark in the side bar and on
  // the map. That is kept in this browser alone, and a button forgets it.
  const KEY = "course-read";
  const readMarks = () => {
    const nav = document.querySelector(".bd-sidebar-primary .bd-links");
    if (!nav) return;
    const nameOf = (address) => address.match(/([\w-]+\/[\w-]+)\.html/)?.[1];
    const all = [...nav.querySelectorAll("a[href]"), ...document.querySelectorAll(".road a[href]")];
    const links = all.filter((link) => nameOf(link.href));
    const recall = () => {
      try { return new Set(JSON.parse(localStorage.getItem(KEY))); } catch { return new Set(); }
    };
    const keep = (read) => {
      try { localStorage.setItem(KEY, JSON.stringify([...read])); } catch { /* not allowed */ }
      show();
    };
    const button = document.createElement("button");
    button.type = "button";
    button.className = "forget-read";
    button.textContent = "Forget what I have read";
    button.addEventListener("click", () => keep(new Set()));
    const show = () => {
      const read = recall();
      for (const link of links) {
        link.classList.toggle("read", read.has(nameOf(link.href)));
        link.querySelector(".is-read")?.remove();
        if (link.matches(".read"))
          link.insertAdjacentHTML("beforeend", "<span class='is-read visually-hidden'> (read)</span>");
      }
      button.hidden = !links.some((link) => link.matches(".read"));
    };
    nav.append(button);
    show();
    const end = document.querySelector(".prev-next-footer");
    const look = () => {
      // A page that is only leafed through isn't read.
      if (performance.now() < 10000 || end.getBoundingClientRect().top > innerHeight) return;
      removeEventListener("scroll", look);
      keep(recall().add(nameOf(location.href)));
    };
    if (end && nameOf(location.href)) addEventListener("scroll", look, { passive: true });
  };

  // A version that was kept beside the current one, under its tag: /v1.2/book/….
  const oldVersion = () => {
    const [, root, tag, page] = location.pathname.match(/^(.*\/)(v\d[\w.]*)\/((?:book|api)\/.*)$/) ?? [];
    if (!tag) return;
    const note = document.createElement("p");
    note.className = "old-version";
    note.append(`This is version ${tag.slice(1)} of the book. `);
    const link = document.createElement("a");
    link.href = root + page;
    link.textContent = "The current version of this page";
    note.append(link);
    document.querySelector(".bd-article")?.prepend(note);
  };

  // Browsers don't let a page that is opened as a file read other files.
  const fromFile = location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS !== "undefined";
  if (fromFile) DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
  const searchFromFile = () => {
    if (!fromFile) return;
    document.getElementById("search-results")?.insertAdjacentHTML("beforebegin",
      "<p class='from-file'>The book is opened from a folder, where browsers don't let one page read " +
      "another. The search finds everything, but shows titles without excerpts.</p>");
  };

  document.addEventListener("DOMContentLoaded", () => {
    enlargePictures();
    frameworkSwitch();
    readMarks();
    oldVersion();
    searchFromFile();
    previews();
    wrapSentences(); // last: it measures, so that the browser lays the page out
    fadeEdges();
  });
})();
