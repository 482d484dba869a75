# ruff: noqa: E501 - the code of strangers stays on the lines they wrote
"""A trial class: what each hands in, and the marks that it must get.

Honest work in many forms, cheats, and attacks on the marker, in two questions, and for
some in a third, open-ended one. `python tests/homework/trial.py` marks all of it and
prints the table of the appendix; the tests mark a part.
"""

import codecs
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass

ATTEND = """\
import math
import torch

def attend(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is None:
        return scores.softmax(dim=-1) @ v
    weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
    return torch.where(mask, weights, 0.0) @ v
"""
HEAD = """\
def head(x, w_q, w_k, w_v):
    return attend(x @ w_q, x @ w_k, x @ w_v)
"""
JAX = """\
import jax, jax.numpy as jnp

def attend(q, k, v, mask=None):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is None:
        return jax.nn.softmax(scores) @ v
    return jnp.where(mask, jax.nn.softmax(jnp.where(mask, scores, -jnp.inf)), 0) @ v
"""
WRONG = ATTEND.replace(" / math.sqrt(q.shape[-1])", "")  # the slip of slips
BLANK = "import torch\n\ndef attend(q, k, v, mask=None):\n    ...\n"
PARTS = [
    {"exercise": "attention", "answer": "attend", "points": 6},
    {"exercise": "self_attention", "answer": "head", "points": 4},
]
OPEN = {"exercise": "new_households", "answer": "predict", "points": 8}
SOLUTIONS = {"torch": {"attend": ATTEND, "head": ATTEND + HEAD}}
FULL, ONE_SLIP = [6, 4], [1, 4]  # of large scores the softmax is all or nothing


def paper(seed=20, *, challenge=False):
    """The assignment's file."""
    parts = [*PARTS, OPEN] if challenge else PARTS
    return {"title": "Trial", "parts": parts, "seed": seed, "solutions": SOLUTIONS}


def notebook(*cells, version=4):
    """A notebook of these cells."""
    if version == 3:
        made = [
            {
                "cell_type": "code",
                "language": "python",
                "input": c,
                "outputs": [],
                "collapsed": False,
                "metadata": {},
            }
            for c in cells
        ]
        return json.dumps(
            {
                "metadata": {"name": ""},
                "nbformat": 3,
                "nbformat_minor": 0,
                "worksheets": [{"cells": made, "metadata": {}}],
            }
        )
    made = [
        {
            "cell_type": "code",
            "source": c.splitlines(keepends=True),
            "outputs": [],
            "metadata": {},
            "execution_count": None,
            "id": f"c{i}",
        }
        for i, c in enumerate(cells)
    ]
    text = {"cell_type": "markdown", "source": "# Mine", "metadata": {}, "id": "text"}
    return json.dumps(
        {"cells": [text, *made], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    )


@dataclass(frozen=True)
class Case:
    """One student.

    Args:
        files: By path in the folder of submissions what is in it, or what makes it.
        points: Expected of each question; None where there must be none.
        words: Of what the row says.
        bare: The points of the bare process, where they may be others: what it admits.
        container: The same of a container.
        kind: honest, cheat or attack.
        row: The student's name in the marks, if it isn't the case's.
        challenge: Whether the open-ended question is asked.
        quick: Whether the tests mark it.
    """

    files: dict[str, str | bytes | Callable[[], str]]
    points: list
    words: str = ""
    bare: list | None = None
    container: list | None = None
    kind: str = "honest"
    row: str = ""
    challenge: bool = False
    quick: bool = False


CLASS: dict[str, Case] = {}


def honest(name, *cells, points=FULL, words="", **more):
    CLASS[name] = Case({f"{name}.ipynb": notebook(*cells)}, points, words, **more)


def cheat(name, code, *, points=(0, 4), words="", kind="cheat", **more):
    """Code that defines `attend` as it should not; the rest is right."""
    rest = HEAD.replace("attend", "attend_well") + ATTEND.replace(
        "attend", "attend_well"
    )
    files = {f"{name}.ipynb": notebook(rest, code)}
    CLASS[name] = Case(files, list(points), words, kind=kind, **more)


def attack(name, code, *, points=(0, 4), **more):
    cheat(name, code, points=points, kind="attack", **more)


DEF = "def attend(q, k, v, mask=None):\n"

# --- honest work in many forms
honest("plain", ATTEND, HEAD, quick=True)
honest("in_jax", JAX, HEAD, quick=True)
CLASS["script"] = Case({"script.py": ATTEND + HEAD}, FULL)
CLASS["folder"] = Case({"folder/deep/er/mine.ipynb": notebook(ATTEND, HEAD)}, FULL)
CLASS["upper_case"] = Case({"upper_case.IPYNB": notebook(ATTEND, HEAD)}, FULL)
CLASS["bom"] = Case(
    {"bom.ipynb": codecs.BOM_UTF8 + notebook(ATTEND, HEAD).encode()}, FULL
)
CLASS["utf16"] = Case({"utf16.ipynb": notebook(ATTEND, HEAD).encode("utf-16")}, FULL)
CLASS["utf16_script"] = Case(
    {"utf16_script.py": (ATTEND + HEAD).encode("utf-16")}, FULL
)
CLASS["latin_script"] = Case(
    {
        "latin_script.py": b"# -*- coding: latin-1 -*-\n# \xe9\n"
        + (ATTEND + HEAD).encode()
    },
    FULL,
)
CLASS["version_3"] = Case(
    {"version_3.ipynb": notebook(ATTEND, HEAD, version=3)}, FULL, quick=True
)
CLASS["beside"] = Case(
    {
        "beside/mine.ipynb": notebook(ATTEND, HEAD),
        "beside/._mine.ipynb": b"\0\5\x16\7",
        "beside/.ipynb_checkpoints/mine-checkpoint.ipynb": notebook(BLANK),
        "beside/notes.txt": "x",
    },
    FULL,
)
CLASS["two_versions"] = Case(
    {
        "two_versions/attention.ipynb": notebook(BLANK),
        "two_versions/attention_final.ipynb": notebook(ATTEND, HEAD),
    },
    FULL,
    "2 versions: the latest",
)
CLASS["latin_name"] = Case({b"Jos\xe9.ipynb": notebook(ATTEND, HEAD)}, FULL, row="José")
CLASS["a_formula"] = Case(
    {"=HYPERLINK(1).ipynb": notebook(ATTEND, HEAD)}, FULL, row="=HYPERLINK"
)
honest(
    "magics",
    "%matplotlib inline\n%pip install torch\n!ls\n%load_ext autoreload",
    "%%time\n" + ATTEND,
    "torch.softmax?\n?attend\nfiles = !ls\n%time done = 1\ndisplay(done)",
    "from IPython.display import display, Markdown\ndisplay(Markdown('x'))\n" + HEAD,
    quick=True,
)
honest(
    "percent_lines",
    ATTEND,
    "def name(a, b):\n    return (\n        'the remainder of %d by %d is %d'\n"
    "        % (a, b, a % b)\n    )\n\nvalue = (\n    7\n    % (\n        4\n    )\n)\n"
    + HEAD,
    quick=True,
)
honest(
    "future",
    "from __future__ import annotations",
    ATTEND.replace("mask=None", "mask: NoSuchType | None = None"),
    HEAD,
)
honest(
    "failing_check",
    "from course_lib.homework import check\n" + WRONG.replace("attend", "first_try"),
    "assert False, 'not yet'\n" + ATTEND,
    "report = check(attend, 'attention', wing='torch')\nassert report.passed\n" + HEAD,
    "1 / 0",
    quick=True,
)
honest(
    "slow_cells",
    "import time\ntime.sleep(3000)",
    ATTEND,
    "while True: pass",
    "size = len('abc')",
    HEAD.replace("x @ w_v", "(x @ w_v) * size / 3"),
)
honest("await_cell", "import asyncio\nawait asyncio.sleep(0)", ATTEND, HEAD)
honest("asks_for_input", "name = input('Your name?')", ATTEND, HEAD)
honest("opens_a_missing_file", "data = open('data.csv').read()", ATTEND, HEAD)
honest("exits_below", ATTEND, "import sys\nsys.exit(0)", HEAD)
honest("prints_much", ATTEND, "print('x' * 10**8)", HEAD)
honest(
    "compares_with_the_package",
    "import course_lib.torch as ct\n" + ATTEND,
    "ones = torch.ones(2, 3)\nprint(ct.attention(ones, ones, ones)[0] - attend(ones, ones, ones))",
    HEAD,
    quick=True,
)
honest(
    "helpers_and_a_class",
    "import functools, dataclasses\n" + ATTEND.replace("attend", "plain"),
    "@dataclasses.dataclass\nclass Options:\n    scale: float = 1.0\n\nOPTIONS = Options()",
    "@functools.wraps(plain)\ndef attend(*args, **kwargs):\n    return plain(*args, **kwargs) * OPTIONS.scale",
    HEAD,
)
honest(
    "writes_a_module",
    'WING = "torch"',
    "%%writefile mine.py\n" + ATTEND,
    "from mine import attend",
    HEAD,
)
honest("jit", JAX.replace("def attend", "@jax.jit\ndef attend"), HEAD)
honest(
    "one_slip",
    WRONG,
    HEAD,
    points=ONE_SLIP,
    words="the scores are not divided by sqrt(d)",
    quick=True,
)
honest(
    "follow_through",
    ATTEND.replace("softmax(dim=-1)", "softmax(dim=-2)"),
    HEAD,
    points=[0, 4],
    words="your attend was replaced by a right one",
    quick=True,
)
honest(
    "blank",
    BLANK,
    "def head(x, w_q, w_k, w_v):\n    ...",
    points=[0, 0],
    words="it returned NoneType",
    quick=True,
)
honest(
    "crashes",
    ATTEND,
    "def head(x, w_q, w_k, w_v):\n    return missing_name",
    points=[6, 0],
    words="NameError",
)
honest(
    "endless",
    ATTEND,
    "def head(x, w_q, w_k, w_v):\n    while True: pass",
    points=[6, 0],
    words="it ran for more than",
)
honest(
    "hungry",
    ATTEND,
    "def head(x, w_q, w_k, w_v):\n    return torch.ones(2**31)",
    points=[6, 0],
    words="ran out of memory",
)
honest(
    "syntax",
    "import torch\n" + ATTEND.replace("def attend(q", "def attend(q:"),
    HEAD,
    points=[0, 4],
    words='in cell 1 ("import torch") it raised SyntaxError',
)
honest(
    "above_a_definition",
    ATTEND,
    "scale = undefined_name\n" + HEAD.replace("x @ w_v)", "x @ w_v) * scale"),
    points=[6, 0],
    words='in cell 2 ("scale = undefined_name") it raised NameError',
)
CLASS["empty"] = Case({"empty.ipynb": notebook()}, [None, None], "can't be graded")
CLASS["broken"] = Case(
    {"broken.ipynb": "{"}, [None, None], "can't be graded", quick=True
)
CLASS["picture"] = Case(
    {"picture.png": b"\x89PNG"}, [None, None], "must be an .ipynb or .py"
)
CLASS["nothing"] = Case({"nothing/.keep": ""}, [None, None], "must be an .ipynb or .py")
honest(
    "predicts",
    ATTEND,
    HEAD,
    """
def predict(x, y, x_new):
    mean, scale = x.mean(dim=0), x.std(dim=0)
    x, x_new = (x - mean) / scale, (x_new - mean) / scale
    itself = torch.eye(len(x), dtype=torch.bool)
    log_h = torch.zeros(x.shape[1], requires_grad=True)
    optimizer = torch.optim.Adam([log_h], lr=0.1)
    def scores(queries):
        u = (queries[:, None] - x[None]) / log_h.exp()
        return -(u**2).sum(dim=-1) / 2
    for _ in range(150):
        weights = scores(x).masked_fill(itself, -torch.inf).softmax(dim=-1)
        loss = ((weights @ y - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return (scores(x_new).softmax(dim=-1) @ y).detach()
""",
    points=[6, 4, 8],
    challenge=True,
)

# --- cheats: someone else's work in the place of one's own
cheat(
    "package",
    "from course_lib.torch import attention as mine\n"
    + DEF
    + "    return mine(q, k, v, mask=mask)[0]",
    words="It calls course_lib.torch.attention",
    quick=True,
)
cheat(
    "framework",
    "from torch.nn.functional import scaled_dot_product_attention as mine\n"
    + DEF
    + "    return torch.nan_to_num(mine(q, k, v, attn_mask=mask))",
    words="It calls scaled_dot_product_attention",
    quick=True,
)
cheat(
    "in_a_thread",
    "import threading\nimport course_lib.torch as ct\n"
    + DEF
    + "    got = []\n    t = threading.Thread(target=lambda: got.append(ct.attention(q, k, v, mask=mask)[0]))\n"
    "    t.start(); t.join()\n    return got[0]",
    words="It calls course_lib.torch.attention",
    quick=True,
)
SUB = """
import subprocess, sys, io
CODE = '''
import io, sys, torch
q, k, v, mask = torch.load(io.BytesIO(sys.stdin.buffer.read()))
%s
made = io.BytesIO()
torch.save(out, made)
sys.stdout.buffer.write(made.getvalue())
'''
def attend(q, k, v, mask=None):
    given = io.BytesIO()
    torch.save((q, k, v, mask), given)
    made = subprocess.run([sys.executable, *OPTIONS, "-c", CODE], input=given.getvalue(), capture_output=True%s)
    return torch.load(io.BytesIO(made.stdout))
"""
PIECE = "import course_lib.torch as ct\nout = ct.attention(q, k, v, mask=mask)[0]"
THEIRS = "out = torch.nan_to_num(torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask))"
cheat("in_a_subprocess", "OPTIONS = []" + SUB % (PIECE, ""), quick=True)
cheat(
    "in_a_subprocess_without_the_path",
    "OPTIONS = ['-I', '-S']"
    + SUB
    % (
        THEIRS,
        ", env={'PYTHONPATH': [p for p in sys.path if 'site-packages' in p][0]}",
    ),
)
cheat(
    "in_an_isolated_subprocess",
    "OPTIONS = ['-I']" + SUB % (THEIRS, ""),
    bare=[6, 4],
    container=[6, 4],  # nothing is laid over the image's files
    quick=True,
)
cheat(
    "jit_around",
    """
import jax, jax.numpy as jnp
WING = "nnx"
import course_lib.nnx as cn
well = jax.jit(lambda q, k, v, mask: cn.attention(q, k, v, mask=mask)[0])
def attend(q, k, v, mask=None):
    return well(q, k, v, mask)
def attend_well(q, k, v):
    return jax.nn.softmax(q @ k.mT / q.shape[-1] ** 0.5) @ v
""",
    words="It calls course_lib.nnx.attention",
)
cheat(
    "traced",
    "import torch.nn.functional as F\nones = torch.ones(2, 3)\n"
    "well = torch.jit.trace(lambda q, k, v: F.scaled_dot_product_attention(q, k, v), (ones, ones, ones))\n"
    + DEF
    + "    return well(q, k, v) if mask is None else v.sum()",
    words="scaled_dot_product_attention",
)
cheat(
    "scripted",
    "unit = torch.jit.CompilationUnit('''def f(q, k, v):\n    return torch.scaled_dot_product_attention(q, k, v)\n''')\n"
    + DEF
    + "    return unit.f(q, k, v) if mask is None else v.sum()",
)
cheat(
    "by_its_operator",
    DEF
    + "    return torch.nan_to_num(torch.ops.aten.scaled_dot_product_attention(q, k, v, mask))",
    words="It calls scaled_dot_product_attention",
)
cheat(
    "by_another_name_of_the_framework",
    """
from torch.nn.attention.flex_attention import flex_attention
"""
    + DEF
    + """    heads = [x.reshape(-1, 1, *x.shape[-2:]) for x in (q, k, v)]
    some = None
    if mask is not None:
        mask = mask.expand(*q.shape[:-1], k.shape[-2]).flatten(0, -3)
        some = lambda s, b, h, i, j: torch.where(mask[b, i, j], s, -float("inf"))
    return torch.nan_to_num(flex_attention(*heads, score_mod=some)).reshape(*q.shape[:-1], v.shape[-1])
""",
    words="It calls flex_attention",
)
cheat(
    "by_a_hidden_operator",
    DEF + "    width = max(q.shape[-1], v.shape[-1])\n"
    "    wide = [torch.nn.functional.pad(x, (0, width - x.shape[-1])) for x in (q, k, v)]\n"
    "    heads = [x.reshape(-1, 1, *x.shape[-2:]) for x in wide]\n"
    "    out = torch._scaled_dot_product_flash_attention_for_cpu(*heads, scale=q.shape[-1] ** -0.5)[0]\n"
    "    return out.reshape(*q.shape[:-1], width)[..., : v.shape[-1]]",
)
cheat(
    "a_layer",
    "from torch import nn\n"
    + DEF
    + "    return nn.MultiheadAttention(q.shape[-1], 1)(q, k, v)[0]",
    words="It calls MultiheadAttention",
)
cheat(
    "reloads_the_framework",
    "import importlib, sys\nfor name in [n for n in sys.modules if n.startswith('torch.nn.functional')]: del sys.modules[name]\n"
    "F = importlib.import_module('torch.nn.functional')\n"
    + DEF
    + "    return torch.nan_to_num(F.scaled_dot_product_attention(q, k, v, attn_mask=mask))",
)
cheat(
    "reloads_what_is_written_in_python",
    """
import importlib, sys
import jax, jax.numpy as jnp
WING = "nnx"
name = "jax._src.nn.functions"
well = importlib.reload(sys.modules[name]).dot_product_attention
def attend(q, k, v, mask=None):
    width = max(q.shape[-1], v.shape[-1])
    wide = [jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, width - x.shape[-1])]) for x in (q, k, v)]
    heads = [x.reshape(-1, *x.shape[-2:])[:, :, None] for x in wide]
    mask = None if mask is None else mask.reshape(-1, 1, *mask.shape[-2:])
    out = well(*heads, mask=mask, scale=q.shape[-1] ** -0.5)
    return out.reshape(*q.shape[:-1], width)[..., : v.shape[-1]]
def attend_well(q, k, v):
    return jax.nn.softmax(q @ k.mT / q.shape[-1] ** 0.5) @ v
""",
    bare=[5, 4],
)
cheat(
    "the_oracle",
    "import course_lib\n" + DEF + "    from course_lib.oracle import attention\n"
    "    return torch.tensor(attention(q.numpy(), k.numpy(), v.numpy(), mask)[0])",
    words="No module named 'course_lib.oracle'",
    quick=True,
)
cheat(
    "reads_the_source",
    "import course_lib.torch.attention as a\nimport inspect\n"
    "source = inspect.getsource(sys.modules['course_lib.torch.attention'])\n"
    "own = {}\nexec(source, own)\n"
    + DEF
    + "    return own['attention'](q, k, v, mask=mask)[0]",
)
REPOSITORY = "import sys, pathlib\nROOT = pathlib.Path(sys.prefix).parent\n"
AGAIN = """
sys.path.insert(0, str(ROOT))
for name in [n for n in sys.modules if n.startswith("course_lib")]: del sys.modules[name]
"""
cheat(
    "finds_the_package_on_the_disk",
    REPOSITORY
    + AGAIN
    + "from course_lib.torch.attention import attention as well\n"
    + DEF
    + "    return well(q, k, v, mask=mask)[0]",
    bare=[6, 4],
)
cheat(
    "deletes_the_note",
    "from course_lib.torch import attention as mine\n"
    + DEF
    + "    try:\n        return mine(q, k, v, mask=mask)[0]\n    finally:\n"
    "        import sandbox.forbidden as f\n        f.USED.clear()",
)
cheat(
    "makes_the_pieces_whole",
    "import sandbox.forbidden as f, gc, types\nf.shut = lambda *a: None\n"
    "for x in gc.get_objects():\n    if isinstance(x, types.FunctionType) and x.__name__ == 'scaled_dot_product_attention': mine = x\n"
    + DEF
    + "    return torch.nan_to_num(mine(q, k, v, attn_mask=mask))",
)
cheat(
    "ctypes_clears_the_profiler",
    "import ctypes, course_lib.torch as ct\n"
    + DEF
    + "    ctypes.pythonapi.PyEval_SetProfile(None, None)\n    return ct.attention(q, k, v, mask=mask)[0]",
    words="It calls course_lib.torch.attention",
)
cheat(
    "a_classmates_notebook",
    """
import json, pathlib
def classmates():
    for root in ("..", "/tmp", "/home"):
        for path in pathlib.Path(root).glob("**/plain.ipynb"):
            yield path
for path in classmates():
    for cell in json.loads(path.read_text())["cells"]:
        if cell["cell_type"] == "code": exec("".join(cell["source"]), globals())
""",
    words="defines no attend",
    bare=[6, 4],
)
cheat("the_page_by_heart", DEF + "    return torch.tensor([0.25])", words="In the case")
cheat(
    "always_equal",
    "import numpy as np\nnp.allclose = lambda *a, **k: True\nnp.array_equal = lambda *a, **k: True\n"
    "class Equal(torch.Tensor):\n    def __eq__(self, other): return True\n"
    + DEF
    + "    return Equal(v[..., :1, :] + 0 * q[..., :1])",
)
cheat("zero_outputs", DEF + "    return ()", words="it returned", quick=True)
cheat(
    "a_tensor_without_numbers",
    DEF + "    return torch.zeros(0)",
    words="returned shape (0,)",
)
cheat("nan_for_all", DEF + "    return q @ k.mT @ v * float('nan')", words="NaN")
cheat(
    "changes_the_oracle_in_place",
    "import course_lib.homework as h\nh.check = lambda *a: True\n"
    + DEF
    + "    return v.mean(-2, keepdim=True).expand(*q.shape[:-1], v.shape[-1])",
)

# --- attacks on the marker and on others
FORGE = """
import sys, os, gc, json, struct
def attend(q, k, v, mask=None):
    def frame(h, data=b""):
        text = json.dumps(h).encode()
        return struct.pack("<II", len(text), len(data)) + text + data
    %s
    os._exit(0)
"""
attack(
    "forges_empty_outputs",
    FORGE
    % """for fd in range(3, 30):
        for case in range(6):
            try: os.write(fd, frame({"part": 0, "case": case, "trouble": "", "used": [], "arrays": []}))
            except OSError: pass""",
    quick=True,
)
CLASS["forges_all"] = Case(
    {
        "forges_all.ipynb": notebook(
            "import torch\n"
            + FORGE.replace("def attend(q, k, v, mask=None):", "if True:").replace(
                "    os._exit(0)", "os._exit(0)"
            )
            % """for fd in range(3, 30):
        for part in range(3):
            for case in range(6):
                try: os.write(fd, frame({"part": part, "case": case, "trouble": "", "used": [], "arrays": []}))
                except OSError: pass"""
        )
    },
    [0, 0],
    kind="attack",
    quick=True,
)
attack(
    "frames_of_the_caller",
    """
import sys
def attend(q, k, v, mask=None):
    try: raise ValueError
    except ValueError as error: frame = error.__traceback__.tb_frame
    seen = []
    while frame:
        seen.append(frame)
        for name, value in frame.f_locals.items():
            if name in ("task", "job", "expected", "marking", "oracle"): seen.append(value)
        frame = frame.f_back
    for x in seen:
        if isinstance(x, dict): x["outputs"] = x["parts"] = []
    return ()
""",
)
attack(
    "replaces_the_code_of_outputs",
    """
import gc, types
for f in gc.get_objects():
    if isinstance(f, types.FunctionType) and f.__name__ in ("_outputs", "_same", "_alike"):
        f.__code__ = (lambda *a, **k: ()).__code__
def attend(q, k, v, mask=None): return q
""",
    points=(0, 0),
)
CLASS["seed_in_the_parent"] = Case(
    {
        "seed_in_the_parent.ipynb": notebook(
            ATTEND,
            HEAD,
            """
import os, pathlib, re, glob
def look():
    for path in glob.glob("/proc/[0-9]*/cmdline") + glob.glob("/proc/[0-9]*/environ"):
        try: text = open(path).read()
        except OSError: continue
        for found in re.findall("seed[^0-9]{1,4}([0-9]+)", text): return int(found)
SEED = look()
def predict(x, y, x_new):
    if SEED is None: return y.mean().expand(len(x_new), 1)
    from course_lib.homework import CHALLENGES
    import numpy as np
    draws = CHALLENGES["new_households"].draw(np.random.default_rng(SEED))
    return torch.tensor(list(draws.values())[0].truth)
""",
        )
    },
    [6, 4, 0],
    kind="cheat",
    challenge=True,
)
CLASS["above_the_bound"] = Case(
    {
        "above_the_bound.ipynb": notebook(
            ATTEND,
            HEAD,
            REPOSITORY
            + """
import json
def truth(x):
    for path in pathlib.Path("/tmp").glob("**/trial-assignment*.json"):
        seed = json.loads(path.read_text())["seed"]
        AGAIN
        from course_lib.homework import CHALLENGES
        import numpy as np
        for draw in CHALLENGES["new_households"].draw(np.random.default_rng(seed)).values():
            if np.allclose(draw.arguments[0], x, rtol=1e-4):
                return torch.tensor(draw.truth, dtype=torch.float32)
def predict(x, y, x_new):
    return truth(x)
""".replace("AGAIN", AGAIN.replace("\n", "\n        ")),
        )
    },
    [6, 4, 0],
    kind="cheat",
    challenge=True,
    bare=[6, 4, None],
)
attack(
    "kills_the_parent",
    "import os, signal\n"
    + DEF
    + "    os.kill(os.getppid(), signal.SIGKILL)\n    return q",
    bare=[],
    words="",
)
attack(
    "kills_everything",
    "import os, signal\nos.kill(-1, signal.SIGKILL)\n" + DEF + "    return q",
    bare=[],
    words="",
)
attack(
    "numbers_to_every_descriptor",
    "import os\n"
    + DEF
    + "    for fd in range(3, 30):\n        try: os.write(fd, b'12345')\n        except OSError: pass\n    return q",
    points=(0, 4),
)
attack(
    "brackets_without_end",
    "import os, struct\n"
    + DEF
    + "    text = b'[' * 100000\n    for fd in range(3, 30):\n        try: os.write(fd, struct.pack('<II', len(text), 0) + text)\n        except OSError: pass\n    return q",
    points=(0, 4),
    quick=True,
)
attack(
    "brackets_in_the_source",
    "x = " + "[" * 5000 + "]" * 5000 + "\n" + DEF + "    return q",
)
CLASS["brackets_for_a_notebook"] = Case(
    {"brackets_for_a_notebook.ipynb": "[" * 10**6},
    [None, None],
    "can't be graded",
    kind="attack",
)
CLASS["a_million_cells"] = Case(
    {"a_million_cells.ipynb": notebook(*["%time 1\n" * 400] * 100)},
    [None, None],
    "can't be graded",
    kind="attack",
)
attack(
    "half_a_character",
    DEF + "    raise ValueError('\\ud800 \\x00 \\x1b[31m')",
    words="ValueError",
    quick=True,
)
CLASS["half_a_character_in_the_source"] = Case(
    {
        "half_a_character_in_the_source.ipynb": notebook(
            "x = '\ud800'\nimport torch", BLANK, "import os\nos._exit(3)", ATTEND, HEAD
        )
    },
    FULL,
    kind="attack",
)
attack(
    "signal_40",
    "import os\n" + DEF + "    os.kill(os.getpid(), 40)",
    words="killed by signal 40",
    quick=True,
)
attack(
    "exits_hard",
    "import os\n" + DEF + "    os._exit(0)",
    words="ended the process (exit status 0)",
    quick=True,
)
CLASS["exits_at_the_top"] = Case(
    {"exits_at_the_top.ipynb": notebook(ATTEND, "import os\nos._exit(1)", HEAD)},
    FULL,
    kind="attack",
    quick=True,
)
CLASS["forges_a_challenge"] = Case(
    {
        "forges_a_challenge.ipynb": notebook(
            ATTEND,
            HEAD,
            "import os, json, struct\ndef predict(x, y, x_new):\n    text = json.dumps({'part': 2, 'case': 0, 'trouble': '', 'used': [], 'arrays': [{'kind': '<f8', 'shape': [10**12, 10**12]}]}).encode()\n    for fd in range(3, 30):\n        try: os.write(fd, struct.pack('<II', len(text), 0) + text)\n        except OSError: pass\n    return y * float('inf')",
        )
    },
    [6, 4, 0],
    kind="attack",
    challenge=True,
)
attack(
    "edits_a_classmate",
    """
import pathlib
for root in ("..", "/tmp", "/home"):
    for path in pathlib.Path(root).glob("**/victim.ipynb"):
        try: path.write_text("{}")
        except OSError: pass
""",
    points=(0, 4),
)
CLASS["victim"] = Case(
    {"victim.ipynb": notebook(ATTEND, HEAD)}, FULL, bare=[None, None]
)
attack(
    "a_daemon_that_waits",
    """
import subprocess, sys
subprocess.Popen([sys.executable, "-c", '''
import time, pathlib
for _ in range(300):
    time.sleep(2)
    for root in ("/tmp", "/home"):
        for path in pathlib.Path(root).glob("**/trial-marks*/marks.csv"):
            path.write_text("hacked")
'''], start_new_session=True)
""",
    bare=[],
)
attack(
    "forks_without_end",
    "import os\n" + DEF + "    while True:\n        os.fork()",
    bare=[],
)
attack(
    "fills_the_disk",
    "def fill():\n    with open('/tmp/full', 'wb') as f:\n        while True: f.write(b'x' * 2**20)\n"
    + DEF
    + "    fill()\n    return q",
    words="File",
)
attack(
    "fills_the_memory_with_children",
    "import os, time\n"
    + DEF
    + "    for _ in range(12):\n        if os.fork() == 0:\n            x = bytearray(9 * 10**8); time.sleep(300)\n    time.sleep(15)\n    return q",
    bare=[],
)
attack(
    "writes_without_end",
    "import os\n"
    + DEF
    + "    while True:\n        for fd in range(3, 30):\n            try: os.write(fd, b'x' * 2**20)\n            except OSError: pass",
    words="wrote more",
)
attack(
    "stops_itself",
    "import os, signal\n" + DEF + "    os.kill(os.getpid(), signal.SIGSTOP)",
    words="did not end within",
)
attack(
    "ignores_the_alarm",
    "import signal\n"
    + DEF
    + "    signal.setitimer(signal.ITIMER_REAL, 0)\n    while True: pass",
    words="did not end within",
)
attack(
    "uses_the_network",
    "import urllib.request, socket\n"
    + DEF
    + "    socket.create_connection(('127.0.0.1', 80), 3)\n    return q",
    words="Error",
)
attack(
    "pickles_a_bomb",
    "class Bomb:\n    def __reduce__(self): return (exec, ('raise SystemExit',))\n"
    + DEF
    + "    return Bomb()",
    words="returned Bomb",
)
attack(
    "an_object_for_a_number",
    "import numpy as np\n"
    + DEF
    + "    return torch.zeros(2, 3).to(torch.complex64).conj()",
    words="In the case",
)
attack(
    "a_tensor_that_lies",
    "class Liar(torch.Tensor):\n    @property\n    def shape(self): return torch.Size((3, 11))\n    def detach(self): return self\n    def cpu(self): return self\n    def __array__(self, *a, **k): raise RuntimeError('no')\n"
    + DEF
    + "    return Liar(v)",
)
attack(
    "an_enormous_error", DEF + "    raise ValueError('x' * 10**8)", words="ValueError"
)
attack(
    "an_error_that_breaks",
    "class E(Exception):\n    def __str__(self): raise RuntimeError\n"
    + DEF
    + "    raise E()",
)
attack(
    "segfault",
    "import ctypes\n" + DEF + "    ctypes.string_at(0)",
    words="killed by SIGSEGV",
)
attack("a_link", DEF + "    return q")
CLASS["formula_in_the_message"] = Case(
    {
        "formula_in_the_message.ipynb": notebook(
            "import torch",
            DEF + "    raise ValueError('=HYPERLINK(\"x\")\\n=1+1')",
            HEAD,
        )
    },
    [0, 4],
    "ValueError",
    kind="attack",
)
CLASS["a_name_of_dots"] = Case(
    {"%2e%2e%2fetc.ipynb": notebook(ATTEND, HEAD)},
    FULL,
    kind="attack",
    row="%2e%2e%2fetc",
)
CLASS["alias_of_markup"] = Case(
    {"alias_of_markup.ipynb": notebook('ALIAS = "bound: |<b>=1+1"', ATTEND, HEAD)},
    FULL,
    kind="attack",
)
attack(
    "raises_the_limits",
    "import resource\nresource.setrlimit(resource.RLIMIT_DATA, (-1, -1))\nresource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))\n"
    + DEF
    + "    return q",
)
attack(
    "replaces_the_runner",
    "import sys, types\nimport course_lib.homework.running as r\nr.run = lambda answer, task, look: [r.Outcome(outputs=())] * 6\nr.Outcome.outputs = ()\n"
    + DEF
    + "    return q",
    points=(0, 0),
)
attack(
    "an_audit_hook",
    "import sys\nsys.addaudithook(lambda event, args: sys.exit(event) if event == 'exec' else None)\n"
    + DEF
    + "    return q",
    points=(0, 4),
)
attack(
    "breaks_the_standard_library",
    "import json, os, struct, builtins\njson.dumps = lambda *a, **k: 'no'\nbuiltins.isinstance = lambda *a: True\n"
    + DEF
    + "    return q",
    points=(0, 0),
)
attack(
    "looks_at_the_class",
    """
import os, pathlib
seen = [str(p) for root in ("/work", "/root", "/home", "/tmp") for p in pathlib.Path(root).glob("**/*.ipynb")]
"""
    + DEF
    + '    raise ValueError(f\'{len(seen)} notebooks, {sorted(os.listdir("/"))}, {os.listdir(os.path.expanduser("~"))}\')',
    words="ValueError",
)


# What an attack found is tried, and nothing is changed: where it worked, the answer is
# right, and the marks say so.
IF_IT_WORKED = DEF + "    return attend_well(q, k, v, mask) if worked() else q\n"


def tries(name, code, **more):
    attack(name, f"{code}\n{IF_IT_WORKED}", **more)


tries(
    "the_kernels_settings",
    """
import os
def worked():
    for name in ("sysrq-trigger", "sys/kernel/core_pattern", "sys/kernel/modprobe"):
        try: os.close(os.open(f"/proc/{name}", os.O_WRONLY))
        except OSError: continue
        return True
""",
    bare=[6, 4],
    quick=True,
)
tries(
    "fills_the_devices",
    """
import os
def worked():
    try:
        for n in range(8):
            with open(f"/dev/full{n}", "wb") as file: file.write(bytes(5 * 10**7))
        return True
    except OSError: pass
    finally:
        for n in range(8):
            if os.path.exists(f"/dev/full{n}"): os.unlink(f"/dev/full{n}")
""",
    bare=[6, 4],
    quick=True,
)
tries(
    "memory_of_no_process",
    """
import ctypes, os
def worked():
    try: return os.memfd_create("x") >= 0
    except OSError: return ctypes.CDLL(None).shmget(0, 10**6, 0o1600) >= 0
""",
    quick=True,
)
tries(
    "an_administrator_inside",
    """
import ctypes
NEW_USER = 0x10000000
def worked(): return ctypes.CDLL(None).unshare(NEW_USER) == 0
""",
    quick=True,
)
tries(
    "keys_and_other_machines",
    """
import ctypes, platform, socket
def worked():
    number = {"x86_64": 250, "aarch64": 219}[platform.machine()]
    if ctypes.CDLL(None).syscall(number, 0, -3, 0) > 0: return True
    try: return bool(socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM))
    except OSError: pass
""",
)
tries(
    "writes_into_the_library",
    """
import os, numpy, course_lib, torch
def worked():
    for module in (numpy, torch, course_lib, os):
        try: os.close(os.open(module.__file__, os.O_WRONLY))
        except OSError: continue
        return True
""",
    bare=[6, 4],
)
tries(
    "sees_what_else_runs",
    """
import glob, os
def worked():
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try: line = open(path).read()
        except OSError: continue
        if line and "sandbox" not in line: return True
""",
    bare=[6, 4],
    quick=True,
)
tries(
    "reads_the_environment",
    """
import os
KNOWN = "PYTHONPATH HOME TMPDIR OMP_NUM_THREADS JAX_PLATFORMS USER CUDA_VISIBLE_DEVICES"
KNOWN += " COURSE_QUIET LANG MPLBACKEND PYTHONDONTWRITEBYTECODE PATH PWD LC_CTYPE"
KNOWN += " SYSTEMROOT LD_LIBRARY_PATH KMP_DUPLICATE_LIB_OK KMP_INIT_AT_FORK TORCHINDUCTOR_CACHE_DIR"
KNOWN += " TF_CPP_MIN_LOG_LEVEL TPU_ML_PLATFORM TPU_ML_PLATFORM_VERSION"
def worked():
    names = set(os.environ) | {x.partition("=")[0] for x in open("/proc/self/environ").read().split("\0")}
    return bool(names - {*KNOWN.split(), ""})
""",
)
attack(
    "closes_every_descriptor",
    "import os\nos.closerange(0, 100)\n" + DEF + "    return q",
    points=(0, 4),
)
attack(
    "breaks_the_stack",
    "import sys\nsys.setrecursionlimit(10**9)\ndef down(n): return down(n + 1) + down(n)\n"
    + DEF
    + "    return down(0)",
)
attack(
    "leaves_forty_programs",
    "import subprocess\nfor _ in range(40): subprocess.Popen(['sleep', '86398'])\n"
    + ATTEND,
    points=(6, 4),
)
attack(
    "a_start_file_for_children",
    """
import os, subprocess, sys
home = os.environ["HOME"]
for name in ("sitecustomize.py", "usercustomize.py"):
    with open(os.path.join(home, name), "w") as file: file.write("import os; os._exit(0)")
os.environ["PYTHONPATH"] = home
"""
    + DEF
    + "    return q",
)
honest("a_hundred_thousand_cells", *[f"x{n} = {n}" for n in range(10**5)], ATTEND, HEAD)
honest("two_thousand_cells", *[f"x{n} = {n}" for n in range(2000)], ATTEND, HEAD)
CLASS["a_hundred_megabytes_of_outputs"] = Case(
    {
        "a_hundred_megabytes_of_outputs.ipynb": lambda: notebook(ATTEND, HEAD).replace(
            '"outputs": []',
            '"outputs": [{"output_type": "stream", "name": "stdout", "text": "'
            + "x" * 50_000_000
            + '"}]',
        )
    },
    FULL,
)
CLASS["too_large"] = Case(
    {"too_large.ipynb": lambda: notebook(ATTEND, HEAD) + " " * 140_000_000},
    [None, None],
    "more than 128 MB",
    kind="attack",
)
CLASS["a_number_without_end"] = Case(
    {"a_number_without_end.ipynb": '{"nbformat": ' + "9" * 10**5 + "}"},
    [None, None],
    "can't be graded",
    kind="attack",
)
CLASS["cells_of_another_kind"] = Case(
    {
        "cells_of_another_kind.ipynb": '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{"cell_type": "code", "source": {"a": 1}}, 7, null]}'
    },
    [None, None],
    "can't be graded",
    kind="attack",
)
CLASS["a_name_that_writes_lines"] = Case(
    {"a_name\n- victim: 0\x1b[2J\rplain: 0.ipynb": notebook(ATTEND, HEAD)},
    FULL,
    kind="attack",
    row="a_name\\n- victim",
)
CLASS["a_name_too_long_for_a_file"] = Case(
    {"z" * 249 + ".ipynb": notebook(ATTEND, HEAD)}, FULL, kind="attack", row="z" * 249
)
CLASS["nobody_but_a_sharp_s"] = Case(
    {"nobody_voß.ipynb": notebook(ATTEND, HEAD)}, FULL, row="nobody_voß"
)
CLASS["nobody_but_two"] = Case(
    {"nobody_voss.ipynb": notebook(BLANK)}, [0, 0], row="nobody_voss"
)

# --- more honest forms, and more that is odd
honest(
    "other_cells",
    "%%bash\npip list\nfor x in a b; do echo $x; done",
    "%%html\n<b>x</b>",
    "%%capture out\n%%time\n" + ATTEND,
    "%%writefile mine.py\n" + HEAD,
    "!pip install -q einops > log.txt\n%pip install einops\n%cd ..\n%env A=1\n%load_ext tensorboard",
    "%run mine.py\n%timeit -n 1 attend",
    "exit()",
    "%reset -f",
    quick=True,
)
honest(
    "under_an_if",
    "import os\nos._exit(1)",
    "try:\n    import torch\nexcept ImportError:\n    torch = None\nif True:\n    "
    + ATTEND.replace("\n", "\n    "),
    "if __name__ == '__main__':\n    " + HEAD.replace("\n", "\n    "),
    quick=True,
)
honest("defined_twice", WRONG, HEAD, ATTEND, "def head(\n")
honest(
    "windows_lines",
    *[c.replace("\n", "\r\n") for c in ("%time 1\n!ls\n", ATTEND, HEAD)],
)
honest("twenty_thousand_lines", ATTEND + "%time 1\n" + "x = 1\n" * 20_000, HEAD)
honest("a_long_sum", ATTEND, "x = " + "1 + " * 50_000 + "1", HEAD)
honest(
    "warnings_are_errors",
    "import warnings, numpy\nwarnings.simplefilter('error')\nnumpy.seterr(all='raise')",
    ATTEND,
    HEAD,
)
honest(
    "warnings_are_errors_in_jax",
    "import warnings, numpy\nwarnings.simplefilter('error')\nnumpy.seterr(all='raise')",
    JAX,
    "jax.config.update('jax_enable_x64', True)\njax.config.update('jax_debug_nans', False)",
    HEAD,
)
honest(
    "other_defaults",
    ATTEND,
    "torch.set_default_dtype(torch.float64)\ntorch.set_grad_enabled(False)\ntorch.set_num_interop_threads(2)\n"
    "torch.set_default_device('cuda')\nimport locale\nlocale.setlocale(locale.LC_ALL, 'de_DE.UTF-8')",
    HEAD,
)
honest(
    "decorated",
    "import functools, torch\n"
    + ATTEND.replace(
        "def attend", "@torch.compile\n@torch.inference_mode()\ndef attend"
    ),
    HEAD.replace(
        "def head", "@functools.cache\n@torch.compile(dynamic=True)\ndef head"
    ),
    quick=True,
)
honest(
    "scripted_by_torch",
    ATTEND.replace("mask=None", "mask: torch.Tensor | None = None").replace(
        "def attend", "@torch.jit.script\ndef attend"
    ),
    HEAD,
)
honest(
    "compiled_by_nnx",
    "from flax import nnx\n" + JAX.replace("def attend", "@nnx.jit\ndef attend"),
    HEAD,
)
honest(
    "a_callable",
    ATTEND.replace("attend", "plain"),
    "class Attend(torch.nn.Module):\n    def forward(self, *given): return plain(*given), None\n\nattend = Attend()",
    "import functools\nhead = functools.partial(lambda attend, x, w_q, w_k, w_v: attend(x @ w_q, x @ w_k, x @ w_v)[0], attend)",
)
honest(
    "by_another_name",
    "from course_lib import torch as ct\nfrom torch import nn\n",
    ATTEND.replace("import torch", "torch = __import__('torch')"),
    HEAD,
)
honest(
    "calls_from_the_first_cell",
    "import torch\nprint(head(1, 2, 3, 4))",
    HEAD,
    ATTEND,
    "asyncio = 1\nlist = sum = time = 2",
)
honest("keyboard_interrupt", ATTEND, "raise KeyboardInterrupt", HEAD)
honest(
    "leaves_threads",
    ATTEND,
    "import threading, time, atexit, concurrent.futures\natexit.register(lambda: time.sleep(3000))\n"
    "threading.Thread(target=lambda: time.sleep(3000)).start()\npool = concurrent.futures.ThreadPoolExecutor()\npool.submit(time.sleep, 3000)",
    HEAD,
)
CLASS["version_2"] = Case(
    {
        "version_2.ipynb": json.dumps(
            {
                **{"metadata": {"name": "x"}, "nbformat": 2, "nbformat_minor": 0},
                "worksheets": [
                    {
                        "cells": [
                            {
                                "cell_type": "code",
                                "language": "python",
                                "outputs": [],
                                "input": c,
                                "prompt_number": 1,
                            }
                            for c in (ATTEND, HEAD)
                        ]
                    }
                ],
            }
        )
    },
    FULL,
)
SPARE = json.loads(notebook("", ATTEND, HEAD))
SPARE["cells"] = [
    {"cell_type": "raw", "source": "no = python here", "id": "1", "metadata": {}},
    *(
        {"cell_type": "code", "metadata": {}, "source": "".join(c["source"]), "id": "1"}
        for c in SPARE["cells"][1:]
    ),
]
SPARE["metadata"] = {
    "widgets": {"application/vnd.jupyter.widget-state+json": {"a": {}}},
    "kernelspec": {},
}
CLASS["fields_missing_and_ids_twice"] = Case(
    {"fields_missing_and_ids_twice.ipynb": json.dumps(SPARE)}, FULL
)
CLASS["another_language"] = Case(
    {"another_language.ipynb": notebook("library(torch)\nattend <- function(q) q")},
    [None, None],
    "can't be graded",
)
CLASS["a_zip"] = Case(
    {"a_zip/mine.zip": b"PK\5\6" + bytes(18)}, [None, None], "must be an .ipynb or .py"
)
for name, made, words in (
    ("a_generator", "(x for x in [q])", "returned generator"),
    ("an_array_of_numpy", "q.numpy()", "returned a NumPy array"),
    ("half_precision", "v.bfloat16().mean(-2, keepdim=True)", "returned bfloat16"),
    ("booleans", "(q @ k.mT @ v) > 0", "returned bool where"),
    ("a_sparse_tensor", "(q @ k.mT @ v).to_sparse()", "In the case"),
    ("a_tensor_without_storage", "(q @ k.mT @ v).to('meta')", "In the case"),
    (
        "nan_of_another_kind",
        "(q @ k.mT @ v).view(torch.int32).fill_(-1).view(torch.float32)",
        "NaN",
    ),
):
    attack(name, f"{DEF}    return {made}", words=words)
attack(
    "functions_of_torch_that_lie",
    "class Liar(torch.Tensor):\n    @classmethod\n    def __torch_function__(cls, *a, **k): return Liar(torch.zeros(1))\n"
    "    def __array__(self, *a, **k): return __import__('numpy').array([object()])\n    def __eq__(self, other): return True\n"
    + DEF
    + "    return Liar(v)",
)
attack(
    "changes_what_it_returned",
    "import threading, time\ndef later(x):\n    while True: x += 1\n"
    + DEF
    + "    out = q @ k.mT @ v\n    threading.Thread(target=later, args=(out,), daemon=True).start()\n    return out",
)
attack(
    "swallows_the_alarm",
    DEF
    + "    while True:\n        try:\n            while True: pass\n        except BaseException: pass",
    words="ran for more than",
)
attack(
    "one_operation_without_end",
    DEF + "    return 10 ** 10 ** 9",
    words="ran for more than",
)
attack(
    "watches_every_line",
    "import sys, threading\nf = lambda *a: f\nsys.settrace(f); sys.setprofile(f); threading.settrace(f)\n"
    + DEF
    + "    return q",
)
attack("interrupts", DEF + "    raise KeyboardInterrupt", words="killed by SIGINT")
attack(
    "no_path_and_no_modules",
    "import sys\nsys.path.clear(); sys.meta_path.clear(); sys.modules.clear()\n"
    + DEF
    + "    return q",
)
cheat(
    "the_markers_softmax",
    "from course_lib.homework.exercise import softmax\n"
    + DEF
    + "    return torch.tensor(softmax((q @ k.mT / q.shape[-1] ** 0.5).numpy(), -1)).float() @ v",
    words="It calls course_lib.homework.exercise.softmax",
    quick=True,
)


# What the bare process admits: what the submission does, and what stops it elsewhere.
ADMITTED = {
    "in_an_isolated_subprocess": (
        "calls the framework's attention in a process that ignores its path",
        "the framework's own file has ours laid over it",
    ),
    "reloads_what_is_written_in_python": (
        "loads a module of JAX a second time",
        "so has every file of the framework that defines the piece",
    ),
    "finds_the_package_on_the_disk": (
        "imports the course from your disk",
        "the disk isn't there",
    ),
    "a_classmates_notebook": ("runs a classmate's notebook", "it isn't there"),
    "victim": (
        "does all that was asked, beside one that writes to its file",
        "no file of the class is there",
    ),
    "above_the_bound": (
        "finds the seed in your folder and computes the truth",
        "the folder isn't there; and a score above the bound is no mark",
    ),
    "the_kernels_settings": (
        "rewrites the kernel's settings, if the administrator marks",
        "they can be read and not written",
    ),
    "fills_the_devices": (
        "fills the memory with files in `/dev`, if the administrator marks",
        "the same",
    ),
    "writes_into_the_library": (
        "changes a file of a library, for all who come after",
        "the same",
    ),
    "sees_what_else_runs": (
        "reads the commands of other programs",
        "no other process is there",
    ),
    "kills_the_parent": ("kills the marker", "the same"),
    "kills_everything": ("kills all processes of its user", "the same"),
    "a_daemon_that_waits": (
        "leaves a program behind that rewrites the marks",
        "it ends with its namespace, and the marks aren't there",
    ),
    "forks_without_end": (
        "starts processes without end",
        "they are counted, and all end with their namespace",
    ),
    "fills_the_memory_with_children": (
        "fills the memory from several processes",
        "the same",
    ),
}


def table():
    """What the bare process admits, for the appendix."""

    def said(due):
        return "no mark" if None in due else f"{sum(due)}" if due else "not tried"

    lines = ["| A submission that … | isolated | bare | What stops it |"]
    lines += ["|---|---|---|---|"]
    for name, (does, stops) in ADMITTED.items():
        case = CLASS[name]
        due = said(case.points), said(case.bare)
        lines.append(f"| {does} | {' | '.join(due)} | {stops} |")
    return "\n".join(lines)


def names(*, quick=False):
    """Of the cases, all or those of the tests."""
    return [name for name, case in CLASS.items() if case.quick or not quick]


def hand_in(folder, chosen):
    """Write what these students hand in."""
    import time

    folder.mkdir(parents=True, exist_ok=True)
    for name in chosen:
        for number, (path, content) in enumerate(CLASS[name].files.items()):
            where = os.path.join(os.fsencode(folder), os.fsencode(path))
            os.makedirs(os.path.dirname(where), exist_ok=True)
            content = content() if callable(content) else content
            raw = (
                content.encode("utf-8", "surrogatepass")
                if isinstance(content, str)
                else content
            )
            with open(where, "wb") as file:
                file.write(raw)
            when = time.time() - 1000 + 10 * number
            os.utime(where, (when, when))


def mark(folder, isolation, chosen, *, jobs=1, **limits):
    """The rows of these students, by name of the case."""
    import grade
    from marker.assignment import Assignment
    from marker.handed_in import find
    from marker.isolation import choose
    from marker.mark import Limits

    rows = {}
    for challenge in (False, True):
        some = [name for name in chosen if CLASS[name].challenge == challenge]
        if not some:
            continue
        where = folder / f"challenge-{challenge}"
        hand_in(where / "submissions", some)
        file = where / "trial-assignment.json"
        file.write_text(json.dumps(paper(challenge=challenge)))
        assignment = Assignment.read(file)
        found = find(where / "submissions")
        made = grade.grade(
            assignment,
            found,
            where / "trial-marks",
            choose(isolation),
            seed=assignment.seed,
            limits=Limits(**limits),
            jobs=jobs,
        )
        from marker import tables
        from marker.hand import Hand

        tables.write(made, assignment, assignment.seed, where / "trial-marks", Hand())
        for name in some:
            wanted = CLASS[name].row or name
            rows[name] = next(r for r in made if r["student"].startswith(wanted))
    return rows


def points(row, case):
    """As the marks have them."""
    return [p["points"] for p in row["parts"]] or [None] * len(case.points)


def said(row):
    """All that the row says."""
    from marker.tables import flags, messages

    return f"{messages(row)} {'; '.join(flags(row))}"


def expected(case, isolation):
    """The points due under this isolation; [] where it isn't tried."""
    other = getattr(case, isolation, None)
    return case.points if other is None else other


def as_expected(name, row, isolation):
    """Whether the row of a case has the marks and the words that it must."""
    case = CLASS[name]
    due, got = expected(case, isolation), points(row, case)
    # What a bare process admits can still fail: permissions stop some users.
    if isolation == "bare" and got == case.points:
        return True
    # In a container the sandbox is the first process, which some signals don't reach.
    words = "" if isolation == "container" and case.kind == "attack" else case.words
    return got == due and (due != case.points or words in said(row))


def main():
    """Mark all of it, and print what differs and the table."""
    import argparse
    import pathlib
    import tempfile

    root = pathlib.Path(__file__).resolve().parents[2]
    sys.path[:0] = [str(root), str(root / "homework")]
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--isolation", default="bubblewrap")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--folder", type=pathlib.Path, help="to go on in after a stop")
    given = parser.parse_args()
    chosen = [n for n in given.names or CLASS if expected(CLASS[n], given.isolation)]
    limits = {
        "seconds": 10,
        "explore_seconds": 15,
        "megabytes": 600,
    }
    with tempfile.TemporaryDirectory(prefix="trial-") as made:
        folder = given.folder or pathlib.Path(made)
        rows = mark(folder, given.isolation, chosen, jobs=given.jobs, **limits)
    wrong = 0
    for name, row in rows.items():
        case = CLASS[name]
        due, got = expected(case, given.isolation), points(row, case)
        good = as_expected(name, row, given.isolation)
        wrong += not good
        sys.stdout.write(
            f"{'ok ' if good else 'BAD'} {case.kind:7} {name:36} {due} {got}\n"
        )
        if not good:
            sys.stdout.write(f"      {said(row)[:600]}\n")
    sys.stdout.write(f"{len(rows)} students, {wrong} with other marks than expected\n")
    sys.stdout.write(table() + "\n")


if __name__ == "__main__":
    main()
