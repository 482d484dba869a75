"""Train a GPT on my_text.txt in PyTorch, or go on where the last run stopped."""

import math
from pathlib import Path

import torch
from my_model import batches, exam, model_config, train_config

import course_lib.torch as ct

RUN = Path("run.safetensors")


def loss(model, windows):
    logits = model(windows[:, :-1])
    return ct.cross_entropy(logits, windows[:, 1:])


def evaluate(model):
    return ct.mean_loss(model, exam, loss)


if __name__ == "__main__":
    rank, world = ct.init_distributed()
    torch.manual_seed(0)
    model = ct.distribute(ct.GPT(model_config), ct.device_mesh(data=world))
    history = ct.fit(
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
    ct.shutdown()
