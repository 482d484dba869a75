# ruff: noqa: E501 - the code of strangers stays on the lines they wrote
"""A trial class: what each hands in, and the marks that it must get.

One or two a mechanism: honest work, cheats, and attacks on the marker, in two
questions, and for some in a third, open-ended one. `python tests/homework/trial.py`
marks all of it and prints the table of the appendix; the tests mark a part.
"""

import json
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


def notebook(*cells):
    """A notebook of these cells."""
    about = {"outputs": [], "metadata": {}, "execution_count": None}
    made = [
        {"cell_type": "code", "source": code.splitlines(keepends=True), "id": f"c{n}"}
        | about
        for n, code in enumerate(cells)
    ]
    kind = {"metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps({"cells": made, **kind})


@dataclass(frozen=True)
class Case:
    """One student.

    Args:
        file: The notebook handed in, or what makes it.
        points: Expected of each question; None where there must be none.
        words: Of what the row says.
        kind: honest, cheat or attack.
        bare: The points of the bare process, where they may be others: what it admits.
        container: The same of a container.
        challenge: Whether the open-ended question is asked.
    """

    file: str | Callable[[], str]
    points: list
    words: str = ""
    kind: str = "honest"
    bare: list | None = None
    container: list | None = None
    challenge: bool = False


CLASS: dict[str, Case] = {}
# What `make test` marks: a minute and a half of a processor.
QUICK = (
    *("in_jax", "other_cells", "one_slip", "follow_through", "broken"),
    *("package", "in_an_isolated_subprocess"),
    *("forges_all", "exits", "half_a_character"),
)


def honest(name, *cells, points=FULL, words="", **more):
    CLASS[name] = Case(notebook(*cells), points, words, **more)


REST = (HEAD + ATTEND).replace("attend", "attend_well")


def cheat(name, before, body="", points=(0, 4), words="", kind="cheat", **more):
    """An `attend` of this body, as it should not be; the rest is right."""
    answer = f"def attend(q, k, v, mask=None):\n    {body}\n" if body else ""
    made = notebook(REST, f"{before}\n{answer}")
    CLASS[name] = Case(made, list(points), words, kind, **more)


def attack(name, before, body="", points=(0, 4), words="", **more):
    cheat(name, before, body, points, words, "attack", **more)


# --- honest work in many forms
honest("plain", ATTEND, HEAD)
honest("in_jax", JAX, HEAD)
honest(
    "failing_check",
    "from course_lib.homework import check\n" + WRONG.replace("attend", "first_try"),
    "assert False, 'not yet'\n" + ATTEND,
    "report = check(attend, 'attention', wing='torch')\nassert report.passed\n" + HEAD,
    "1 / 0",
)
honest(
    "slow_cells",
    "import time\ntime.sleep(3000)",
    ATTEND,
    "while True: pass",
    "size = len('abc')",
    HEAD.replace("x @ w_v", "(x @ w_v) * size / 3"),
)
honest(
    "other_cells",
    "%%bash\npip list\nfor x in a b; do echo $x; done",
    "%%html\n<b>x</b>",
    "%%capture out\n%%time\n" + ATTEND,
    "%%writefile mine.py\n" + HEAD,
    "!pip install -q einops > log.txt\n%pip install einops\n%cd ..\n%load_ext tensorboard",
    "files = !ls\n?attend\n%run mine.py\n%timeit -n 1 attend\n%time done = 1\ndisplay(done)",
    "exit()",
    "%reset -f",
)
honest(
    "under_an_if",
    "import os\nos._exit(1)",
    "try:\n    import torch\nexcept ImportError:\n    torch = None\nif True:\n    "
    + ATTEND.replace("\n", "\n    "),
    "if __name__ == '__main__':\n    " + HEAD.replace("\n", "\n    "),
)
honest(  # what went before such a line counts, and only the line itself is lost
    "ends_the_kernel",
    "import math\nimport os\nimport torch\nscale = math.sqrt(1)\nos._exit(1)",
    ATTEND.replace("math.sqrt(q", "scale / math.sqrt(q"),
    HEAD,
)
honest(
    "decorated",
    "import functools, torch\n"
    + ATTEND.replace("def", "@torch.compile\n@torch.inference_mode()\ndef"),
    HEAD.replace("def", "@functools.cache\n@torch.compile(dynamic=True)\ndef"),
)
honest(
    "a_callable",
    ATTEND.replace("attend", "plain"),
    "class Attend(torch.nn.Module):\n    def forward(self, *given): return plain(*given), None\n\nattend = Attend()",
    "import functools\nhead = functools.partial(lambda attend, x, w_q, w_k, w_v: attend(x @ w_q, x @ w_k, x @ w_v)[0], attend)",
)
honest("keyboard_interrupt", ATTEND, "raise KeyboardInterrupt", HEAD)
honest("one_slip", WRONG, HEAD, points=ONE_SLIP, words="not divided by sqrt(d)")
honest(
    "follow_through",
    ATTEND.replace("softmax(dim=-1)", "softmax(dim=-2)"),
    HEAD,
    points=[0, 4],
    words="your attend was replaced by a right one",
)
OWN_HEAD = "def head(x, w_q, w_k, w_v):\n    return "
HUNGRY = OWN_HEAD + "torch.ones(2**31)"
honest("hungry", ATTEND, HUNGRY, points=[6, 0], words="ran out of memory")
honest(
    "syntax",
    "import torch\n" + ATTEND.replace("def attend(q", "def attend(q:"),
    HEAD,
    points=[0, 4],
    words='in cell 1 ("import torch") it raised SyntaxError',
)
honest(  # all of these passed their checks, and what follows is for the eye
    "later_cells",
    ATTEND,
    "from course_lib.homework import check\ncheck(attend, 'attention', wing='torch')",
    HEAD + "check(head, 'self_attention', wing='torch')",
    "torch.set_default_dtype(torch.float64)\nmath = {'a': 1}",
    "for attend in ('soft', 'hard'):\n    pass",
)
honest(
    "old_tries_below",
    ATTEND,
    HEAD,
    "raise SystemExit('old tries below')\n" + WRONG,
    "assert False\ndef head(x, *w): return x",
)
honest(
    "imports_in_one_line",
    "import not_there, math, torch\nfrom IPython import get_ipython as shell\n"
    + ATTEND,
    "shell().run_cell_magic('writefile', 'mine.py', 'from math import sqrt')",
    "import mine, gc, inspect\n"
    + HEAD.replace("    return", "    gc.collect()\n    return"),
)
CLASS["broken"] = Case("{", [None, None], "can't be graded")
PREDICT = """
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
"""
honest("predicts", ATTEND, HEAD, PREDICT, points=[6, 4, 8], challenge=True)

# --- cheats: someone else's work in the place of one's own
cheat(
    "package",
    "from course_lib.torch import attention as mine",
    "return mine(q, k, v, mask=mask)[0]",
    words="It calls course_lib.torch.attention",
)
cheat(  # what ran there nobody saw: no evidence for a 0, and a person looks
    "in_an_isolated_subprocess",
    """
import subprocess, sys, io
CODE = '''
import io, sys, torch
q, k, v, mask = torch.load(io.BytesIO(sys.stdin.buffer.read()))
out = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
made = io.BytesIO()
torch.save(torch.nan_to_num(out), made)
sys.stdout.buffer.write(made.getvalue())
'''
def attend(q, k, v, mask=None):
    given = io.BytesIO()
    torch.save((q, k, v, mask), given)
    made = subprocess.run([sys.executable, "-I", "-c", CODE], input=given.getvalue(), capture_output=True)
    return torch.load(io.BytesIO(made.stdout))
""",
    points=(6, 4),
    words="it calls subprocess.run; its code reaches for subprocess.Popen",
)
JAX_HEAD = """
def attend_well(q, k, v):
    return jax.nn.softmax(q @ k.mT / q.shape[-1] ** 0.5) @ v
"""
cheat(
    "jit_around",
    """
import jax, jax.numpy as jnp
WING = "nnx"
import course_lib.nnx as cn
well = jax.jit(lambda q, k, v, mask: cn.attention(q, k, v, mask=mask)[0])
def attend(q, k, v, mask=None):
    return well(q, k, v, mask)
"""
    + JAX_HEAD,
    words="It calls course_lib.nnx.attention",
)
cheat(
    "scripted",
    "unit = torch.jit.CompilationUnit('''def f(q, k, v):\n    return torch.scaled_dot_product_attention(q, k, v)\n''')",
    "return unit.f(q, k, v) if mask is None else v.sum()",
)
cheat(
    "by_another_name_of_the_framework",
    "from torch.nn.attention.flex_attention import flex_attention",
    """heads = [x.reshape(-1, 1, *x.shape[-2:]) for x in (q, k, v)]
    some = None
    if mask is not None:
        mask = mask.expand(*q.shape[:-1], k.shape[-2]).flatten(0, -3)
        some = lambda s, b, h, i, j: torch.where(mask[b, i, j], s, -float("inf"))
    return torch.nan_to_num(flex_attention(*heads, score_mod=some)).reshape(*q.shape[:-1], v.shape[-1])
""",
    words="flex_attention.flex_attention, which",
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
"""
    + JAX_HEAD,
    words="It calls jax._src.nn.functions.dot_product_attention",
)
REPOSITORY = "import sys, pathlib\nROOT = pathlib.Path(sys.prefix).parent\n"
AGAIN = """
sys.path.insert(0, str(ROOT))
for name in [n for n in sys.modules if n.startswith("course_lib")]: del sys.modules[name]
"""
cheat(
    "finds_the_package_on_the_disk",
    REPOSITORY + AGAIN + "from course_lib.torch.attention import attention as well\n",
    "return well(q, k, v, mask=mask)[0]",
    bare=[6, 4],
)
cheat(
    "takes_off_the_profiler",
    "from torch.nn.functional import scaled_dot_product_attention as well\nimport sys",
    "sys.setprofile(None)\n    return torch.nan_to_num(well(q, k, v, attn_mask=mask))",
    points=(0, 4),
    words="its code reaches for sys.setprofile",
)
cheat(  # points stand, and a person looks
    "a_public_name_for_softmax",
    "from torch.distributions import Categorical as C",
    """scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is None: return C(logits=scores).probs @ v
    return torch.where(mask, C(logits=scores.masked_fill(~mask, -1e30)).probs, 0.0) @ v
""",
    points=(6, 4),
    words="attend: it calls torch.distributions.categorical.Categorical.__init__",
)
CLASS["a_carrier"] = Case(
    notebook(
        "%%writefile mine.py\nfrom torch._decomp.decompositions import _softmax as soft",
        ATTEND.replace("import torch", "import torch\nfrom mine import soft").replace(
            "scores.softmax(dim=-1)", "soft(scores, -1, False)", 1
        ),
        HEAD,
    ),
    FULL,
    "attend: it calls torch._decomp.decompositions._softmax",
    "cheat",
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
cheat(
    "the_markers_softmax",
    "from course_lib.homework.exercise import softmax",
    "return torch.tensor(softmax((q @ k.mT / q.shape[-1] ** 0.5).numpy(), -1)).float() @ v",
    words="It calls course_lib.homework.exercise.softmax",
)
FIND_THE_SEED = """
import json
def predict(x, y, x_new):
    for path in pathlib.Path("/tmp").glob("**/trial-assignment*.json"):
        seed = json.loads(path.read_text())["seed"]
        AGAIN
        from course_lib.homework import CHALLENGES
        import numpy as np
        for draw in CHALLENGES["new_households"].draw(np.random.default_rng(seed)).values():
            if np.allclose(draw.arguments[0], x, rtol=1e-4):
                return torch.tensor(draw.truth, dtype=torch.float32)
""".replace("AGAIN", AGAIN.replace("\n", "\n        "))
CLASS["above_the_bound"] = Case(
    notebook(ATTEND, HEAD, REPOSITORY + FIND_THE_SEED),
    [6, 4, 0],
    kind="cheat",
    challenge=True,
    bare=[6, 4, None],
)

# --- attacks on the marker and on others
FORGE = """
import os, json, torch
for fd in range(3, 30):
    for part in range(3):
        for case in range(6):
            header = {"part": part, "case": case, "trouble": "", "used": [], "arrays": []}
            text = json.dumps(header).encode()
            try: os.write(fd, len(text).to_bytes(4, "little") + bytes(4) + text)
            except OSError: pass
os._exit(0)
"""
CLASS["forges_all"] = Case(notebook(FORGE), [0, 0], kind="attack")
attack(
    "replaces_the_code_of_outputs",
    """
import gc, types
for f in gc.get_objects():
    if isinstance(f, types.FunctionType) and f.__name__ in ("_outputs", "_same", "_alike"):
        f.__code__ = (lambda *a, **k: ()).__code__
""",
    "return q",
    words="its code reaches for gc.get_objects; its code reaches for object.__setattr",
)
attack(
    "replaces_the_runner",
    "import course_lib.homework.running as r\nr.run = lambda answer, task: [r.Outcome(outputs=())] * 6\nr.Outcome.outputs = ()",
    "return q",
)
CLASS["a_thread"] = Case(
    notebook(
        ATTEND.replace("attend", "plain"),
        """
import threading, time
box, out = [], []
def work():
    while True:
        if box: out.append(plain(*box.pop()))
        time.sleep(0.001)
threading.Thread(target=work, daemon=True).start()
def attend(*given):
    box.append(given)
    while not out: time.sleep(0.001)
    return out.pop()
""",
        HEAD,
    ),
    FULL,
    "its code reaches for a thread",
    "attack",
)
KILL = "import os, signal\nos.kill(%s, signal.SIGKILL)"
attack("kills_the_parent", KILL % "os.getppid()", "return q", bare=[])
attack("kills_everything", KILL % -1, "return q", bare=[])
CLASS["a_million_cells"] = Case(
    notebook(*["%time 1\n" * 400] * 100), [None, None], "can't be graded", "attack"
)
CLASS["too_large"] = Case(
    lambda: notebook(ATTEND, HEAD) + " " * 140_000_000,
    [None, None],
    "more than 128 MB",
    "attack",
)
attack(
    "half_a_character",
    "",
    "raise ValueError('\\ud800 \\x00 \\x1b[31m =HYPERLINK(1)')",
    words="ValueError",
)
attack(
    "exits",
    "import os\nos._exit(1)",
    "os._exit(0)",
    words="ended the process (exit status 0)",
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
    "return q",
)
CLASS["victim"] = Case(notebook(ATTEND, HEAD), FULL, bare=[None, None])
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
    "return q",
    bare=[],
)
attack("forks_without_end", "import os", "while True: os.fork()", bare=[])
attack(
    "fills_the_memory_with_children",
    "import os, time",
    """for _ in range(12):
        if os.fork() == 0:
            x = bytearray(9 * 10**8); time.sleep(300)
    time.sleep(15)
    return q""",
    bare=[],
)
attack(
    "fills_the_disk",
    "",
    "with open('/tmp/full', 'wb') as f:\n        while True: f.write(b'x' * 2**20)",
    words="File",
)
attack(
    "writes_without_end",
    "import os",
    """while True:
        for fd in range(3, 30):
            try: os.write(fd, b'x' * 2**20)
            except OSError: pass""",
    words="wrote more",
)
attack(
    "ignores_the_alarm",
    "import signal",
    "signal.setitimer(signal.ITIMER_REAL, 0)\n    while True: pass",
    words="did not end within",
)
attack(
    "swallows_the_alarm",
    "",
    """while True:
        try:
            while True: pass
        except BaseException: pass""",
    words="ran for more than",
)
attack(
    "a_tensor_that_lies",
    "class Liar(torch.Tensor):\n    @property\n    def shape(self): return torch.Size((3, 11))\n    def detach(self): return self\n    def cpu(self): return self\n    def __array__(self, *a, **k): raise RuntimeError('no')",
    "return Liar(v)",
)
attack("segfault", "import ctypes", "ctypes.string_at(0)", words="killed by SIGSEGV")
attack(
    "no_path_and_no_modules",
    "import sys\nsys.path.clear(); sys.meta_path.clear(); sys.modules.clear()",
    "return q",
)


def tries(name, code, **more):
    """Nothing is changed: where it worked, the answer is right, and the marks say so."""
    attack(name, code, "return attend_well(q, k, v, mask) if worked() else q", **more)


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
)

# What the bare process admits: what the submission does, and what stops it elsewhere.
ADMITTED = {
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
    return [name for name in CLASS if name in QUICK or not quick]


def hand_in(folder, chosen):
    """Write what these students hand in."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in chosen:
        made = CLASS[name].file
        made = made() if callable(made) else made
        (folder / f"{name}.ipynb").write_text(made, encoding="utf-8")


def mark(folder, isolation, chosen, *, jobs=1, **limits):
    """The rows of these students, by name."""
    import grade
    from marker import tables
    from marker.assignment import Assignment
    from marker.handed_in import find
    from marker.isolation import choose
    from marker.mark import Limits

    rows = []
    for challenge in (False, True):
        some = [name for name in chosen if CLASS[name].challenge == challenge]
        if not some:
            continue
        where = folder / f"challenge-{challenge}"
        hand_in(where / "submissions", some)
        (where / "trial-assignment.json").write_text(
            json.dumps(paper(challenge=challenge))
        )
        assignment = Assignment.read(where / "trial-assignment.json")
        made = grade.grade(
            *(assignment, find(where / "submissions"), where / "trial-marks"),
            choose(isolation),
            seed=assignment.seed,
            limits=Limits(**limits),
            jobs=jobs,
        )
        tables.write(made, assignment, where / "trial-marks")
        rows += made
    return {row["student"]: row for row in rows}


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
    limits = {"seconds": 10, "explore_seconds": 15, "megabytes": 600}
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
