"""Which functions an answer calls, noted while it runs, wherever they are written.

Python reports each call to a profiler (`sys.setprofile`), and PyTorch each function and
each kernel to a mode. Two things are noted: a piece that would be the whole answer,
whoever calls it, and any other function that a line of the student's calls and that
isn't elementary. JAX runs without jit meanwhile, since what is compiled calls nothing;
a program that was made before, by TorchScript or as a jaxpr, is noted itself.
"""

import contextlib
import functools
import gc
import importlib
import inspect
import os
import re
import sysconfig
from collections.abc import Callable, Iterator
from sys import getprofile, setprofile
from threading import setprofile as profile_threads
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any

import numpy as np

PACKAGE = "course_lib"
USED, CALLED = "used", "called"  # a forbidden piece; what a person looks at
_BY_A_LINE = "by a line"  # what is forbidden to a student, and not to a library
_SEALED = "sealed"  # a program whose calls nobody sees, whoever starts it
_TRACED, _EVALUATED = "jax._src.core.Jaxpr.__init__", "jax._src.core.eval_jaxpr"
Note = Callable[[str, str], None]

# Where no student's line stands.
LIBRARIES = (
    *{sysconfig.get_paths()[p] for p in ("stdlib", "purelib", "platlib")},
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
)
_MADE = ("<cell", "<ipython-input", "<string", "<stdin", "<solution")

# Whatever these modules have is elementary, or has no arrays to work on.
_FREE = re.compile(
    r"^(builtins|math|cmath|itertools|_?functools|operator|_operator|_?collections"
    r"|_collections_abc|dataclasses|typing|types|contextlib|copy|random|time|_?warnings"
    r"|_?weakref\w*|beartype|statistics|_?heapq|_?bisect|string|re|enum|_?abc"
    r"|numbers|numpy|einops|opt_einsum"
    r"|jaxtyping|tqdm|gc|inspect|logging|sys|os|posix|importlib|_frozen_importlib\w*"
    r"|_?io|json|pathlib|ipykernel|IPython|matplotlib"
    r"|torch\.(autograd|_tensor|functional|nn\.(init|parameter"
    r"|modules\.(module|container|linear|sparse|dropout|activation))"
    r"|utils\.(_contextlib|_python_dispatch|checkpoint)|random|_jit_internal|compiler"
    r"|_functorch|_dynamo|_library|_VF|overrides|_?linalg|_linalg_utils)"
    r"|jax\._src\.(?!nn\.functions|scipy|cudnn|pallas|image|third_party|ops\.special)"
    r".*|jaxlib|flax\.(core|typing)|flax\.nnx\.(?!nn\b).*"
    r"|flax\.nnx\.nn\.(linear|dtypes|initializers|stochastic))(\.|$)"
)
_NEVER = re.compile(
    r"^(sys|os|posix|builtins)\.(_?setprofile|settrace|getprofile|_getframe|_current_frames|system"
    r"|popen|fork\w*|exec\w+|spawn\w+|posix_spawn\w*|compile|breakpoint)$"
)
# Elementary: what NumPy has, too, and what a framework alone calls so. A vector divided
# by its norm is; one less its mean and divided by its spread is a layer norm.
_ONLY_PYTORCH = (
    "add addbmm addcdiv addcmul addmm addmv addr adjoint amax amin aminmax as_strided "
    "as_subclass as_tensor backward baddbmm bernoulli bfloat16 bilinear block_diag bmm "
    "bool broadcast_tensors bucketize byte cartesian_prod cat cdist celu chain_matmul "
    "chunk clamp clamp_max clamp_min clone combinations complex contiguous conv1d "
    "conv2d cosine_similarity cpu cummax cummin cumulative_trapezoid data_ptr "
    "dataloader detach diag_embed diagonal_scatter dim dist div double dropout "
    "element_size elu embedding eq erf erfc erfinv expand expand_as expm1 "
    "fill_diagonal float frac from_numpy gather ge gelu generator ger "
    "get_default_dtype get_device glu grad gt half hardshrink hardsigmoid hardswish "
    "hardtanh histc index index_add index_copy index_fill index_put index_reduce "
    "index_select inference_mode int inverse is_complex is_contiguous "
    "is_floating_point is_grad_enabled is_nonzero is_same_size is_tensor item kthvalue "
    "le leaky_relu lerp lgamma linear log_sigmoid log_softmax logaddexp logdet "
    "logical_not logit logsigmoid logsumexp long lt manual_seed map masked_fill "
    "masked_scatter masked_select matrix_exp mish mm mode movedim msort mul mv narrow "
    "ndimension ne neg nelement new new_empty new_full new_ones new_tensor new_zeros "
    "no_grad nonzero norm normalize numel numpy one_hot ones pad pairwise_distance "
    "pdist permute permute_dims polar pow prelu rand rand_like randint randn "
    "randn_like randperm range register_hook relu relu6 renorm repeat_interleave "
    "requires_grad reshape_as retain_grad rrelu rsqrt rsub scalar_tensor scatter "
    "scatter_add scatter_reduce select select_scatter selu set_default_dtype "
    "set_grad_enabled sgn short sigmoid silu size slice_scatter softmax softplus "
    "softshrink softsign split_with_sizes square std_mean stride sub sum_to_size "
    "swapdims swish t take_along_dim tanhshrink tensor tensor_split threshold to "
    "to_dense to_sparse tolist topk trapz triangular_solve tril_indices triu_indices "
    "true_divide type type_as unbind unflatten unfold unique_consecutive unsqueeze "
    "untyped_storage values var_mean vdot view view_as view_as_complex view_as_real "
    "vmap xlogy zero "
)
_ONLY_JAX = "hard_sigmoid hard_silu hard_swish hard_tanh log1mexp soft_sign squareplus"
ELEMENTARY = {
    *(name for of in (np, np.ndarray, np.linalg, np.random) for name in dir(of)),
    *_ONLY_PYTORCH.split(),
    *_ONLY_JAX.split(),
}


def call(function: Callable, *args: Any, **kwargs: Any) -> Any:
    """Call an answer: this line counts as one of the student's."""
    return function(*args, **kwargs)


def in_a_library(file: str) -> bool:
    """Whether a file is a library's, or what a library has made from text."""
    if file.startswith("<"):
        return not file.startswith(_MADE)
    return file.startswith(LIBRARIES) or "site-packages" in file


def _words(names: tuple[str, ...]) -> re.Pattern:
    """A pattern for what an exercise forbids: each as a word of a name."""
    some = "|".join(re.escape(_snake(n)) for n in names if n != PACKAGE)
    return re.compile(rf"(?:^|[_.])({some})(?:$|[_.])" if some else r"(?!)")


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


class Watch:
    """Notes the calls of one answer.

    It is made before a line of the student's runs, which could replace what it uses.

    Args:
        wing: "torch" or "nnx".
        forbidden: As in `Exercise`.
        needs: As in `Exercise`.
        note: Is told `USED` or `CALLED` and a name, once for each.
    """

    def __init__(
        self,
        wing: str,
        forbidden: tuple[str, ...],
        needs: tuple[str, ...],
        note: Note,
    ):
        self._open = _opener(wing, self.kernel, self.script)
        self.forbidden, self.package = _words(forbidden), PACKAGE in forbidden
        self.needs, self.note = _words(needs), note
        self.codes: dict[int, tuple[CodeType, tuple[str, str]]] = {}
        self.builtins: dict[tuple[str, str], tuple[str, str]] = {}
        self.mine = {id(call.__code__): (call.__code__, True)}
        self.noted: set[tuple[str, str]] = set()
        self.traced: set[int] = set()  # jaxprs, made while it watched

    @contextlib.contextmanager
    def on(self) -> Iterator[None]:
        """While this is on, calls are noted."""
        before, collects = getprofile(), gc.isenabled()
        with self._open():
            # A collection would call others' finalizers in a student's line.
            gc.disable()
            profile_threads(self.see)
            setprofile(self.see)
            try:
                yield
                if getprofile() != self.see:
                    self._say(CALLED, "what takes off the profiler")
            finally:
                setprofile(before)
                profile_threads(before)  # pyright: ignore[reportArgumentType]
                if collects:
                    gc.enable()

    def kernel(self, name: str) -> None:
        """One of PyTorch's functions or kernels, whatever has called it."""
        if self.forbidden.search(name.strip("_")):
            self._say(USED, name.strip("_"))

    def script(self, graph: str) -> None:
        """A program of TorchScript's, which calls nothing of Python's."""
        self._say(_SEALED, "torch.jit.ScriptFunction")
        for name in re.findall(r"\baten::(\w+)", graph):
            self.kernel(name)

    def see(self, frame: FrameType, event: str, given: Any) -> None:
        """What Python reports of a call. An error here would end the reports."""
        try:
            if event == "call":
                self._python(frame)
            elif event == "c_call":
                self._builtin(frame, given)
        except Exception as error:
            self._say(CALLED, f"what hides itself ({type(error).__name__})")

    def _python(self, frame: FrameType) -> None:
        code = frame.f_code
        if id(code) not in self.codes:  # a code's own hash is slow; kept, so its id is
            self.codes[id(code)] = code, self._verdict(*_names(frame))
        what, name = self.codes[id(code)][1]
        if name == _TRACED:
            self.traced.add(id(frame.f_locals["self"]))
        elif name == _EVALUATED:
            made = id(frame.f_locals["jaxpr"]) in self.traced
            what, name = "" if made else _SEALED, "a jaxpr that was traced before"
        before = frame.f_back
        by_student = before is not None and self._mine(before.f_code)
        if code.co_name == "_wrapped_call_impl":  # a layer of PyTorch's
            what, name = self._verdict(*_layer(frame.f_locals.get("self")))
        elif by_student and not self._mine(code):
            self._handed_over(frame)
        self._say_if(what, name, by_student)

    def _builtin(self, frame: FrameType, given: Any) -> None:
        owner, name = getattr(given, "__self__", None), given.__name__
        if type(owner) is np.ufunc:  # np.logaddexp.reduce
            name = f"{owner.__name__}.{name}"
        homes = [c for c in type(owner).__mro__ if given.__name__ in vars(c)]
        module = given.__module__ or (homes[0].__module__ if homes else "builtins")
        module = str(module).replace("torch._C", "torch")
        if (module, name) not in self.builtins:
            self.builtins[module, name] = self._verdict(module, name)
        what, name = self.builtins[module, name]
        self._say_if(what, name, self._mine(frame.f_code))

    def _say_if(self, what: str, name: str, by_student: bool) -> None:
        if what in (USED, _SEALED) or (what and by_student):
            self._say(what, name)

    def _mine(self, code: CodeType) -> bool:
        if id(code) not in self.mine:
            self.mine[id(code)] = code, not in_a_library(code.co_filename)
        return self.mine[id(code)][1]

    def _handed_over(self, frame: FrameType) -> None:
        """A function that `vmap` or `switch` is given is called, too."""
        given = list(frame.f_locals.values())
        for many in given:  # which grows
            if type(many) in (tuple, list) and len(given) + len(many) < 1000:
                given += many
        for value in map(_underneath, given):
            if type(value) is FunctionType and not self._mine(value.__code__):
                code, module = value.__code__, str(value.__globals__.get("__name__"))
                what, name = self._verdict(module, code.co_qualname)
                if what and code.co_name not in ("<lambda>", frame.f_code.co_name):
                    self._say(what, name)

    def _verdict(self, module: str, name: str) -> tuple[str, str]:
        """What to note of a library's function, if anything, and as what."""
        full = f"{module}.{name}"
        if full in (_TRACED, _EVALUATED):
            return "", full
        if module.startswith("jax._src.export"):
            return _SEALED, full
        if not name or module in _OURS or name.endswith(_UNCALLED):
            return "", ""
        if module.partition(".")[0] == PACKAGE:
            kept = _KEPT.intersection(module.split("."))
            asked = self.forbidden.search(_snake(full))
            if asked:
                return USED, full
            return (_BY_A_LINE, full) if self.package and not kept else ("", "")
        last = _snake(name.replace(".<locals>", ""))
        made = last.endswith(_MADE_SO)
        if self.forbidden.search(last) and not made:
            return USED, full
        plain = last.rpartition(".")[2].strip("_")
        free = _FREE.match(module) and not _NEVER.match(full)
        step = plain in ELEMENTARY and _FRAMEWORKS.match(module)
        if free or step or self.needs.search(last):
            return "", ""
        return ("", "") if made and module.startswith(_LAYERS) else (CALLED, full)

    def _say(self, what: str, name: str) -> None:
        what = CALLED if what in (CALLED, _SEALED) else USED
        if (what, name) not in self.noted:
            self.noted.add((what, name))
            self.note(what, name)


_UNCALLED = ("__getattr__", "__del__", "__post_init__")  # by no call of a student's
_MADE_SO = ("__init__", "__new__", "reset_parameters", "extra_repr")
_OURS = {f"{PACKAGE}.homework.{m}" for m in ("called", "running", "toy_model")}
_KEPT = {"arrays", "checks", "config", "optional", "plot", "bridge"}  # no answer
# Where an elementary name is an elementary step.
_FRAMEWORKS = re.compile(
    r"^(jax|flax|scipy"
    r"|torch(?!\.(distributions|_refs|_decomp|_prims|onnx|ao|_inductor|masked)\b))\b"
)
_LAYERS = ("torch.nn", "flax.nnx")


def _names(frame: FrameType) -> tuple[str, str]:
    """Module and name of a function that begins, "" if it is the student's, or none."""
    code = frame.f_code
    if not in_a_library(code.co_filename) or not code.co_flags & inspect.CO_OPTIMIZED:
        return "", ""  # or the body of a class, or of a module
    return str(frame.f_globals.get("__name__")), code.co_qualname


def _underneath(given: Any) -> Any:
    """The function of a partial or of a method, and of an object that can be called."""
    while isinstance(given, functools.partial) or type(given) is MethodType:
        given = given.func if isinstance(given, functools.partial) else given.__func__
    called = vars(type(given)).get("__call__")
    return called.__func__ if type(called) is staticmethod else given


def _layer(layer: Any) -> tuple[str, str]:
    """Module and name of a layer's forward pass, wherever it is inherited from."""
    code = getattr(getattr(type(layer), "forward", None), "__code__", None)
    if code is None or not in_a_library(code.co_filename):
        return "", ""
    owner = next(c for c in type(layer).__mro__ if "forward" in vars(c))
    return owner.__module__, code.co_qualname


def _opener(
    wing: str, kernel: Callable[[str], None], script: Callable[[str], None]
) -> Callable[[], contextlib.AbstractContextManager]:
    """What makes a context in which the framework hides no call."""
    if wing == "nnx":
        return importlib.import_module("jax").disable_jit
    torch = importlib.import_module("torch")
    dispatch = importlib.import_module("torch.utils._python_dispatch")
    scripts = (torch._C.ScriptFunction, torch._C.ScriptMethod)
    plain = {kind: kind.__call__ for kind in scripts}

    def noted(self, *args, **kwargs):
        script(
            str(self.inlined_graph if hasattr(self, "inlined_graph") else self.graph)
        )
        return plain[type(self)](self, *args, **kwargs)

    class Kernels(dispatch.TorchDispatchMode):
        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return False  # dynamo would be imported, which takes seconds

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kernel(func._schema.name.partition("::")[2])
            return func(*args, **(kwargs or {}))

    class Functions(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            kernel(getattr(func, "__name__", ""))
            return func(*args, **(kwargs or {}))

    @contextlib.contextmanager
    def opened() -> Iterator[None]:
        with Kernels(), Functions():
            for kind in scripts:
                kind.__call__ = noted
            try:
                yield
            finally:
                for kind in scripts:
                    kind.__call__ = plain[kind]

    return opened
