"""Let the trained model continue a prompt, in Flax NNX."""

import json
import sys
from pathlib import Path

from flax import nnx

import course_lib.nnx as cn
from course_lib.config import GPTConfig
from course_lib.tokens import load

tokenizer = load("tokenizer.json")
config = GPTConfig(**json.loads(Path("model.json").read_text("utf-8")))
model = cn.GPT(config, rngs=nnx.Rngs(0))
cn.load_weights(model, "run.safetensors")
prompt = tokenizer.encode(sys.argv[1])
how = {"max_new_tokens": 80, "top_p": 0.9, "seed": 0, "crop": True}
(text,) = cn.generate(model, [prompt], **how)
print(tokenizer.decode(prompt + text))
