"""The drawn picture of encoder and decoder: its parts stand where they belong."""

from pathlib import Path

import book_scripts
import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[2]
seq2seq = book_scripts.load("seq2seq")


def test_the_feed_forward_net_is_inside_what_is_repeated():
    for stack in (seq2seq.ENCODER, seq2seq.DECODER):
        assert seq2seq.repeated(stack)[-2:] == ["feed-forward", "add and norm"]


def test_every_part_of_a_block_is_followed_by_its_sum_and_norm():
    for stack in (seq2seq.ENCODER, seq2seq.DECODER):
        parts = seq2seq.repeated(stack)
        assert set(parts[1::2]) == {"add and norm"}
        assert "add and norm" not in parts[::2]


def test_a_decoder_block_is_an_encoder_block_and_a_cross_attention():
    encoder, decoder = map(seq2seq.repeated, (seq2seq.ENCODER, seq2seq.DECODER))
    assert decoder[0] == "causal " + encoder[0]
    assert decoder[2] == "cross-attention"
    assert decoder[1:2] + decoder[4:] == encoder[1:]


def test_the_committed_picture_says_what_the_code_draws():
    figure = seq2seq.architecture()
    written = {text.get_text() for ax in figure.axes for text in ax.texts}
    plt.close(figure)
    committed = (ROOT / "book/figures/seq2seq-architecture.svg").read_text()
    for words in written - {r"$L\,\times$"}:
        if words.strip():
            assert f"<!-- {words} -->" in committed, words
