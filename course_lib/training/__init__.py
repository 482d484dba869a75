"""Training, the half without a framework: batches, history, schedules, checkpoints."""

from course_lib.training.batches import *
from course_lib.training.history import *
