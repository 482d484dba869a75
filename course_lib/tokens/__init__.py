"""Tokenizers: text to token ids and back, by characters, words or byte pairs.

One interface for all: `train` on texts, `encode`, `decode`, `save`, and `load` for any.
"""

from course_lib.tokens.byte_pairs import BPE
from course_lib.tokens.load import load
from course_lib.tokens.tokenizer import Tokenizer
from course_lib.tokens.words import Characters, Words

__all__ = ["BPE", "Characters", "Tokenizer", "Words", "load"]
