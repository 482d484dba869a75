"""One or several: sentences of the grammar, with a question about one of their nouns.

    many new firms near a bank see the old farmers      bank?    one

The question is the noun's singular, whatever form stands in the sentence, and the
answer is whether the sentence speaks of one or of several. To tell, one has to find the
noun.

No noun occurs twice in a sentence, and each sentence has nouns in the singular and in
the plural. Which of them is asked about is drawn, all alike, so an answer that doesn't
depend on the question is wrong for some of the nouns of each sentence.
"""

import numpy as np

from course_lib.data.grammar import grammar

__all__ = ["one_or_several"]


def one_or_several(
    n: int, *, seed: int, shortest: int = 4, longest: int = 12
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw n sentences of so many words, stop not counted, and a question about each.

    Returns:
        The sentences without their stops, ids padded with 0 on the right, `n longest`;
        the noun asked about, the id of its singular, `n`; and the answers, 0 for one
        and 1 for several, `n`.
    """
    language, rng = grammar(), np.random.default_rng(seed)
    singular = np.flatnonzero(language.is_noun & ~language.is_plural)
    plural = language.other_number[singular]
    stops = language.encode(". ?")
    rows: list[np.ndarray] = []
    while sum(map(len, rows)) < n:
        texts = language.sample(4096, longest + 1, seed=int(rng.integers(2**32)))
        ended = np.logical_or.accumulate(np.isin(texts, stops), axis=1)
        texts[ended] = language.pad_id
        length = (~ended).sum(axis=1)
        forms = [(texts == noun).sum(axis=1) for noun in (*singular, *plural)]
        one, several = np.split(np.array(forms), 2)  # nouns, texts
        fits = (shortest <= length) & (length <= longest) & (one + several < 2).all(0)
        rows.append(texts[fits & one.any(axis=0) & several.any(axis=0), :longest])
        if len(rows) == 50 and not any(map(len, rows)):
            raise ValueError(
                "there must be sentences of these lengths with nouns of both numbers: "
                f"got none of {shortest} to {longest} words. Most have 4 to 20."
            )
    sentences = np.concatenate(rows)[:n]
    chance = np.where(language.is_noun[sentences], rng.random(sentences.shape), 0)
    chosen = sentences[np.arange(n), chance.argmax(axis=1)]
    return sentences, language.lemma[chosen], language.is_plural[chosen].astype(int)
