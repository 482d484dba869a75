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
// A question's own words say nothing of its subject. A page comes once, with its best place, and an
// excerpt has none of the page's buttons.
if (typeof Search !== "undefined") {
  const LISTS = /appendices\/(?:words|lists|errata|references)$/;
  stopwords.push(..."what which why how when where who do does did can could should would i me my we you your from need work works explain".split(" "));
  const { _performSearch: perform, performTermsSearch: find, htmlToText: read } = Search;
  Search._performSearch = (query, ...terms) => {
    const words = query.toLowerCase().split(/[\s?]+/).filter(Boolean);
    const asked = words.join(" ");
    const subject = words.filter((word) => !stopwords.includes(word)).join(" ");
    const results = perform(query, ...terms);
    if (subject && subject !== asked) results.push(...perform(subject, ...terms.map(() => new Set())));
    // What a longer question names by an entry of the index counts for the pages that lead there.
    for (const [name, places] of Object.entries(Search._index.indexentries)) {
      if (name.length < asked.length && ` ${asked} `.includes(` ${name} `)) {
        const pages = places.map(([file]) => Search._index.docnames[file]);
        results.filter((result) => pages.includes(result[0]) && !result[2])
          .forEach((result) => { result[4] += 100 * (name.length / asked.length) ** 2; });
      }
    }
    const best = new Map();
    for (const result of results.sort(_orderResultsByScoreThenName).reverse()) {
      if (!best.has(result[5])) best.set(result[5], result);
    }
    return [...best.values()].reverse();
  };
  // Where no lesson has all words, those with most of them; a rare word counts for more than a common
  // one, and a list of everything for less than a lesson.
  Search.performTermsSearch = (words, without) => {
    const pages = new Map();
    let all = 0;
    for (const word of words) {
      const found = find(new Set([word]), without);
      const weight = Math.log(1 + Search._index.docnames.length / (found.length || 1));
      all += weight;
      for (const result of found) {
        const page = pages.get(result[0]) ?? { result, score: 0, words: 0 };
        pages.set(result[0], { result, score: page.score + weight * result[4], words: page.words + 1 });
      }
    }
    const lessons = [...pages].filter(([name]) => !name.startsWith("api/") && !LISTS.test(name));
    const most = Math.max(1, ...lessons.map(([, page]) => page.words));
    return [...pages.values()].filter((page) => page.words >= most)
      .map(({ result, score }) => [...result.slice(0, 4), score / all * (LISTS.test(result[0]) ? 0.5 : 1), result[5]]);
  };
  Search.htmlToText = (text, anchor) => {
    const page = new DOMParser().parseFromString(text, "text/html");
    const around = ".bd-header-article, .bd-sidebar-secondary, #jb-print-docs-body, .prev-next-footer, nav, button";
    page.querySelectorAll(around).forEach((node) => node.remove());
    return read(page.documentElement.outerHTML, anchor);
  };
}
