"""Tokenizers: text to token ids and back, by characters, words or byte pairs.

One interface for all: `train` on texts, `encode`, `decode`, `save`, and `load` for any.
"""

from course_lib.tokens.byte_pairs import *
from course_lib.tokens.load import *
from course_lib.tokens.streaming import *
from course_lib.tokens.tokenizer import *
from course_lib.tokens.words import *
