"""What holds of every piece, in both wings: one test a promise, over one table."""

from functools import cache

import numpy as np
import pytest
from models import randomize
from pieces import FAR, PIECES, SIZES, draw
from wings import each, get_wing

ONE = SIZES | {"T": 1, "S": 1}  # one query, one key
EPS = {
    "float64": 1e-10,
    "float32": 1e-5,
    "float64, rounded": 1e-4,
    "float16": 0.01,
    "bfloat16": 0.08,
}


@cache
def built(wing_name, name, dtype="float64"):
    """A piece, and how to call it: compiled in NNX, where that is cheaper."""
    wing, piece = get_wing(wing_name), PIECES[name]
    f, weights = piece.make(wing), {}
    if hasattr(f, "eval"):
        f, weights = randomize(wing, f)
        wing.cast(f, dtype)

    def call(given):
        out = piece.call(f, **given)
        return out if isinstance(out, tuple) else (out,)

    if wing.name == "nnx":
        import jax

        call = jax.jit(call)
    return f, weights, call


def to_wing(wing, piece, given, dtype):
    """The inputs as the wing's, floats of that kind."""
    return {
        name: cast(wing, x, dtype) if x.dtype.kind == "f" else wing.array(x)
        for name, x in given.items()
    }


def cast(wing, x, dtype):
    if wing.name == "torch":
        import torch

        return torch.from_numpy(np.array(x)).to(getattr(torch, dtype))
    return wing.array(x).astype(dtype)


def to_numpy(wing, x):
    """An output; what NumPy does not know becomes 32 bits."""
    if "float16" in str(x.dtype):
        x = x.float() if wing.name == "torch" else x.astype("float32")
    return wing.numpy(x)


def run(wing, name, given, dtype="float64"):
    """The outputs of a piece in NumPy."""
    _, _, call = built(wing.name, name, dtype)
    given = to_wing(wing, PIECES[name], given, dtype)
    return [to_numpy(wing, x) for x in call(given)]


def expected(name, given, weights, batch):
    """The oracle's outputs, of each of the batch by itself."""
    piece = PIECES[name]
    if piece.batch == "whole" or not batch:
        out = piece.right(weights, **given)
        return [np.asarray(x) for x in (out if isinstance(out, tuple) else (out,))]
    parts = [
        expected(name, {k: x[at] for k, x in given.items()}, weights, ())
        for at in np.ndindex(batch)
    ]
    return [np.reshape(x, (*batch, *x[0].shape)) for x in zip(*parts, strict=True)]


def compare(got, right, dtype="float64"):
    """Equal up to a share of the largest number; -inf stands at the same places."""
    for a, b in zip(got, right, strict=True):
        np.testing.assert_array_equal(np.isneginf(a), np.isneginf(b))
        a, b = (np.where(np.isneginf(x), 0, x) for x in (a, b))
        assert a.shape == b.shape
        size = max(1e-30, float(np.abs(b).max(initial=0)))
        np.testing.assert_allclose(a, b, rtol=0, atol=EPS[dtype] * size)


def batched(name, batch=(2,)):
    return () if PIECES[name].batch == "none" else batch


def only(promise):
    return [name for name, piece in PIECES.items() if promise(piece)]


FORMS = [("float64", (2, 5), SIZES), ("float64", (), SIZES), ("float64", (2,), ONE)]
FORMS += [("float32", (2,), SIZES)]


@pytest.mark.parametrize("name", PIECES)
@each(("dtype", "batch", "sizes"), FORMS, nnx=FORMS[:1] + FORMS[-1:])
def test_equals_the_oracle_in_each_of_a_batch(wing, name, dtype, batch, sizes):
    piece, batch = PIECES[name], batched(name, batch)
    given = draw(piece, batch, sizes=sizes)
    given = {k: x.astype(dtype) if x.dtype.kind == "f" else x for k, x in given.items()}
    right = expected(name, given, built(wing.name, name)[1], batch)
    front = () if piece.batch == "whole" else batch
    for x, shape in zip(right, piece.out, strict=True):
        assert x.shape == (*front, *(sizes[axis] for axis in shape.split()))
    compare(run(wing, name, given, dtype), right, dtype)


def weighed(outputs, ramps):
    """A number that depends on every output, and on each in its own measure."""
    return sum((x * ramp).sum() for x, ramp in zip(outputs, ramps, strict=True))


def slopes(wing, name, given, ramps):
    """Its gradient in every input that is a float and in every weight, by name."""
    piece = PIECES[name]
    f, weights, call = built(wing.name, name)
    given = to_wing(wing, piece, given, "float64")
    ramps = [wing.array(ramp) for ramp in ramps]
    floats = {k: given.pop(k) for k in piece.floats()}
    if wing.name == "torch":
        for x in floats.values():
            x.requires_grad_()
        if weights:
            f.zero_grad()
        weighed(call(given | floats), ramps).backward()
        parameters = dict(f.named_parameters()) if weights else {}
        found = {k: x.grad for k, x in (floats | parameters).items()}
        return {k: wing.numpy(g) for k, g in found.items() if g is not None}
    import jax
    from flax import nnx

    def number(f, floats):
        outputs = piece.call(f, **given, **floats)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        return weighed(outputs, ramps)

    if not weights:
        found = jax.jit(jax.grad(lambda floats: number(f, floats)))(floats)
        return {k: np.asarray(g) for k, g in found.items()}
    of_weights, found = nnx.jit(nnx.grad(number, argnums=(0, 1)))(f, floats)
    as_model = nnx.clone(f)
    nnx.update(as_model, of_weights)
    found = {k: np.asarray(g) for k, g in found.items()}
    return found | wing.lib.get_weights(as_model)


@pytest.mark.parametrize("name", only(lambda piece: piece.slopes))
def test_gradients_are_the_oracles_slope_and_the_same_in_both_wings(both, name):
    """Also beside a row that hides all."""
    piece, batch = PIECES[name], batched(name)
    given = draw(piece, batch)
    weights = built("torch", name)[1]
    ramps = [
        np.cos(np.arange(x.size)).reshape(x.shape)
        for x in expected(name, given, weights, batch)
    ]
    torch, nnx = (slopes(wing, name, given, ramps) for wing in both)
    rng = np.random.default_rng(1)
    steps = {k: 1e-5 * rng.standard_normal(g.shape) for k, g in torch.items()}
    sides = []
    for sign in (1, -1):
        moved = [
            {k: x + sign * steps.get(k, 0) if k in steps else x for k, x in old.items()}
            for old in (given, weights)
        ]
        sides.append(weighed(expected(name, *moved, batch), ramps))
    rise = sum((torch[k] * step).sum() for k, step in steps.items())
    size = sum(np.linalg.norm(torch[k]) * np.linalg.norm(s) for k, s in steps.items())
    assert abs((sides[0] - sides[1]) / 2 - rise) < 1e-5 * size
    scale = max(np.abs(g).max() for g in torch.values())
    for k in nnx:
        largest = max(np.abs(torch[k]).max() if k in torch else 0, 1e-3 * scale)
        np.testing.assert_allclose(
            nnx[k], torch.get(k, 0), rtol=0, atol=1e-10 * largest, err_msg=k
        )


def along(axes, letter):
    """Where that letter stands among the axes, counted from behind."""
    return [i - len(axes) for i, axis in enumerate(axes) if axis == letter]


def taken(x, axes, index):
    for axis in axes:
        x = np.take(x, index, axis=axis)
    return x


def ends(piece):
    """The axes of queries and of keys of a piece's mask."""
    return piece.axes(piece.mask)[-2:]


MASKED = only(lambda piece: piece.mask)


@pytest.mark.parametrize("name", MASKED)
def test_what_is_hidden_changes_nothing(wing, name):
    """Its own outputs aside, where queries and keys are one sequence."""
    piece = PIECES[name]
    given = draw(piece, (2,))
    letter = piece.axes(piece.mask)[-1]
    given[piece.mask][..., 3] = False
    before = run(wing, name, given)
    changed = dict(given)
    for key in piece.floats():
        for axis in along(piece.axes(key), letter)[-1:]:
            changed[key] = given[key].copy()
            np.moveaxis(changed[key], axis, 0)[3] = 30.0
    after = run(wing, name, changed)
    others = [i for i in range(SIZES[letter]) if i != 3]
    for a, b, shape in zip(after, before, piece.out, strict=True):
        axes = along(shape.split(), letter)
        compare([taken(a, axes, others)], [taken(b, axes, others)])
    given[piece.mask][..., 3] = True
    shown = run(wing, name, given)
    assert max(np.abs(a - b).max() for a, b in zip(shown, before, strict=True)) > 1e-3


@pytest.mark.parametrize("name", [n for n in MASKED if "1" not in ends(PIECES[n])])
def test_a_query_that_may_see_nothing_gets_0(wing, name):
    """Weights of 0, and where nothing is added to them, outputs of 0."""
    piece = PIECES[name]
    given = draw(piece, (2,))
    given[piece.mask][..., 1, :] = False
    outputs, weights = run(wing, name, given), built(wing.name, name)[1]
    for x, shape in zip(outputs, piece.out, strict=True):
        if shape.split()[-2:] == ends(piece) or not weights:
            assert not x[..., 1, :].any()


@pytest.mark.parametrize(
    ("name", "letter"),
    [(name, letter) for name, piece in PIECES.items() for letter in piece.order],
)
def test_another_order_of_what_has_none_reorders_the_output(wing, rng, name, letter):
    piece = PIECES[name]
    given = draw(piece, batched(name))
    order = rng.permutation(SIZES[letter])
    shuffled = {
        k: taken(x, along(piece.axes(k), letter), order) for k, x in given.items()
    }
    before, after = (run(wing, name, x) for x in (given, shuffled))
    right = [
        taken(x, along(shape.split(), letter), order)
        for x, shape in zip(before, piece.out, strict=True)
    ]
    compare(after, right)


@pytest.mark.parametrize("name", only(lambda piece: piece.causal))
def test_the_past_cannot_see_the_future(wing, name):
    piece = PIECES[name]
    given = draw(piece, (2,))
    if piece.mask:
        given[piece.mask][:] = True
    later = {k: x.copy() for k, x in given.items()}
    for key in piece.floats():
        for axis in along(piece.axes(key), "T"):
            np.moveaxis(later[key], axis, 0)[3:] += 1
    before, after = (run(wing, name, x)[0] for x in (given, later))
    change = np.abs(np.moveaxis(after - before, -2, 0)).reshape(SIZES["T"], -1).max(-1)
    assert not change[:3].any()
    assert (change[3:] > 1e-6).all()


@pytest.mark.parametrize("name", only(lambda piece: piece.far))
def test_large_numbers_overflow_nowhere(wing, name):
    piece, batch = PIECES[name], batched(name)
    given = draw(piece, batch, size=FAR)
    with np.errstate(over="ignore"):
        right = expected(name, given, built(wing.name, name)[1], batch)
    compare(run(wing, name, given), right, "float64, rounded")


SHORT = [
    (name, dtype, size)
    for name, piece in PIECES.items()
    for dtype in ("bfloat16", "float16")
    for size in (1, 20, FAR)
    if size <= max(20, piece.exact)
]


@each(
    ("name", "dtype", "size"),
    SHORT,
    nnx=[case for case in SHORT if case[1:] == ("bfloat16", 1)],
)
def test_16_bits_come_out_as_16_bits_and_nearly_right(wing, name, dtype, size):
    piece, batch = PIECES[name], batched(name)
    given = {
        k: np.clip(x * size, -size, size) if k in piece.floats() else x
        for k, x in draw(piece, batch).items()
    }
    given = {  # numbers that 16 bits can hold
        k: to_numpy(wing, cast(wing, x, dtype)) if x.dtype.kind == "f" else x
        for k, x in given.items()
    }
    _, weights, call = built(wing.name, name, dtype)
    out = call(to_wing(wing, piece, given, dtype))
    kinds = {str(x.dtype).removeprefix("torch.") for x in out}
    assert kinds <= {dtype, "int64"} or not piece.keeps
    with np.errstate(over="ignore"):
        right = expected(name, given, weights, batch)
    for x, y in zip(out, right, strict=True):
        x = to_numpy(wing, x)
        if size <= piece.exact:
            compare([x], [y], dtype)
        assert (np.isfinite(x) | ~np.isfinite(y)).all() or not piece.exact


@pytest.mark.parametrize("name", only(lambda piece: piece.batch == "any"))
@each("size", [(0,), (2, 0)], nnx=[(0,)])
def test_a_batch_of_none_has_no_outputs(wing, name, size):
    outputs = run(wing, name, draw(PIECES[name], size))
    for x, shape in zip(outputs, PIECES[name].out, strict=True):
        assert x.shape == (*size, *(SIZES[axis] for axis in shape.split()))


def test_a_loss_of_nothing_is_0(wing):
    none, ids = wing.array(np.zeros((0, 3))), wing.array(np.zeros((0, 2), int))
    assert float(wing.lib.pinball(none, none[:, 0], (0.1, 0.5, 0.9))) == 0
    assert float(wing.lib.balance_loss(none, ids)) == 0
    assert float(wing.lib.cross_entropy(none, ids[:, 0])) == 0


@pytest.mark.parametrize("name", PIECES)
def test_inputs_stay_as_they_were_and_outputs_are_the_callers_own(name):
    """In PyTorch, where either can be written into."""
    wing, piece = get_wing("torch"), PIECES[name]
    given = draw(piece, batched(name))
    _, _, call = built("torch", name)
    tensors = to_wing(wing, piece, given, "float64")
    outputs = call(tensors)
    for k, x in tensors.items():
        np.testing.assert_array_equal(wing.numpy(x), given[k])
    first = [wing.numpy(x).copy() for x in outputs]
    for x in outputs:
        x.detach().zero_()
    for x, again in zip(first, run(wing, name, given), strict=True):
        np.testing.assert_array_equal(again, x)
