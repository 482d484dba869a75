"""Let the trained model continue a prompt, in PyTorch."""

import json
import sys
from pathlib import Path

import course_lib.torch as ct
from course_lib.config import GPTConfig
from course_lib.tokens import load

tokenizer = load("tokenizer.json")
config = GPTConfig(**json.loads(Path("model.json").read_text("utf-8")))
model = ct.GPT(config)
ct.load_weights(model, "run.safetensors")
prompt = tokenizer.encode(sys.argv[1])
how = {"max_new_tokens": 80, "top_p": 0.9, "seed": 0, "crop": True}
(text,) = ct.generate(model, [prompt], **how)
print(tokenizer.decode(prompt + text))
