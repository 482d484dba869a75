"""Training, the half without a framework: batches, history, schedules, checkpoints."""

from course_lib.training.batches import Batches, Windows, in_turn
from course_lib.training.history import History, TrainingStopped
from course_lib.training.runs import Runs, Spread, spread

__all__ = [
    "Batches",
    "History",
    "Runs",
    "Spread",
    "TrainingStopped",
    "Windows",
    "in_turn",
    "spread",
]
