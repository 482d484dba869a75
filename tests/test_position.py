"""Positions: conventions, what is traced, what is shared, refusals."""

import numpy as np
import pytest
from hypothesis import strategies as st
from wings import assert_close, assert_refused, drawn, get_wing

from course_lib import oracle
from course_lib.config import GRID_POSITIONS, POSITIONS, GPTConfig

B, H, T, S, DH, D = 2, 3, 5, 7, 10, 14


@drawn(st.sampled_from([(23, 7), (2, 5), (1, 1)]))
def test_sinusoidal_equals_the_oracle(wing, sizes):
    n, half = sizes
    table = wing.lib.sinusoidal(n, 2 * half)
    assert str(wing.numpy(table).dtype) == "float32"
    expected = oracle.sinusoidal(n, 2 * half)
    assert_close(wing.numpy(table), expected, "float32")
    exact = wing.lib.sinusoidal(n, 2 * half, dtype=wing.array(np.ones(1)).dtype)
    assert_close(wing.numpy(exact), expected)


def test_sinusoids_in_marians_order_equal_hugging_faces():
    torch = pytest.importorskip("torch")
    marian = pytest.importorskip("transformers.models.marian.modeling_marian")
    import course_lib.torch as ct

    theirs = marian.MarianSinusoidalPositionalEmbedding(23, D)
    with torch.no_grad():
        if hasattr(theirs, "create_weight"):
            theirs.weight.copy_(theirs.create_weight())
        else:
            theirs._init_weight()
    ours = ct.Sinusoidal(23, D, interleaved=False)(23)
    torch.testing.assert_close(ours, theirs.weight.detach(), rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ["Sinusoidal", "Learned"])
def test_an_offset_that_is_traced_may_start_the_whole_table(name):
    nnx = pytest.importorskip("flax.nnx")
    wing = get_wing("nnx")
    table = wing.make(getattr(wing.lib, name), 23, D)
    compiled = nnx.jit(lambda table, offset: table(23, offset))
    np.testing.assert_array_equal(wing.numpy(compiled(table, 0)), wing.numpy(table(23)))


def test_learned_positions_are_rows_of_the_table(wing):
    table = wing.make(wing.lib.Learned, 11, D)
    (weight,) = wing.lib.get_weights(table).values()
    np.testing.assert_array_equal(wing.numpy(table(T, 3)), weight[3 : 3 + T])
    assert np.isclose(weight.std(), 0.02, rtol=0.2)


def test_at_half_the_pace_twice_as_many_positions_turn_as_far(wing, rng):
    x = wing.array(rng.standard_normal((1, DH)))
    slow, full = wing.lib.Rotary(DH, pace=0.5), wing.lib.Rotary(DH)
    for t in (0, 3, 17):
        assert_close(wing.numpy(slow(x, 2 * t)), wing.numpy(full(x, t)))


def test_rotary_is_the_same_object_when_it_is_made_alike(wing):
    assert wing.lib.Rotary(DH) == wing.lib.Rotary(DH)
    assert hash(wing.lib.Rotary(DH)) == hash(wing.lib.Rotary(DH))
    assert wing.lib.Rotary(DH) != wing.lib.Rotary(DH, 500.0)


def test_the_table_holds_every_scheme_that_a_configuration_may_name(wing):
    assert set(wing.lib.SCHEMES) == {*POSITIONS, *GRID_POSITIONS}


def test_alike_schemes_without_weights_are_equal_so_that_programs_are_shared(wing):
    assert wing.lib.ALiBi(H) == wing.lib.ALiBi(H) != wing.lib.ALiBi(H + 1)
    assert wing.lib.NoPositions() == wing.lib.NoPositions()
    assert hash(wing.lib.NoPositions()) == hash(wing.lib.NoPositions())


def test_rotary_equals_hugging_faces_llama(rng):
    torch = pytest.importorskip("torch")
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    import course_lib.torch as ct

    q, k = (torch.from_numpy(rng.standard_normal((B, H, T, DH))) for _ in "qk")
    speeds = 10000.0 ** -(torch.arange(0, DH, 2).double() / DH)
    angles = torch.arange(T)[:, None] * speeds
    cos, sin = (
        f(torch.cat([angles, angles], -1))[None] for f in (torch.cos, torch.sin)
    )
    theirs = llama.apply_rotary_pos_emb(q, k, cos, sin)
    for ours, their in zip(map(ct.Rotary(DH), (q, k)), theirs, strict=True):
        torch.testing.assert_close(ours, their, rtol=0, atol=1e-10)


def test_alibi_slopes_are_the_published_ones(wing):
    def slopes(n_heads):
        return -wing.numpy(wing.lib.alibi_bias(n_heads, 2))[:, 1, 0]

    halves = [2.0**-n for n in range(1, 9)]  # section 3: 1/2, 1/4, ..., 1/256
    assert_close(slopes(8), halves, "float32")
    assert_close(slopes(16), [2.0 ** (-n / 2) for n in range(1, 17)], "float32")
    # The authors' code for 12 heads: those of 8, then every other one of 16.
    between = [2.0 ** (-n / 2) for n in (1, 3, 5, 7)]
    assert_close(slopes(12), halves + between, "float32")


def test_relative_bias_starts_without_preference(wing):
    assert (wing.numpy(wing.make(wing.lib.RelativeBias, H, 3)(T)) == 0).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda w: w.lib.sinusoidal(5, 7), ["d_model must be even", "7"]),
        (lambda w: w.lib.Rotary(7), ["d_head must be even", "7"]),
        (lambda w: w.lib.Rotary(8, -1.0), ["base must be positive", "-1.0"]),
        (lambda w: w.lib.Rotary(8, pace=0.0), ["pace must be positive", "0.0"]),
        (
            lambda w: w.lib.Rotary(8)(w.array(np.ones((3, 10)))),
            ["d_head=8", "(3, 10)"],
        ),
        (
            lambda w: w.make(w.lib.Learned, 5, 8)(3, 4),
            ["max_len=5", "got 4 to 6", "larger max_len"],
        ),
        (lambda w: w.make(w.lib.Sinusoidal, 5, 8)(6), ["max_len=5", "0 to 5"]),
        (lambda w: w.make(w.lib.Learned2D, 3, 5, 7), ["d_model must be even"]),
        (lambda w: w.lib.alibi_bias(3, 5, 2), ["n_queries=5, n_keys=2"]),
    ],
)
def test_nonsense_is_refused(wing, call, words):
    assert_refused(lambda: call(wing), words)


@pytest.mark.parametrize("position", ["rotary", "sinusoidal", "alibi"])
def test_what_was_traced_leaves_nothing_behind(position):
    torch, lib = pytest.importorskip("torch"), pytest.importorskip("course_lib.torch")
    from torch._subclasses.fake_tensor import FakeTensorMode

    config = GPTConfig(
        vocab_size=5, max_len=7, d_model=12, n_layers=1, n_heads=2, position=position
    )
    model, ids = lib.GPT(config).eval(), torch.tensor([[1, 2, 3]])
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        lib.GPT(config)(mode.from_tensor(ids))
    expected = model(ids)
    assert type(expected) is torch.Tensor
    exported = torch.export.export(model, (ids,)).module()
    np.testing.assert_array_equal(exported(ids).detach(), expected.detach())
    torch.func.grad(lambda w: torch.func.functional_call(model, w, ids).sum())(
        dict(model.named_parameters())
    )
    with torch.inference_mode():
        model(ids)
    model(ids).sum().backward()


def test_a_table_that_was_changed_is_that_callers_own(wing):
    positions = wing.lib.Sinusoidal(7, 6)
    before = wing.numpy(positions(5)).copy()
    table = positions(5)
    if wing.name == "torch":
        table.mul_(0)
    np.testing.assert_array_equal(wing.numpy(positions(5)), before)


def test_a_known_place_outside_the_table_is_refused_in_any_form(wing, no_hook):
    table = wing.make(wing.lib.Learned, 5, 4)
    for place in (3, np.int64(3), wing.array(3)):
        with pytest.raises(ValueError, match="within max_len=5: got 3 to 6"):
            table(4, place)
