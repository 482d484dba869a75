"""Quantized linear maps: against the oracle, the other wing, and what rounding does."""

from importlib.metadata import version
from itertools import product

import numpy as np
import pytest
from models import MODELS, randomize
from packaging.version import Version
from wings import assert_close, each

from course_lib import oracle
from course_lib.config import LARGEST, GPTConfig

KINDS = tuple(LARGEST)
DOUT, DIN, GROUP = 5, 42, 14


pytestmark = pytest.mark.usefixtures("converts_small_floats")


@pytest.fixture
def rounds_once(wing):
    """Skip where JAX is old: on the way to E4M3 it rounds a few numbers twice."""
    if wing.name == "nnx" and Version(version("jax")) < Version("0.10"):
        pytest.skip("this JAX rounds a few numbers to a neighbor of the nearest one")


def weights(rng, dtype="float64"):
    """Sizes of all orders, a row of zeros, an outlier, and zeros of either sign."""
    w = rng.standard_normal((DOUT, DIN)) * 10.0 ** rng.integers(-6, 1, (DOUT, DIN))
    w[1], w[2, 3], w[3, :2] = 0, 50, (-0.0, 0.0)
    return w.astype(dtype)


def unpacked(codes, kind):
    """Stored codes as the oracle's: a whole number a weight, or E4M3's byte."""
    if kind != "int4":
        return codes.astype(int)
    return np.stack([codes % 16, codes // 16], axis=-1).reshape(len(codes), -1) - 8.0


@each(
    ("group", "dtype"),
    list(product([None, GROUP, 1], ["float64", "float32"])),
    nnx=[(None, "float32"), (GROUP, "float64")],
)
@pytest.mark.parametrize("kind", KINDS)
def test_equals_the_oracle(wing, rng, kind, group, dtype):
    w = weights(rng, dtype)
    codes, scale = wing.lib.quantize_weight(wing.array(w), kind=kind, group=group)
    expected = oracle.quantize(w, kind, group or DIN)
    if dtype == "float64" or kind == "e4m3":  # else a tie may be one no longer
        np.testing.assert_array_equal(unpacked(wing.numpy(codes), kind), expected[0])
    assert_close(wing.numpy(scale), expected[1], dtype)
    found = wing.lib.dequantize_weight(codes, scale, kind)
    if dtype == "float64":
        assert_close(wing.numpy(found), oracle.dequantize(*expected, kind))
    assert wing.numpy(found).dtype == dtype


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_wings_store_the_same_codes(both, rng, kind, dtype):
    """And scales that differ in the last bits: XLA multiplies by a rounded 1 / q."""
    w = rng.standard_normal((31, 82)).astype(dtype)
    stored = []
    for wing in both:
        pair = wing.lib.quantize_weight(wing.array(w), kind=kind, group=2)
        stored.append([wing.numpy(a) for a in pair])
    (codes, scale), (other_codes, other_scale) = stored
    assert (codes.dtype, scale.dtype) == (other_codes.dtype, other_scale.dtype)
    np.testing.assert_array_equal(codes, other_codes)
    np.testing.assert_array_max_ulp(scale, other_scale, maxulp=2)


@pytest.mark.usefixtures("rounds_once")
def test_e4m3_is_that_of_ml_dtypes(wing, rng):
    ml_dtypes = pytest.importorskip("ml_dtypes")  # comes with JAX
    numbers = oracle.e4m3_numbers()
    bytes_ = np.arange(127, dtype=np.uint8)
    np.testing.assert_array_equal(bytes_.view(ml_dtypes.float8_e4m3fn), numbers)
    assert (numbers[-1], numbers[1], numbers[8]) == (448, 2**-9, 2**-6)
    # With 448 in each row the scale is 1. All numbers, and the ties between two.
    middle = (numbers[1:] + numbers[:-1]) / 2
    w = np.stack([numbers[1:], middle, -middle, rng.uniform(-448, 448, 126)])
    w = np.c_[w, np.full(4, 448.0)]
    codes, scale = wing.lib.quantize_weight(wing.array(w), kind="e4m3")
    assert (wing.numpy(scale) == 1).all()
    expected = w.astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    np.testing.assert_array_equal(wing.numpy(codes), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_what_can_be_represented_stays_as_it_is(wing, rng, kind):
    grid = oracle.e4m3_numbers() if kind == "e4m3" else np.arange(LARGEST[kind] + 1)
    w = rng.choice(grid, (DOUT, DIN)) * rng.choice([-1, 1], (DOUT, DIN))
    w[:, 0] = LARGEST[kind]
    w = w * 2.0 ** rng.integers(-9, 3, (DOUT, 1))
    pair = wing.lib.quantize_weight(wing.array(w), kind=kind)
    found = wing.numpy(wing.lib.dequantize_weight(*pair, kind))
    np.testing.assert_array_equal(found, w)


@pytest.mark.parametrize(("kind", "tolerance"), [("int8", 0.02), ("int4", 0.05)])
def test_rounding_has_the_variance_of_a_uniform_error(wing, rng, kind, tolerance):
    """But for the largest weight of each group, which stays where it is."""
    w = rng.standard_normal((101, 500))
    codes, scale = wing.lib.quantize_weight(wing.array(w), kind=kind, group=50)
    error = wing.numpy(wing.lib.dequantize_weight(codes, scale, kind)) - w
    step = np.repeat(wing.numpy(scale), 50, axis=1)
    assert abs((error / step).var() * 12 / (1 - 1 / 50) - 1) < tolerance
    assert (np.abs(error) <= step / 2 * (1 + 1e-12)).all()


def test_an_e4m3_error_is_at_most_a_sixteenth_of_the_weight(wing, rng):
    w = rng.uniform(2**-6, 448, (7, 101)) * rng.choice([-1, 1], (7, 101))
    w[:, 0] = 448
    pair = wing.lib.quantize_weight(wing.array(w), kind="e4m3")
    found = wing.numpy(wing.lib.dequantize_weight(*pair, "e4m3"))
    relative = np.abs(found / w - 1)
    assert 1 / 20 < relative.max() <= 1 / 16


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_rows_of_any_size_keep_half_a_step_in_16_bits(wing, rng, dtype):
    """In 16 bits s is 0 for small rows, and w / s passes q: 128 comes out as -128."""
    layer = wing.make(wing.lib.linear, 82, 31)
    sizes = np.geomspace(1e-6, 6e4, 31)[:, None]
    weights = {"weight": sizes * rng.uniform(-1, 1, (31, 82)), "bias": np.zeros(31)}
    wing.lib.set_weights(layer, weights)
    wing.cast(layer, dtype)
    w = layer.weight if wing.name == "torch" else layer.kernel[...].T
    exact = wing.lib.get_weights(layer)["weight"].astype(float)
    steps = {"int8": 127, "int4": 7, "e4m3": 14}  # from 0 to the largest; e4m3's last
    for kind in KINDS:
        pair = wing.lib.quantize_weight(w, kind=kind)
        found = wing.numpy(wing.lib.dequantize_weight(*pair, kind))
        step = np.abs(exact).max(1, keepdims=True) / steps[kind]
        assert (np.abs(found - exact) <= 0.501 * step).all()
        assert wing.lib.QuantizedLinear(layer, kind=kind)(w[:3]).dtype == w.dtype


GPT = GPTConfig(
    vocab_size=13, max_len=17, d_model=12, n_layers=2, n_heads=3, d_ff=18,
    activation="swiglu", bias=False, tie_head=False, position="rotary",
)  # fmt: skip


def gpt(wing, **options):
    model, drawn = randomize(wing, wing.make(wing.lib.GPT, GPT))
    if options:
        wing.lib.quantize(model, **options)
    return model, drawn


@each("name", MODELS, nnx=["GPT"])
@pytest.mark.usefixtures("rounds_once")
def test_a_model_is_that_with_the_rounded_weights(wing, rng, name):
    case = MODELS[name]
    model, drawn = randomize(wing, case.build(wing))
    inputs = case.draw(rng)
    before = wing.numpy(case.call(wing, model, inputs))
    wing.lib.quantize(model, kind="e4m3")
    found = wing.numpy(case.call(wing, model, inputs))
    stored = wing.lib.get_weights(model)
    rounded = {}
    for path, w in drawn.items():
        part = path.removesuffix(".weight")
        if f"{part}.codes" in stored:
            w = oracle.dequantize(*oracle.quantize(w, "e4m3", w.shape[1]), "e4m3")
        rounded[path] = w
    plain = case.random(wing)
    wing.lib.set_weights(plain, rounded)
    assert_close(found, wing.numpy(case.call(wing, plain, inputs)))
    assert np.abs(found - before).max() > 1e-6


@each("kind", KINDS, nnx=["int4"])
def test_a_quantized_model_writes_with_a_cache_what_it_writes_without(wing, kind):
    model, _ = gpt(wing, kind=kind, group=6)
    prompt = wing.array(np.array([[3, 1, 4], [1, 5, 9]]))
    options = {"max_new_tokens": 11, "temperature": 0.0}
    with_cache = wing.lib.generate(model, prompt, **options)
    without = wing.lib.generate(model, prompt, use_cache=False, **options)
    assert with_cache == without


@pytest.mark.parametrize("kind", KINDS)
def test_either_wing_reads_what_the_other_saved(both, rng, tmp_path, kind):
    ids = rng.integers(0, 13, (2, 11))
    for writer, reader in (both, both[::-1]):
        model, _ = gpt(writer, kind=kind, group=6)
        expected = writer.numpy(model(writer.array(ids)))
        writer.lib.save_weights(model, tmp_path / "model.safetensors")
        fresh = reader.cast(reader.make(reader.lib.GPT, GPT), "float64")
        reader.lib.quantize(fresh, kind=kind, group=6)
        reader.lib.load_weights(fresh, tmp_path / "model.safetensors")
        assert_close(reader.numpy(fresh(reader.array(ids))), expected)
        plain = reader.make(reader.lib.GPT, GPT)
        with pytest.raises(ValueError, match=r"Not expected: .*q_proj\.codes"):
            reader.lib.load_weights(plain, tmp_path / "model.safetensors")


@pytest.mark.parametrize(("kind", "bits"), [("int8", 8), ("e4m3", 8), ("int4", 4)])
def test_the_file_has_as_many_bytes_as_it_should(wing, kind, bits):
    stored = wing.lib.get_weights(gpt(wing, kind=kind, group=6)[0])
    for path, array in gpt(wing)[1].items():
        part = path.removesuffix(".weight")
        if f"{part}.codes" in stored:
            assert stored[f"{part}.codes"].nbytes == array.size * bits // 8
            assert stored[f"{part}.scale"].size == array.size // 6
    tables = [path for path in stored if path.endswith("weight")]
    assert not [path for path in tables if "proj" in path or "head" in path]
    assert "tokens.weight" in tables


def test_what_can_not_be_quantized_is_refused_and_left_alone(wing, no_hook):
    model, drawn = gpt(wing)
    for options, words in (
        ({"kind": "int5"}, "kind must be one of int8, int4, e4m3: got 'int5'"),
        ({"group": 4}, r"group must divide in_features: .*=18, group=4"),
    ):
        with pytest.raises(ValueError, match=words):
            wing.lib.quantize(model, **options)
        assert wing.lib.get_weights(model).keys() == drawn.keys()
    with pytest.raises(ValueError, match="in_features must be even, because a byte"):
        wing.lib.quantize_weight(wing.array(np.ones((2, 3))), kind="int4")
    with pytest.raises(ValueError, match="kind must be one of"):
        wing.lib.dequantize_weight(*[wing.array(np.ones((2, 3)))] * 2, "int5")
    wing.lib.quantize(model)
    for nothing in (model, wing.make(wing.lib.linear, 2, 3)):
        with pytest.raises(ValueError, match="must have linear layers"):
            wing.lib.quantize(nothing)


def test_layers_in_a_list_are_found(wing, rng):
    layers = [wing.make(wing.lib.linear, 6, 6, seed=seed) for seed in range(2)]
    if wing.name == "torch":
        from torch import nn

        model = nn.Sequential(*layers)
    else:
        from flax import nnx

        model = nnx.Sequential(*layers)
    x = wing.array(rng.standard_normal((3, 6)).astype("float32"))
    before = wing.numpy(model(x))
    wing.lib.quantize(model)
    paths = wing.lib.get_weights(model)
    assert sum(path.endswith("codes") for path in paths) == 2
    np.testing.assert_allclose(wing.numpy(model(x)), before, atol=0.05)
