"""The marker stands beside the package, and what tests keep is no student's."""

import sys
from pathlib import Path

import compiled

from course_lib.homework import called

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "homework"))
called.LIBRARIES += (compiled.__file__,)
