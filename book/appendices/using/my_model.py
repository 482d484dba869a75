"""The text, its tokens and the model's sizes, for both frameworks."""

from pathlib import Path

import numpy as np

from course_lib.config import GPTConfig, TrainConfig
from course_lib.tokens import BPE
from course_lib.training import Windows

LENGTH = 64  # tokens that the model sees at once
TEXT = Path("my_text.txt").read_text("utf-8")

tokenizer = BPE.train(TEXT, vocab_size=512, byte_level=True)
ids = np.array(tokenizer.encode(TEXT))
cut = len(ids) * 9 // 10  # the last tenth is held out
batches = Windows(ids[:cut], length=LENGTH, batch_size=16)

held_out = ids[cut:]
n_windows = (len(held_out) - 1) // LENGTH
places = LENGTH * np.arange(n_windows)[:, None] + np.arange(LENGTH + 1)
exam = [(held_out[places],)]  # one batch: windows that touch, each token asked once

model_config = GPTConfig(
    vocab_size=tokenizer.vocab_size, max_len=LENGTH, d_model=64, n_layers=2, n_heads=4
)
train_config = TrainConfig(
    steps=200,
    learning_rate=3e-3,
    schedule="cosine",
    warmup=20,
    evaluate_every=50,
    checkpoint_every=20,
)
