"""Let the trained model continue a prompt, in Flax NNX."""

import sys

from flax import nnx
from my_model import model_config, tokenizer

import course_lib.nnx as cn

model = cn.GPT(model_config, rngs=nnx.Rngs(0))
cn.load_weights(model, "run.safetensors")
prompt = tokenizer.encode(sys.argv[1])
(text,) = cn.generate(model, [prompt], max_new_tokens=30, top_p=0.9, seed=0)
print(tokenizer.decode(prompt + text))
