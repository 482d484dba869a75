"""Reaching behind the public face is seen, with its line; honest work isn't accused."""

import contextlib

import pytest
from sandbox import cells, reach
from test_assignments import ROOT
from trial import CLASS

HONEST = [case.file for case in CLASS.values() if case.kind == "honest"]
REACHING = [
    "torch._C._nn.scaled_dot_product_attention(q, k, v)",
    "torch.ops.aten.softmax.int(x, -1)",
    "from jax._src.nn.functions import softmax",
    "import torch._decomp",
    "getattr(torch, 'soft' + 'max')(x, -1)",
    "getattr(torch, '_softmax')(x, -1, False)",
    "exec(open('answer.txt').read())",
    "compile(text, 'a', 'exec')",
    "import ctypes",
    "import marshal",
    "import sandbox.forbidden",
    "from course_lib.oracle import attention",
    "from course_lib.homework import running",
    "sys.modules['torch.nn.functional'].softmax(x)",
    "sys._getframe(1).f_back.f_locals",
    "(lambda: 0).__globals__",
    "open('/usr/lib/python3/site-packages/torch/nn/functional.py')",
    "torch.jit.script(f)",
    "os.fork()",
]
PUBLIC = [
    "from course_lib.homework import check",
    "import torch.nn.functional as F",
    "if 'google.colab' in sys.modules: pass",
    "super().__init__()",
    "self._cache = self.ops[0]",
    "torch.compile(model)",
    "re.compile('a')",
    "getattr(self, 'q_proj')",
    "if __name__ == '__main__': pass",
    "x.softmax(dim=-1)",
    "def broken(:",
]


@pytest.mark.parametrize("code", REACHING)
def test_what_reaches_behind_is_named_with_its_line(code):
    found = list(reach.reached(f"import torch\n{code}\n"))
    assert found
    assert all(repr(code)[1:60] in one or code[:60] in one for one in found)


@pytest.mark.parametrize("code", PUBLIC)
def test_what_is_public_is_not(code):
    assert list(reach.reached(code)) == []


def test_no_honest_student_and_no_solution_is_accused():
    files = [file() if callable(file) else file for file in HONEST]
    files += [path.read_text() for path in (ROOT / "homework/student").glob("*.ipynb")]
    assert len(files) > 20
    for file in files:
        with contextlib.suppress(ValueError):  # no notebook at all
            for cell in cells.read("a.ipynb", file.encode("utf-8", "surrogatepass")):
                assert list(reach.reached(cell.code)) == []
