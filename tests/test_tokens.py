"""Tokenizers: nothing is lost, and the merges are those of the `tokenizers` library."""

import json
import pydoc_data.topics
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.tokens import BPE, Characters, Words, decode_stream, load
from course_lib.tokens.bpe import PIECES, _join_pair, byte_alphabet, learn_merges

CORPUS = "\n\n".join(text for _, text in sorted(pydoc_data.topics.topics.items()))
SHORT = CORPUS[:60_000]
SPECIALS = ("[PAD]", "[MASK]")


def library(texts, *, vocab_size, byte_level, specials=()):
    """The same training done by the library: its merges, its vocabulary, itself."""
    tokenizers = pytest.importorskip("tokenizers")
    from tokenizers import models, pre_tokenizers, trainers

    cut = pre_tokenizers.Split(tokenizers.Regex(PIECES.pattern), behavior="isolated")
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    theirs = tokenizers.Tokenizer(models.BPE())
    theirs.pre_tokenizer = (
        pre_tokenizers.Sequence([cut, to_bytes]) if byte_level else cut
    )
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=2,
        special_tokens=list(specials),
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet() if byte_level else [],
    )
    theirs.train_from_iterator(texts, trainer)
    model = json.loads(theirs.to_str())["model"]
    return [tuple(pair) for pair in model["merges"]], model["vocab"], theirs


@pytest.mark.parametrize("byte_level", [False, True])
def test_merges_equal_the_library(byte_level):
    settings = {"vocab_size": 1301, "byte_level": byte_level, "specials": SPECIALS}
    ours = BPE.train(CORPUS, **settings)
    merges, vocabulary, theirs = library([CORPUS], **settings)
    assert list(ours.merges) == merges
    assert ours.ids == vocabulary
    assert len(merges) > 1000
    unseen = "An unseen sentence: the pancakes weren't 12.5% cheaper!  \n Right?"
    assert ours.encode(unseen) == theirs.encode(unseen).ids


@given(
    st.lists(st.text("ab c", max_size=23), min_size=1, max_size=11),
    st.integers(5, 61),
)
def test_ties_are_broken_as_the_library_does(texts, vocab_size):
    """Few letters: many ties, many overlaps ("aaa"), tokens spelled in two ways."""
    settings = {"vocab_size": vocab_size, "byte_level": False}
    ours = BPE.train(texts, **settings)
    merges, vocabulary, theirs = library(texts, **settings)
    assert list(ours.merges) == merges
    assert ours.ids == vocabulary
    for text in texts:
        assert ours.encode(text) == theirs.encode(text).ids


def test_incremental_counts_equal_counting_again():
    """The slow way: count all pairs anew before each merge."""
    counts = {" low": 5, " lower": 2, " newest": 6, " widest": 3, " lowest": 2}
    letters = sorted(set("".join(counts)))
    fast = learn_merges(counts, list(letters), n_new=17)
    words = {word: list(word) for word in counts}
    ids, slow = {letter: i for i, letter in enumerate(letters)}, []
    while len(slow) < len(fast):
        pairs: dict = {}
        for word, tokens in words.items():
            for pair in pairwise(tokens):
                pairs[pair] = pairs.get(pair, 0) + counts[word]
        best = min(pairs, key=lambda p: (-pairs[p], ids[p[0]], ids[p[1]]))
        slow.append(best)
        ids.setdefault("".join(best), len(ids))
        words = {word: _join_pair(tokens, best) for word, tokens in words.items()}
    assert fast == slow
    assert slow[0] == ("e", "s")  # 11 times, as ("s", "t"), but e comes before s


BYTES = BPE.train(SHORT, vocab_size=499, byte_level=True, specials=SPECIALS)
LETTERS = BPE.train(SHORT, vocab_size=499, specials=SPECIALS, unknown="[UNK]")
ALL = Characters.train(SHORT, specials=SPECIALS)
WORDS = Words.train(SHORT, specials=SPECIALS, unknown="[UNK]")
KNOWN = "".join(t for t in ALL.tokens if t not in SPECIALS)


@given(st.text())
def test_bytes_round_trip_every_string(text):
    assert BYTES.decode(BYTES.encode(text)) == text


@given(st.lists(st.one_of(st.text(max_size=5), st.sampled_from(SPECIALS))))
def test_special_tokens_round_trip_and_are_never_cut(parts):
    text = "".join(parts)
    ids = BYTES.encode(text)
    assert BYTES.decode(ids) == text
    for special in SPECIALS:
        assert ids.count(BYTES.ids[special]) == text.count(special)


@pytest.mark.parametrize("ours", [LETTERS, ALL], ids=lambda t: t.kind)
@given(text=st.text(KNOWN))
def test_known_characters_round_trip(ours, text):
    assert ours.decode(ours.encode(text)) == text


@pytest.mark.parametrize("ours", [BYTES, LETTERS, ALL, WORDS], ids=lambda t: t.kind)
@given(text=st.text())
def test_saved_and_loaded_is_the_same(ours, text, tmp_path_factory):
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    ours.save(path)
    again = load(path)
    assert type(again) is type(ours)
    assert again.tokens == ours.tokens
    assert again.specials == ours.specials
    if ours.unknown is not None or ours is BYTES:
        assert again.encode(text) == ours.encode(text)
    path.unlink()


@given(st.text())
def test_the_cut_into_words_loses_nothing(text):
    assert "".join(PIECES.findall(text)) == text


@given(st.text())
def test_words_come_back_with_single_spaces(text):
    known = Words.train([text])
    assert known.decode(known.encode(text)) == " ".join(known.split(text))


def test_a_word_is_spelled_by_its_parts():
    ours = BPE.train("pan\n" * 3 + "cakes\n" * 3, vocab_size=100)
    assert ours.split("pancakes") == ["pan", "cakes"]
    assert "pancakes" not in ours.ids


def test_characters_are_tokens():
    ours = Characters.train("abba", specials=["[PAD]"])
    assert ours.tokens == ("[PAD]", "a", "b")
    assert ours.encode("ba[PAD]") == [2, 1, 0]


def test_words_keep_the_most_frequent_and_ties_go_by_the_alphabet():
    ours = Words.train("b a, b c. c", vocab_size=4, unknown="[UNK]")
    assert ours.tokens == ("[UNK]", "b", "c", ",")
    assert ours.decode(ours.encode("c d!")) == "c [UNK] [UNK]"


def test_special_tokens_have_the_first_ids_and_are_not_counted():
    ours = Words.train("[MASK] eat [MASK]", specials=SPECIALS, unknown="[UNK]")
    assert ours.tokens == ("[UNK]", "[PAD]", "[MASK]", "eat")
    assert ours.encode("[MASK]eat") == [2, 3]


def test_of_special_tokens_the_longer_one_wins():
    ours = Characters.train("ab", specials=["<a>", "<a><b>"])
    assert ours.encode("<a><b><a>") == [1, 0]


def test_half_a_character_becomes_a_replacement_mark():
    ids = BYTES.encode("é")
    assert BYTES.decode(ids[:-1]) == "�"


def streamed(tokenizer, ids):
    pieces = [text for _, text in decode_stream(tokenizer, ((0, i) for i in ids))]
    assert "" not in pieces
    return pieces


@pytest.mark.parametrize("ours", [BYTES, LETTERS, ALL, WORDS], ids=lambda t: t.kind)
@given(places=st.lists(st.integers(0, 2**16)))
def test_a_text_comes_piece_by_piece_as_it_is_decoded_at_once(ours, places):
    ids = [place % ours.vocab_size for place in places]
    assert "".join(streamed(ours, ids)) == ours.decode(ids)


def test_no_piece_of_a_text_is_half_a_character():
    text = "Zoë paid €5 \N{BANK}\N{BANK} twice"
    pieces = streamed(BYTES, BYTES.encode(text))
    assert len(pieces) > 9
    assert "".join(pieces) == text
    assert not any("\N{REPLACEMENT CHARACTER}" in piece for piece in pieces)
    # Half of the last one is said at the end, and two texts don't mix.
    ids = BYTES.encode("€")
    both = [(0, ids[0]), (1, ids[0]), (1, ids[1]), (1, ids[2]), (0, ids[1])]
    assert list(decode_stream(BYTES, both)) == [
        (1, "€"),
        (0, "\N{REPLACEMENT CHARACTER}"),
    ]


DECODERS = {
    "ByteLevel": lambda d: d.ByteLevel(),
    "Metaspace": lambda d: d.Metaspace(),
    "WordPiece": lambda d: d.WordPiece(),
    "BPEDecoder": lambda d: d.BPEDecoder(suffix="</w>"),
    "Llama": lambda d: d.Sequence(
        [d.Replace("▁", " "), d.ByteFallback(), d.Fuse(), d.Strip(" ", 1, 0)]
    ),
    "none": lambda d: None,
}


@pytest.mark.parametrize("name", DECODERS)
def test_a_tokenizer_of_the_library_streams_too(name):
    tokenizers = pytest.importorskip("tokenizers")
    words = ["<s>", "▁the", "▁", "bank", "##s", "Ġraised", "n't", ".", "it</w>", "Ġ"]
    words += [f"<0x{byte:02X}>" for byte in "€".encode()]
    model = tokenizers.models.WordLevel(
        dict(zip(words, range(99), strict=False)), "<s>"
    )
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.add_special_tokens(["<s>"])
    if made := DECODERS[name](tokenizers.decoders):
        tokenizer.decoder = made

    @given(st.lists(st.lists(st.integers(0, 9)) | st.just([10, 11, 12])))
    def holds(parts):
        ids = [i for part in parts for i in part]
        assert "".join(streamed(tokenizer, ids)) == tokenizer.decode(ids)

    holds()


def test_the_byte_alphabet_is_printable_and_one_to_one():
    letters = byte_alphabet()
    assert sorted(letters) == list(range(256))
    assert len(set(letters.values())) == 256
    assert all(letter.isprintable() and letter != " " for letter in letters.values())
    assert letters[ord("A")] == "A"
    assert letters[ord(" ")] == "Ġ"


def test_training_stops_when_nothing_is_frequent_enough():
    ours = BPE.train("ab ab", vocab_size=1000)
    assert ours.merges == (("a", "b"),)
    assert BPE.train("", vocab_size=7).tokens == ()


def test_no_token_crosses_from_one_text_to_the_next():
    assert BPE.train(["ab", "cd"] * 5, vocab_size=100).merges == (
        ("a", "b"),
        ("c", "d"),
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Characters.train("ab").encode("abc"), "got 'c'"),
        (lambda: Words.train("ab").encode("ba"), r"unknown='\[UNK\]'"),
        (lambda: Characters.train("ab").decode([2]), "run from 0 to 1: got 2"),
        (lambda: Characters.train("ab").decode([-1]), "got -1"),
        (lambda: Characters.train("ab", specials="[PAD]"), "must be a list"),
        (lambda: Characters.train("ab", specials=["[PAD]", ""]), "not be empty"),
        (lambda: Words.train("ab", specials=["a", "b"], vocab_size=1), "are 2: got 1"),
        (lambda: BPE.train("abc", vocab_size=2), "are 3: got 2"),
        (lambda: BPE.train("abc", vocab_size=255, byte_level=True), "are 256: got 255"),
        (lambda: BPE(["a", "b"], merges=[("a", "b")]), "'ab' is not one"),
        (lambda: Characters(["a", "a"]), "got 'a' twice"),
        (lambda: Characters(["a", "b"], specials=["b"]), "begin with the special"),
        (lambda: BPE.train("abc", vocab_size=9, unknown=""), "not be empty"),
        (lambda: BYTES.encode("\ud800"), "lone surrogate"),
    ],
)
def test_refusals_say_what_came(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("text", ["no JSON", "[]", "{}", '{"kind": "other"}', "null"])
def test_a_file_of_another_kind_is_refused(tmp_path, text):
    path = tmp_path / "file.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="a tokenizer of this library saved"):
        load(path)
