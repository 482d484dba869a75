"""Let the trained model continue a prompt, in PyTorch."""

import sys

from my_model import model_config, tokenizer

import course_lib.torch as ct

model = ct.GPT(model_config)
ct.load_weights(model, "run.safetensors")
prompt = tokenizer.encode(sys.argv[1])
(text,) = ct.generate(model, [prompt], max_new_tokens=30, top_p=0.9, seed=0)
print(tokenizer.decode(prompt + text))
