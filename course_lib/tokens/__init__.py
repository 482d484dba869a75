"""Tokenizers: text to token ids and back, by characters, words or byte pairs."""

from course_lib.tokens.tokenizer import BPE, Characters, Tokenizer, Words, load

__all__ = ["BPE", "Characters", "Tokenizer", "Words", "load"]
