"""Train a GPT on my_text.txt in Flax NNX, or go on where the last run stopped."""

import math
from pathlib import Path

from flax import nnx
from my_model import batches, exam, model_config, train_config

import course_lib.nnx as cn

RUN = Path("run.safetensors")


def loss(model, windows):
    logits = model(windows[:, :-1])
    return cn.cross_entropy(logits, windows[:, 1:])


def evaluate(model):
    return cn.mean_loss(model, exam, loss)


if __name__ == "__main__":
    rank, world = cn.init_distributed()
    model = cn.GPT(model_config, rngs=nnx.Rngs(0))
    model = cn.distribute(model, cn.device_mesh(data=world))
    history = cn.fit(
        model,
        batches,
        loss,
        config=train_config,
        evaluate=evaluate,
        checkpoint=RUN,
        resume=RUN.exists(),
    )
    if rank == 0:
        held_out = history.evals["loss"][-1]
        print(f"steps {history.steps}, loss {history.losses[-1]:.3f}")
        print(f"held out {held_out:.3f}, perplexity {math.exp(held_out):.1f}")
    cn.shutdown()
