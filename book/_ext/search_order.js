// What a search puts first: lessons, then the package's reference. A word that the index has
// leads to a section, and its result says to which.
var Scorer = {
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
  score: (result) => {
    const [page, title, anchor, , score] = result;
    const sections = Object.entries(Search._index.alltitles);
    const section = sections.find(([, places]) => places.some(([file, id]) =>
      anchor === `#${id}` && Search._index.docnames[file] === page));
    if (section && section[0] !== title && !title.includes(" > ")) result[1] = `${title} > ${section[0]}`;
    return page.startsWith("api/") ? score - 1000 : score;
  },
};
// A page comes once, with its best place, and an excerpt has none of the page's buttons.
if (typeof Search !== "undefined") {
  const { _performSearch: perform, htmlToText: read } = Search;
  Search._performSearch = (...query) => {
    const best = new Map();
    for (const result of perform(...query).reverse()) {
      const page = result[5];
      if (!best.has(page)) best.set(page, result);
    }
    return [...best.values()].reverse();
  };
  Search.htmlToText = (text, anchor) => {
    const page = new DOMParser().parseFromString(text, "text/html");
    const around = ".bd-header-article, .bd-sidebar-secondary, #jb-print-docs-body, .prev-next-footer, nav, button";
    page.querySelectorAll(around).forEach((node) => node.remove());
    return read(page.documentElement.outerHTML, anchor);
  };
}
