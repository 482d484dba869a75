"""Training, the half without a framework: batches, history, schedules, checkpoints."""

from course_lib.training.batches import Batches, Windows, in_turn
from course_lib.training.history import History, TrainingStopped

__all__ = [
    "Batches",
    "History",
    "TrainingStopped",
    "Windows",
    "in_turn",
]
