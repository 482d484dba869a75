"""What marking does with answers that are wrong in another way than by a slip."""

import contextlib
import functools
import importlib
import json
import math
import operator
import subprocess
import sys
import time

import numpy as np
import pytest
from students import XP
from wings import WINGS

from course_lib import homework, oracle
from course_lib.homework import EXERCISES, Exercise, check, marking, running
from course_lib.homework.called import CALLED, USED, Watch, call
from course_lib.homework.exercise import ATTENTION


@pytest.fixture
def mark(wing):
    """`check` in the wing at hand."""
    return functools.partial(check, wing=wing.name)


# --- kinds and dtypes


def test_numbers_are_not_booleans(wing, mark):
    xp = XP[wing.name]

    def causal(t, s):
        return xp.tril(xp.ones((t, s), dtype=bool), s - t)

    assert mark(causal, "causal")
    for times in (1.0, 1.00005):
        report = mark(lambda t, s, c=times: xp.real(causal(t, s)) * c, "causal")
        assert "float32 where booleans are due" in repr(report)
        assert "slip" not in repr(report)  # right numbers of another kind are none
    assert "booleans are due" in repr(
        mark(lambda t, s: xp.whole(causal(t, s)), "causal")
    )


def test_ids_are_whole_numbers(wing, mark):
    xp = XP[wing.name]
    report = mark(lambda ids, c: xp.real(xp.where(c, ids, -100)), "mlm_targets")
    assert "whole numbers are due" in repr(report)
    assert "The numbers are right." in repr(report)


@pytest.mark.usefixtures("converts_small_floats")
def test_half_precision_is_told(wing, mark):
    xp = XP[wing.name]
    for dtype in ("float16", "bfloat16"):

        def rough(s, dtype=dtype):
            kind = getattr(xp, dtype)
            p = xp.softmax(s)
            return p.to(kind) if wing.name == "torch" else p.astype(kind)

        assert f"it returned {dtype}" in repr(mark(rough, "softmax"))


def test_an_answer_in_the_wrong_framework_is_told_so(mark, wing):
    due = {"torch": "a torch.Tensor", "nnx": "a JAX array"}[wing.name]
    said = repr(mark(lambda s: np.ones(s.shape), "softmax"))
    assert f"it returned a NumPy array where {due} is due." in said


def test_an_answer_of_the_wrong_shape_is_told_both_shapes(mark):
    report = mark(lambda s: s[..., :2], "softmax")
    assert "(2,)" in repr(report)
    assert "(5,)" in repr(report)
    assert "in output" not in repr(report)  # it is the only one

    def halves(q, k, v, keys, values):
        return q[..., :1], k, v

    assert "is due in output 1 of 3." in repr(mark(halves, "cached_attention"))


def test_one_query_keeps_its_row(wing, mark):
    """A mask without the axis of its only query would broadcast, and go unnoticed."""
    report = mark(lambda t, s: wing.array(np.tri(t, s, s - t) > 0).squeeze(), "causal")
    assert [case.name for case in report.cases if not case.passed] == ["one query"]


def test_where_one_token_has_it_all_only_it_is_kept():
    """A rule that stops before p is passed keeps none there."""
    drawn = marking.Marking("top_p", EXERCISES["top_p"], "torch", 3)
    by_name = dict(zip(drawn.cases, drawn.expected, strict=True))
    (kept,) = by_name["one token has it all"]
    np.testing.assert_array_equal((kept > 0).sum(-1), 1)


def test_lora_of_rank_one_has_rank_one():
    by_name = marking.Marking("lora", EXERCISES["lora"], "torch", 7).cases
    _, _, a, b, _ = by_name["rank one"]
    assert len(a) == b.shape[1] == 1


def test_too_few_tensors_are_counted(mark):
    assert "3 tensors are due" in repr(mark(lambda *a: a[0], "cached_attention"))
    report = mark(lambda *a: a[:2], "cached_attention")
    assert "2 things where 3 tensors" in repr(report)


@pytest.mark.parametrize(
    ("answer", "exercise", "words"),
    [
        (3, "softmax", "without calling it: check(f, ...)"),
        (dict, "softmax", "got the class dict"),
        (3, "multihead", "a class is due: got an instance, int"),
    ],
)
def test_an_answer_of_the_wrong_sort_is_told_what_is_due(mark, answer, exercise, words):
    report = mark(answer, exercise)
    assert not report
    assert words in repr(report)


def test_an_instance_where_a_class_is_due_is_told_so(wing, mark):
    layer = wing.make(wing.lib.MultiHeadAttention, 12, 3)
    report = mark(layer, "multihead")
    assert "a class is due: got an instance, MultiHeadAttention" in repr(report)


# --- errors in the answer


def test_an_answer_that_breaks_is_reported_not_raised(mark):
    assert "ZeroDivisionError" in repr(mark(lambda *a: 1 / 0, "softmax"))
    assert "return" in repr(mark(lambda *a: None, "softmax"))
    assert "could not be built" in repr(mark(dict, "multihead"))


def test_a_layer_with_other_parameters_is_told_which(mark, wing):
    def build(width, heads, **rngs):
        return wing.make(wing.lib.FeedForward, width, 2 * width)

    said = repr(mark(build, "multihead"))
    assert "it has no k_proj.bias, k_proj.weight, o_proj.bias" in said
    assert "up_proj.bias, up_proj.weight, which the text does not name." in said


def test_an_error_shows_the_students_line_its_shapes_and_a_hint(mark):
    def attention(q, k, v, mask=None):
        scores = q @ k / math.sqrt(q.shape[-1])
        return scores @ v

    text = repr(mark(attention, "attention"))
    assert 'in your line "scores = q @ k / math.sqrt(q.shape[-1])"' in text
    assert "There q is (3, 7), k is (5, 7)." in text
    assert "b.mT swaps" in text


def test_two_dtypes_are_no_matter_of_shapes(mark, wing):
    def softmax(scores):
        wide = XP[wing.name].array(np.ones((5, 5)))
        if wing.name == "torch":
            return scores @ wide
        return sys.modules["jax"].lax.add(scores, wide[0].astype("float16"))

    text = repr(mark(softmax, "softmax"))
    assert "same dtype" in text
    assert "Stay in float32, as the input is." in text
    assert "In a @ b" not in text


@pytest.mark.filterwarnings("ignore:The use of `x.T`")
def test_turning_round_the_axes_of_a_batch_is_told(mark, wing):
    def attention(q, k, v, mask=None):
        scores = q @ k.T / math.sqrt(q.shape[-1])
        return XP[wing.name].softmax(scores) @ v

    text = repr(mark(attention, "attention"))
    assert '"a batch" (f(q, k, v) with' in text
    assert "x.T turns all axes round" in text


@pytest.mark.parametrize(
    ("exercise", "call"),
    [
        ("multihead", "(layer(x), built with (12, 3) with (2, 5, 12))"),
        ("rotary", "(f(x) with (7, 6))"),
        ("attention", "(f(q, k, v) with"),
        ("layer_norm", "(f(x, weight, bias, eps) with (7,), (7,), (7,), 1e-05)"),
    ],
)
def test_what_a_case_leaves_out_of_the_call_is_not_shown(exercise, call, mark):
    assert call in repr(mark(lambda *a, **k: None, exercise))


def test_an_error_within_the_library_shows_the_line_that_called_it(wing, mark, no_hook):
    def attention(q, k, v, mask=None):
        return wing.lib.attention(q, k[..., :1], v)

    line = 'in your line "return wing.lib.attention(q, k[..., :1], v)"'
    assert line in repr(mark(attention, "attention"))


def test_a_broadcasting_error_gets_a_hint(mark):
    def average(past, future):
        return future - past.mean(1)

    text = repr(mark(average, "scale_by_past"))
    assert "Shapes are compared from the right" in text
    assert "future is (2, 3)" in text

    def reshaped(x):
        return x.reshape(len(x), 5)

    assert "keeps the number of entries" in repr(mark(reshaped, "patches"))


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        MemoryError("Unable to allocate 8.00 TiB"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried 8 bytes"),
        RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 8 bytes"),
    ],
)
def test_an_answer_without_memory_is_told_where(mark, error):
    def hungry(s):
        raise error

    line = 'in your line "raise error". Which array is so large?'
    assert f"it ran out of memory {line}" in repr(mark(hungry, "softmax"))


def test_an_exit_is_an_answer_that_failed(mark):
    assert "it called sys.exit" in repr(mark(lambda s: sys.exit(0), "softmax"))


def test_an_endless_loop_is_interrupted(mark):
    def endless(s):
        while True:
            pass

    begin = time.monotonic()
    report = mark(endless, "softmax", seconds=0.05)
    assert "it ran for more than 0.05 s" in repr(report)
    assert len(report.cases) == 4
    assert time.monotonic() - begin < 20


def test_an_answer_that_changes_its_input_is_told_so():
    if "torch" not in WINGS:
        pytest.skip("JAX arrays cannot be changed")
    torch = pytest.importorskip("torch")

    def greedy(scores):
        weights = torch.exp(scores)
        scores.zero_()
        return weights

    assert "its own input" in repr(check(greedy, "softmax", wing="torch"))


def test_an_unknown_mistake_gets_its_size(mark):
    report = mark(lambda s: s * 0 + 0.125, "softmax")
    assert "differs" in repr(report)
    assert "none of the known slips" in repr(report)


def test_two_slips_at_once_are_both_named(wing, mark):
    xp = XP[wing.name]

    def attention(q, k, v, mask=None):
        s = q @ k.mT
        return xp.softmax(s if mask is None else xp.where(mask, s, 0.0)) @ v

    text = repr(mark(attention, "attention"))
    assert "the scores are not divided by sqrt(d)" in text
    assert "a forbidden score is set to 0" in text


# --- pieces that an answer may not call


def own_pieces(lib):
    """By the exercise that each would solve."""

    def attention(q, k, v, mask=None):
        return lib.attention(q, k, v, mask=mask)

    def block(d, h, f, **rngs):
        return lib.Block(d, h, f, **rngs)

    def turn(x, offset=0):
        return lib.Rotary(x.shape[-1])(x, offset)

    own = {"softmax": lib.softmax, "multihead": lib.MultiHeadAttention}
    return own | {"attention": attention, "pre_norm_block": block, "rotary": turn}


@pytest.mark.parametrize(
    "name", ["softmax", "multihead", "attention", "pre_norm_block", "rotary"]
)
def test_the_librarys_own_pieces_agree_with_the_oracle_and_are_noticed(
    wing, mark, name
):
    report = mark(own_pieces(wing.lib)[name], name)
    assert all(case.passed for case in report.cases), report
    assert not report
    assert report.points == 0
    assert f"It calls course_lib.{wing.name}." in report.message


def test_the_frameworks_pieces_are_noticed_however_they_are_called(wing, mark):
    if wing.name == "torch":
        import torch
        from torch import nn
        from torch.nn.functional import layer_norm as norm
        from torch.nn.functional import scaled_dot_product_attention as attend

        def softmax(s):
            return torch.nn.functional.softmax(s, dim=-1)

        def softmax_method(s):
            return s.softmax(-1)

        def softmax_layer(s):
            return nn.Softmax(-1)(s)

        def layer_norm(x, w, b, eps):
            return norm(x, w.shape, w, b, eps)

        def attention(q, k, v, mask=None):
            return attend(q, k, v, attn_mask=mask)

        answers = [torch.softmax, softmax, softmax_method, softmax_layer]
        answers += [layer_norm, attention]
    else:
        import jax
        from flax import nnx
        from jax.nn import softmax as theirs

        def softmax(s):
            return theirs(s)

        def softmax_of_nnx(s):
            return nnx.softmax(s)

        @jax.jit
        def attention(q, k, v, mask=None):
            return jax.nn.dot_product_attention(q, k, v)

        answers = [jax.nn.softmax, softmax, softmax_of_nnx, attention]
    for answer in answers:
        name = answer.__name__
        name = "softmax" if name.startswith("softmax") else name
        used = mark(answer, name).used
        assert any(name.replace("_", "") in u.replace("_", "").lower() for u in used)


def test_names_of_ones_own_are_free(wing, mark):
    def softmax(scores):
        return scores

    class LayerNorm:
        def __call__(self, scores):
            return softmax(scores)

    assert mark(lambda s: softmax(s), "softmax").used == ()
    assert mark(lambda s: LayerNorm()(s), "softmax").used == ()


def test_a_layer_is_called_where_its_forward_pass_is_not_ones_own(mark):
    if "torch" not in WINGS:
        pytest.skip("a layer of PyTorch's")
    nn = pytest.importorskip("torch").nn

    class Own(nn.LayerNorm):
        def __init__(self, d):
            super().__init__(d)

        def forward(self, x):
            gap = x - x.mean(-1, keepdim=True)
            root = (gap.square().mean(-1, keepdim=True) + 1e-5).sqrt()
            return gap / root * self.weight + self.bias

    class Theirs(nn.LayerNorm):
        pass

    assert check(Own, "layer_norm_module", wing="torch")
    for layer in (Theirs, nn.LayerNorm):
        report = check(layer, "layer_norm_module", wing="torch")
        assert "torch.nn.modules.normalization.LayerNorm.forward" in report.used


def carriers(wing):
    """Ways to a softmax that no reading of the text would find."""
    if wing == "torch":
        import torch

        soft = torch.nn.functional.softmax
        scripted = torch.jit.CompilationUnit(
            "def f(x):\n    return torch.softmax(x, -1)\n"
        ).f
        yield lambda x: next(map(functools.partial(torch.softmax, dim=-1), [x]))
        yield operator.methodcaller("softmax", -1)
        yield scripted
        yield lambda x: torch.vmap(soft)(x[None], dim=-1)[0]
        yield lambda x: operator.call(torch.softmax, x, -1)
    else:
        import jax

        soft = jax.nn.softmax
        soft(
            np.ones((3, 5), "float32")
        )  # compiled before, it calls nothing of Python's
        yield lambda x: next(map(soft, [x]))
        yield jax.jit(lambda x: soft(x))
        yield lambda x: jax.vmap(soft)(x[None])[0]
    space = {}
    exec(compile("def f(x, soft): return soft(x, -1)", "<string>", "exec"), space)
    yield lambda x: space["f"](x, soft)
    yield (
        functools.partial(soft, axis=-1)
        if wing == "nnx"
        else type("", (), {"__call__": staticmethod(functools.partial(soft, dim=-1))})()
    )


def test_a_forbidden_piece_is_noticed_whatever_carries_it(wing, mark):
    for answer in carriers(wing.name):
        report = mark(answer, "softmax")
        assert all(case.passed for case in report.cases), report
        assert report.used
        assert report.points == 0


def test_what_is_no_elementary_step_is_said_and_keeps_its_points(wing, mark):
    xp = XP[wing.name]
    if wing.name == "torch":
        import torch

        def theirs(s):
            return torch.nn.functional.rms_norm(s, s.shape[-1:])

        name = "functional.rms_norm"
    else:
        import jax

        theirs, name = jax.nn.standardize, "functions.standardize"

    def softmax(s):
        exps = xp.exp(s - xp.amax(s, -1, keepdims=True))
        return exps / exps.sum(-1)[..., None] + 0 * theirs(s)

    report = mark(softmax, "softmax")
    assert report.used == ()
    assert len(report.called) == 1, report.called
    (called,) = report.called
    assert called.endswith(name)
    assert f"It calls {called}, which goes beyond elementary steps" in report.message
    assert report.points == report.out_of


def noted_of(wing, forbidden, answer, *given):
    """What is noted while an answer runs, without comparing its results."""
    noted = []
    watch = Watch(wing.name, forbidden, (), lambda *said: noted.append(said))
    with watch.on():
        call(answer, *given)
    return noted


def made_before(wing):
    """Attention in programs that call nothing, by a name that is in them or by none."""
    q, k, v = np.zeros((3, 5, 4), "float32")
    if wing == "torch":
        import torch

        attend = torch.nn.functional.scaled_dot_product_attention
        yield lambda *given: next(map(attend, *([x] for x in given))), True
        with pytest.deprecated_call():
            traced = torch.jit.trace(attend, (torch.ones(5, 4),) * 3)
        yield traced, True
        own = torch.jit.CompilationUnit(
            "def f(q, k, v):\n"
            "    return torch.softmax(q @ k.T / k.shape[1] ** 0.5, -1) @ v\n"
        )
        yield own.f, False
    else:
        import jax

        def attend(q, k, v):
            q, k, v = (x[:, None] for x in (q, k, v))
            return jax.nn.dot_product_attention(q, k, v)[:, 0]

        traced, shape = jax.make_jaxpr(attend)(q, k, v), jax.typeof(q)
        evaluated = functools.partial(jax.core.eval_jaxpr, traced.jaxpr, traced.consts)
        yield lambda *given: evaluated(*given)[0], False
        yield jax.jit(evaluated), False
        exported = jax.export.export(jax.jit(attend))(shape, shape, shape)
        yield exported.call, False
        yield jax.jit(exported.call), False


def test_a_program_that_was_made_before_is_noticed(wing):
    given = [wing.array(x) for x in np.ones((3, 5, 4), "float32")]
    for answer, named in made_before(wing.name):
        said = noted_of(wing, ATTENTION, answer, *given)
        assert said
        assert (USED in dict(said)) == named, said


def handed_over(wing, x):
    """A function that is no step, in the hands of what calls it."""
    if wing == "torch":
        import torch

        theirs = functools.partial(torch.nn.functional.rms_norm, normalized_shape=(4,))
        yield lambda: torch.vmap(torch.vmap(theirs))(x)
        graph = torch.fx.symbolic_trace(lambda x: theirs(x))
        yield lambda: graph(x)
    else:
        import jax
        import optax
        from flax import nnx

        theirs = optax.losses.safe_softmax_cross_entropy
        yield lambda: jax.grad(functools.partial(theirs, x[0, 0]))(x[0, 0])
        yield lambda: jax.lax.switch(0, [theirs], x, x)
        yield lambda: nnx.jit(type("", (), {"__call__": staticmethod(theirs)})())(x, x)
    yield lambda: np.apply_along_axis(lambda row: row, 0, np.ones(3))  # one's own


def test_who_hands_a_function_over_has_called_it(wing):
    x = wing.array(np.ones((2, 3, 4), "float32"))
    *theirs, own = [noted_of(wing, (), f) for f in handed_over(wing.name, x)]
    assert all([what for what, _ in said] == [CALLED] for said in theirs), theirs
    assert own == []


def test_a_transformation_of_ones_own_is_no_call(wing):
    xp, x = XP[wing.name], wing.array(np.ones((2, 3, 4), "float32"))
    if wing.name == "torch":
        from torch import vmap
    else:
        from jax import vmap
    assert noted_of(wing, (), vmap(vmap(lambda row: xp.exp(row) + 1)), x) == []


STEPS = {
    "torch": "normalize mish hardsigmoid hardswish logsigmoid softshrink softsign "
    "tanhshrink gelu silu softplus",
    "nnx": "mish hard_sigmoid hard_swish hard_tanh log_sigmoid soft_sign squareplus "
    "gelu silu softplus",
}


def test_what_takes_an_entry_or_a_norm_at_a_time_is_a_step(wing, mark):
    home = {"torch": "torch.nn.functional", "nnx": "jax.nn"}[wing.name]
    lib, xp = importlib.import_module(home), XP[wing.name]

    def layer_norm(x, weight, bias, eps):
        extra = [getattr(lib, name)(x[None])[0] for name in STEPS[wing.name].split()]
        gap = x - x.mean(-1)[..., None]
        scale = xp.sqrt((gap * gap).mean(-1)[..., None] + eps)
        return gap / scale * weight + bias + 0 * sum(extra)

    report = mark(layer_norm, "layer_norm")
    assert report.called == report.used == ()
    assert report


def test_whoever_takes_off_the_profiler_is_noted(mark):
    def off(s):
        sys.setprofile(None)
        return s

    assert "what takes off the profiler" in mark(off, "softmax").called


def test_parts_that_an_exercise_gives_may_be_called(wing, mark):
    lib = wing.lib

    def peers(q, k, returns, listed=None):
        xp = XP[wing.name]
        mask = ~xp.eye(q.shape[-2], dtype=bool)
        mask = mask if listed is None else mask & listed
        return lib.attention(q, k, returns[..., None], mask=mask)[0][..., 0]

    assert mark(peers, "peer_average")

    def by_oracle(q, k, returns, listed=None):
        oracle.softmax(np.zeros(3))
        return peers(q, k, returns, listed)

    report = mark(by_oracle, "peer_average")
    assert "It calls course_lib.oracle.attention.softmax" in report.message


# --- data


def test_the_exact_gelu_may_be_written_with_the_normal_distribution(wing, mark):
    if wing.name == "torch":
        import torch

        module, linear = torch.nn.Module, torch.nn.Linear
        cdf = torch.distributions.Normal(0.0, 1.0).cdf
    else:
        import jax
        from flax import nnx

        module, linear, cdf = nnx.Module, nnx.Linear, jax.scipy.stats.norm.cdf

    class FeedForward(module):
        def __init__(self, d, f, **rngs):
            super().__init__()
            self.up_proj = linear(d, f, **rngs)
            self.down_proj = linear(f, d, **rngs)

        def __call__(self, x):
            a = self.up_proj(x)
            return self.down_proj(a * cdf(a))

    report = mark(FeedForward, "feed_forward")
    assert report, report
    assert report.called == ()


def test_a_draw_is_no_choice_of_the_librarys():
    if "nnx" not in WINGS:
        pytest.skip("PyTorch has none")
    random = pytest.importorskip("jax").random

    def draw(logits, uniform):
        return random.choice(random.key(0), logits.shape[1], uniform.shape)

    assert check(draw, "draw", wing="nnx").used == ("jax._src.random.core.choice",)


def test_a_report_is_data(wing, mark):
    xp = XP[wing.name]

    def look_up(query, keys, values, temperature):
        return xp.softmax(keys @ query / temperature) @ values

    right = json.loads(json.dumps(mark(look_up, "soft_lookup").as_dict()))
    assert right["passed"]
    assert right["points"] == right["out_of"] == 3
    cold = functools.partial(look_up, temperature=1)
    wrong = mark(lambda q, k, v, t: cold(q, k, v), "soft_lookup", seed=9).as_dict()
    assert json.loads(json.dumps(wrong)) == wrong
    assert wrong["seed"] == 9
    assert wrong["wing"] == wing.name
    assert {"course_lib", "numpy", "python"} < wrong["versions"].keys()
    # Nothing stops at the first case that fails: at temperature 1 the answer is right.
    assert [case["passed"] for case in wrong["cases"]] == [True, False, False]
    assert wrong["points"] == 1
    assert wrong["cases"][1]["slip"] == "the temperature is not used"
    assert wrong["cases"][1]["message"] in wrong["message"]


def test_cases_of_a_seed_are_the_same_and_of_another_are_new():
    for name, exercise in EXERCISES.items():
        first, again, fresh = (
            marking.Marking(name, exercise, "torch", seed) for seed in (7, 7, 8)
        )
        for a, b in zip(first.expected, again.expected, strict=True):
            assert all(map(np.array_equal, a, b))
        pairs = zip(first.expected, fresh.expected, strict=True)
        assert not all(all(map(np.array_equal, a, b)) for a, b in pairs)


def test_an_exercise_of_ones_own_takes_ten_lines(wing, mark, monkeypatch):
    center = Exercise(
        call="f(x)",
        cases=lambda rng: {"a matrix": (rng.standard_normal((3, 5)),)},
        oracle=lambda x: x - x.mean(axis=-1, keepdims=True),
        slips={
            "the mean runs down the columns": lambda x: x - x.mean(axis=0),
            "the mean is added, not subtracted": lambda x: x + x.mean(-1)[:, None],
        },
    )
    monkeypatch.setitem(EXERCISES, "center", center)
    assert mark(lambda x: x - x.mean(-1)[:, None], "center")
    assert "down the columns" in repr(mark(lambda x: x - x.mean(0), "center"))


def test_of_two_slips_the_one_that_explains_more_cases_is_named(mark, monkeypatch):
    case = {str(n): (np.array([float(n)]),) for n in (1, 2, 3)}
    shift = Exercise(
        call="f(x)",
        cases=lambda rng: case,
        oracle=lambda x: x,
        slips={
            "1 is doubled": lambda x: np.where(x == 1, 2 * x, -x),
            "1 is added": lambda x: x + 1,
        },
    )
    monkeypatch.setitem(EXERCISES, "shift", shift)
    report = mark(lambda x: x + 1 if x[0] < 3 else 77 * x, "shift")
    assert [case.slip for case in report.cases] == ["1 is added", "1 is added", ""]


def ratio(x):
    total = x.sum()
    return x / total


@pytest.mark.parametrize(
    "edit", ["x / n -> x", "x -> y", "total", "return x -> x; no such text ->"]
)
def test_an_edit_whose_old_text_does_not_stand_there_once_is_refused(edit):
    with pytest.raises(ValueError, match="stands in the equation once"):
        Exercise(call="", cases=dict, oracle=ratio, slips={"one": edit})


def test_a_lambda_cannot_be_edited():
    slips = {"one": "len(x) -> 1"}
    with pytest.raises(ValueError, match="with a name: got a lambda"):
        Exercise(call="", cases=dict, oracle=lambda x: len(x), slips=slips)


def test_two_slips_are_both_edits_unless_they_edit_the_same_text():
    slips = {
        "not divided": " / total ->",
        "the mean": "sum -> mean",
        "multiplied": "/ -> *",
        "a function": lambda x: x,
    }
    exercise = Exercise(call="", cases=dict, oracle=ratio, slips=slips)
    x = np.array([1.0, 2.0, 5.0])

    def made(*sentences):
        slip = exercise.slip(*sentences)
        return slip and slip(x).tolist()

    assert made("not divided") == made("the mean", "not divided") == [1, 2, 5]
    assert made("the mean", "multiplied") == made("multiplied", "the mean")
    assert made("the mean", "multiplied") == (x * x.mean()).tolist()
    assert made("not divided", "multiplied") is None
    assert made("a function") == [1, 2, 5]
    assert made("a function", "the mean") is None


@pytest.mark.parametrize(
    ("exercise", "wing", "message"),
    [
        ("no such exercise", "torch", "exercise must be one of softmax"),
        ("softmax", "tensorflow", "torch, nnx"),
    ],
)
def test_a_call_that_makes_no_sense_is_refused(exercise, wing, message):
    with pytest.raises(ValueError, match=message):
        check(len, exercise, wing=wing)


@pytest.mark.parametrize(("wing", "package"), [("torch", "torch"), ("nnx", "flax")])
def test_a_missing_framework_is_named_with_the_way_out(wing, package):
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from course_lib.homework import check\n"
        f"check(len, 'softmax', wing={wing!r})"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert f'wing="{wing}" needs' in run.stderr
    assert f"pip install -e '.[{wing}]'" in run.stderr


def test_time_in_line_for_a_processor_is_not_the_students(monkeypatch):
    """In a sandbox, once 0.4 seconds late, an answer of 0.3 is in time at 0.1."""
    line = iter([0.0, 0.4, *[0.4] * 9])
    monkeypatch.setattr(running, "_in_line", lambda: next(line))
    begin = time.monotonic()

    def busy(seconds):
        while time.monotonic() < begin + seconds:
            pass
        return "done"

    assert running.guarded(lambda: busy(0.3), 0.1) == ("done", "")
    monkeypatch.setattr(running, "_in_line", lambda: 7.0)
    _, trouble = running.guarded(lambda: busy(9), 0.1)
    assert "more than 0.1 s" in trouble


def test_who_catches_the_alarm_was_too_long_all_the_same():
    def deaf():
        with contextlib.suppress(BaseException):
            while True:
                pass
        return "done"

    _, trouble = running.guarded(deaf, 0.1)
    assert "more than 0.1 s" in trouble


@pytest.mark.parametrize("kind", ["<f4", "<f8", "<i8", "|u1", "|b1", "<c16"])
@pytest.mark.parametrize("name", ["causal", "attention"])
def test_no_number_stops_the_marker(name, kind):
    made = homework.make_marker(name, "torch", 3)
    cases = len(made.task().cases)
    dtype = np.dtype(kind)
    values = [0]
    if dtype.kind == "f":
        values += [np.finfo(dtype).max, np.inf, -np.inf, np.nan]
    elif dtype.kind in "iu":
        values += [np.iinfo(dtype).max, np.iinfo(dtype).min]
    for value in values:
        for shape in ((), (0, 10**12), (2, 3), made.expected[0][0].shape):
            outputs = (np.full(shape, value, dtype),)
            outcomes = [running.Outcome(outputs=outputs)] * cases
            assert made.report(outcomes).share < 1
