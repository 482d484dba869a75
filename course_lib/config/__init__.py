"""Configurations of models and of training: frozen, named, checked when made.

They hold plain numbers and know no framework, so both wings take the same one, and it
can be written beside the weights that it belongs to.
"""

from course_lib.config.bert import BERTConfig
from course_lib.config.forecaster import ADDED_POSITIONS, READINGS, ForecasterConfig
from course_lib.config.gpt import GPTConfig
from course_lib.config.seq2seq import Seq2SeqConfig
from course_lib.config.training import TrainConfig
from course_lib.config.transformer import (
    ACTIVATIONS,
    NORM_KINDS,
    NORMS,
    POSITIONS,
    TransformerConfig,
)
from course_lib.config.vit import GRID_POSITIONS, ViTConfig

__all__ = [
    "ACTIVATIONS",
    "ADDED_POSITIONS",
    "GRID_POSITIONS",
    "NORMS",
    "NORM_KINDS",
    "POSITIONS",
    "READINGS",
    "BERTConfig",
    "ForecasterConfig",
    "GPTConfig",
    "Seq2SeqConfig",
    "TrainConfig",
    "TransformerConfig",
    "ViTConfig",
]
