"""The text, its tokens and the model's sizes, for both frameworks."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np

from course_lib.config import GPTConfig, TrainConfig
from course_lib.tokens import BPE, load
from course_lib.training import Windows

LENGTH = 64  # tokens that the model sees at once
TEXT = Path("my_text.txt").read_text("utf-8")
TOKENIZER, MODEL = Path("tokenizer.json"), Path("model.json")

if not TOKENIZER.exists():  # ids mean something with this tokenizer alone
    BPE.train(TEXT, vocab_size=512, byte_level=True).save(TOKENIZER)
tokenizer = load(TOKENIZER)
ids = np.array(tokenizer.encode(TEXT))
cut = len(ids) * 9 // 10  # the last tenth is held out
if len(ids) - cut <= LENGTH:
    sys.exit(f"my_text.txt must have {10 * LENGTH + 10} tokens or more: {len(ids)}.")
batches = Windows(ids[:cut], length=LENGTH, batch_size=16)

held_out = ids[cut:]
n_windows = (len(held_out) - 1) // LENGTH
places = LENGTH * np.arange(n_windows)[:, None] + np.arange(LENGTH + 1)
exam = [(held_out[places],)]  # one batch: windows that touch, each token asked once

model_config = GPTConfig(
    vocab_size=tokenizer.vocab_size, max_len=LENGTH, d_model=64, n_layers=2, n_heads=4
)
MODEL.write_text(json.dumps(asdict(model_config), indent=1), "utf-8")
train_config = TrainConfig(
    steps=200,
    learning_rate=3e-3,
    schedule="cosine",
    warmup=20,
    evaluate_every=50,
    checkpoint_every=20,
)
