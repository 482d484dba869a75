"""The room in which an answer runs: `course_lib` without the right answers.

What is missing are the oracle and the exercises. The pieces that an answer may not call
are there, and who calls them is noted.
"""

import compileall
import shutil
from pathlib import Path

import course_lib
from course_lib.homework.called import PACKAGE

HERE = Path(__file__).resolve().parent
LIBRARY = Path(course_lib.__file__).resolve().parent
HOMEWORK = (
    "running.py",
    "called.py",
    "exercise.py",
    "toy_model.py",
)  # calling an answer
# In the place of the package's own: in a submission `check` says nothing, and is true.
STUDENTS_SIDE = """
class Report:
    passed, share, points, score, message = True, 1.0, 1.0, None, ""
    cases = used = called = ()
    def __bool__(self): return True
    def as_dict(self): return {}

def check(*args, **kwargs):
    return Report()

EXERCISES, CHALLENGES = {}, {}
"""


def furnish(folder: Path) -> Path:
    """Make a room of an empty folder, and give it back."""
    ignored = shutil.ignore_patterns("__pycache__", "oracle", "homework")
    shutil.copytree(LIBRARY, folder / PACKAGE, ignore=ignored, dirs_exist_ok=True)
    homework = folder / PACKAGE / "homework"
    homework.mkdir()
    (homework / "__init__.py").write_text(STUDENTS_SIDE)
    for name in HOMEWORK:
        shutil.copy(LIBRARY / "homework" / name, homework)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(HERE.parent / "sandbox", folder / "sandbox", ignore=ignored)
    compileall.compile_dir(folder, quiet=2)
    for path in (folder, *folder.rglob("*")):  # for another user to read, none to write
        path.chmod(0o755 if path.is_dir() else 0o644)
    return folder
