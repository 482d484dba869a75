"""Train a GPT that writes like a president, and store it and how it went.

    python book/checkpoints/presidents.py               # into course_lib/data/trained
    python book/checkpoints/presidents.py some/folder   # into another folder

An hour on one core of a laptop; without a GPU. It needs the extra [text]. A line each
minute or two has the step, the seconds of training so far, and bits a byte of held-out
text, 3.06 at first and 1.22 at the end. However a run was stopped, it goes on when the
same command is given again: every `EVERY` steps all of it is saved to
_build/presidents-9000.pt (20 MB), which `make clean` deletes, and so may you, to begin
anew. --steps 50 tries everything in minutes, with a file of its own.

The text is nine of ten annual addresses, in byte pairs that are learned from it. Each
window begins with a token for the decade of its address, so that whoever has the model
write can choose one. Matrices inside the blocks are trained by Muon, everything else by
AdamW; bfloat16 saves a third of the time on a processor that has it.

The file, presidents.safetensors, holds each matrix in 8 bits, with a scale a row, and
in its metadata, as JSON, the byte pairs and how the training went: loss, bits a byte of
held-out text, what the model wrote on the way, and what counting word pieces reaches.
"""

import argparse
import json
import math
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.numpy import save_file
from store import TRAINED

import course_lib.torch as ct
from course_lib import data
from course_lib.baselines import NGram
from course_lib.config import GPTConfig
from course_lib.data.presidents import SCALE, decade_token
from course_lib.tokens import BPE

STEPS, WARMUP = 9_000, 100
PIECES, DECADES = 2048, 24  # byte pairs, and 1790s to 2020s
LENGTH, BATCH = 128, 16
MUON, ADAM, LEAST = 0.02, 3e-3, 0.03  # rates, and the share that the cosine ends with
EVERY, SOME = 250, 16  # saved, and measured on one held-out window of 16
LOOK = (0, 100, 1000)  # steps at which it writes, and the last
PROMPT, HOW = "The economy", {"temperature": 0.8, "top_p": 0.95, "max_new_tokens": 70}
WHILE, YEARS = 1960, (1800, 1860, 1930, 1990, 2020)  # it learns, and afterwards
ORDERS = (2, 3, 4, 5)  # of the counts: pieces in an n-gram
BUILD = Path(__file__).resolve().parents[2] / "_build"  # where an unfinished run is
MODEL = GPTConfig(
    vocab_size=PIECES + DECADES,
    max_len=LENGTH,
    d_model=192,
    n_layers=4,
    n_heads=6,
    position="rotary",
)


@dataclass
class Text:
    """Addresses: the token of the decade, the ids of the text, and bytes in all."""

    decades: list[int]
    ids: list[np.ndarray]
    n_bytes: int


def read(tokenizer: BPE, *, held_out: bool) -> Text:
    """Nine of ten addresses, or the tenth."""
    mine = [a for a in data.addresses() if a.held_out == held_out]
    return Text(
        decades=[decade_token(a.year, PIECES) for a in mine],
        ids=[np.array(tokenizer.encode(a.text)) for a in mine],
        n_bytes=sum(len(a.text.encode()) for a in mine),
    )


class Windows:
    """A batch for each step: a decade, and `LENGTH` ids of one address behind it."""

    def __init__(self, text: Text):
        sizes = [len(ids) for ids in text.ids]
        self.ids = np.concatenate(text.ids)
        self.decades = np.repeat(text.decades, sizes)
        left = np.concatenate([np.arange(size, 0, -1) for size in sizes])
        self.starts = np.flatnonzero(left >= LENGTH)

    def __call__(self, step: int) -> torch.Tensor:
        """The batch of a step, `BATCH LENGTH+1`."""
        at = np.random.default_rng([0, step]).choice(self.starts, BATCH)
        rows = self.ids[at[:, None] + np.arange(LENGTH)]
        return torch.from_numpy(np.hstack([self.decades[at][:, None], rows]))


def in_turn(text: Text) -> torch.Tensor:
    """Every id once, in windows as in training, filled up with -1: `N LENGTH+1`."""
    rows = []
    for decade, ids in zip(text.decades, text.ids, strict=True):
        filled = np.pad(ids, (0, -len(ids) % LENGTH), constant_values=-1)
        rows += [np.append(decade, part) for part in filled.reshape(-1, LENGTH)]
    return torch.from_numpy(np.stack(rows))


def surprise(model: ct.GPT, rows: torch.Tensor) -> torch.Tensor:
    """The sum of -log P of the ids behind the first, in nats."""
    logits = model(rows[:, :-1].clamp(min=0)).float()
    targets = rows[:, 1:].flatten()
    return F.cross_entropy(
        logits.flatten(0, 1), targets, ignore_index=-1, reduction="sum"
    )


@torch.no_grad()
def bits(model: ct.GPT, rows: torch.Tensor, bytes_a_piece: float) -> float:
    """Bits a byte of these windows."""
    nats = sum(surprise(model, part).item() for part in rows.split(64))
    return nats / math.log(2) / int((rows[:, 1:] >= 0).sum()) / bytes_a_piece


def write(model: ct.GPT, tokenizer: BPE, year: int, seed: int) -> str:
    """What the model makes of the prompt in this year."""
    prompt = [decade_token(year, PIECES), *tokenizer.encode(PROMPT)]
    (new,) = ct.generate(model, [prompt], seed=seed, **HOW)
    return PROMPT + tokenizer.decode([i for i in new if i < PIECES])


def optimizers(model: ct.GPT) -> dict[str, torch.optim.Optimizer]:
    """Muon for the matrices of the blocks, AdamW for tables, norms and constants."""
    matrices, others = [], []
    for name, p in model.named_parameters():
        inside = name.startswith("blocks.") and p.ndim == 2
        (matrices if inside else others).append(p)
    return {
        "muon": torch.optim.Muon(matrices, lr=MUON, momentum=0.95, weight_decay=0.05),
        "adam": torch.optim.AdamW(others, ADAM, (0.9, 0.98), weight_decay=0.0),
    }


def share(step: int, steps: int) -> float:
    """Of the rates: up for `WARMUP` steps, then down a cosine to `LEAST`."""
    cosine = 0.5 * (1 + math.cos(math.pi * step / steps))
    return min((step + 1) / WARMUP, 1.0) * (LEAST + (1 - LEAST) * cosine)


def one_step(
    model: ct.GPT,
    steppers: Sequence[torch.optim.Optimizer],
    rows: torch.Tensor,
    rate: float,
) -> float:
    """Read a batch and update; its mean loss."""
    for optimizer, peak in zip(steppers, (MUON, ADAM), strict=True):
        optimizer.param_groups[0]["lr"] = rate * peak
        optimizer.zero_grad()
    with torch.autocast("cpu", torch.bfloat16):
        loss = surprise(model, rows) / rows[:, 1:].numel()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    for optimizer in steppers:
        optimizer.step()
    return loss.item()


def prepare() -> tuple[BPE, Text, Text]:
    """The byte pairs, learned from what is not held out, and both parts."""
    shown = [a.text for a in data.addresses() if not a.held_out]
    tokenizer = BPE.train(shown, vocab_size=PIECES, byte_level=True)
    return tokenizer, read(tokenizer, held_out=False), read(tokenizer, held_out=True)


def settings() -> dict[str, float]:
    """What a run must not change on its way, beside the model and the text."""
    return {
        "muon": MUON,
        "adam": ADAM,
        "least": LEAST,
        "warmup": WARMUP,
        "length": LENGTH,
        "batch": BATCH,
    }


class Run:
    """A training between two steps, and what is known of it so far."""

    def __init__(self, steps: int, tokenizer: BPE, held_out: Text):
        torch.manual_seed(0)
        self.model, self.tokenizer, self.rows = (
            ct.GPT(MODEL),
            tokenizer,
            in_turn(held_out),
        )
        self.parts = {"model": self.model, **optimizers(self.model)}
        pieces = int((self.rows[:, 1:] >= 0).sum())
        self.told: dict[str, Any] = {
            "model": asdict(MODEL),
            "steps": steps,
            "seconds": 0.0,
            "bytes_a_piece": held_out.n_bytes / pieces,
            **{"losses": [], "eval_steps": [], "evals": [], "samples": {}},
        }

    def save(self, path: Path) -> None:
        """Write all of it, all or nothing."""
        state = {name: part.state_dict() for name, part in self.parts.items()}
        path.parent.mkdir(parents=True, exist_ok=True)
        state |= {"told": self.told, "settings": settings()}
        torch.save(state, path.with_suffix(".new"))
        os.replace(path.with_suffix(".new"), path)

    def resume(self, path: Path) -> None:
        """Go on with what `save` wrote."""
        state = torch.load(path)
        told, made_with = state.pop("told"), state.pop("settings", None)
        same = ("model", "steps", "bytes_a_piece")
        changed = any(told[name] != self.told[name] for name in same)
        if changed or made_with != settings():
            raise SystemExit(f"{path} is of a run with other settings: delete it.")
        self.told = told
        for name, part in state.items():
            self.parts[name].load_state_dict(part)

    def look(self, step: int) -> None:
        """Measure, and at some steps write."""
        told = self.told
        if step in told["eval_steps"]:
            return
        self.model.eval()
        told["eval_steps"].append(step)
        told["evals"].append(self.bits(self.rows[::SOME]))
        print(f"{step:6} {told['seconds']:6.0f} s {told['evals'][-1]:.3f}", flush=True)
        if step in (*LOOK, told["steps"]):
            told["samples"][str(step)] = write(self.model, self.tokenizer, WHILE, 0)
            print(told["samples"][str(step)], flush=True)
        self.model.train()

    def bits(self, rows: torch.Tensor) -> float:
        """Bits a byte of held-out windows."""
        return bits(self.model, rows, self.told["bytes_a_piece"])

    def go(self, batch: Windows, path: Path) -> None:
        """Train to the end."""
        told, steps = self.told, self.told["steps"]
        _, *steppers = self.parts.values()
        for step in range(len(told["losses"]), steps):
            if step % EVERY == 0:
                self.save(path)
            if step % EVERY == 0 or step in LOOK:
                self.look(step)
            began = time.perf_counter()
            rate = share(step, steps)
            told["losses"].append(one_step(self.model, steppers, batch(step), rate))
            told["seconds"] += time.perf_counter() - began
        self.look(steps)
        self.save(path)
        self.model.eval()


def count(shown: Text, held_out: Text, bytes_a_piece: float) -> dict[int, float]:
    """Bits a byte of n-grams of pieces, smoothed as Kneser and Ney do, by n."""
    found = {}
    for n in ORDERS:
        model = NGram(n, PIECES)
        for ids in shown.ids:
            model.fit(ids)
        nats = np.concatenate([model.losses(ids) for ids in held_out.ids]).mean()
        found[n] = float(nats) / math.log(2) / bytes_a_piece
        print(f"{n}-grams {found[n]:.3f}", flush=True)
    return found


def squeeze(weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Matrices as whole numbers of 8 bits and a scale a row; the rest as it is."""
    small = {name: a for name, a in weights.items() if a.ndim < 2}
    for name in weights.keys() - small.keys():
        scale = np.abs(weights[name]).max(axis=1, keepdims=True) / 127
        small |= {
            name + SCALE: scale,
            name: np.rint(weights[name] / scale).astype("i1"),
        }
    return small


def store(run: Run, path: Path) -> None:
    """Write the file that `data.presidents` reads."""
    t = run.tokenizer
    tokenizer = {"tokens": t.tokens, "merges": t.merges, "byte_level": True}
    told = run.told | {"losses": [round(loss, 3) for loss in run.told["losses"]]}
    about = {"history": json.dumps(told), "tokenizer": json.dumps(tokenizer)}
    save_file(squeeze(ct.get_weights(run.model)), path, about)


def main(folder: Path, steps: int) -> None:
    """Train, measure, and write the file."""
    folder.mkdir(parents=True, exist_ok=True)  # now, and not in an hour
    torch.set_num_threads(1)
    tokenizer, shown, held_out = prepare()
    run = Run(steps, tokenizer, held_out)
    unfinished = BUILD / f"presidents-{steps}.pt"
    if unfinished.exists():
        run.resume(unfinished)
        print(f"going on from step {len(run.told['losses'])}", flush=True)
    run.go(Windows(shown), unfinished)
    run.told["bits"] = run.bits(run.rows)
    print(f"{run.told['bits']:.4f} bits a byte of all that is held out", flush=True)
    run.told["texts"] = {year: write(run.model, tokenizer, year, 0) for year in YEARS}
    print(*run.told["texts"].items(), sep="\n", flush=True)
    run.told["counts"] = count(shown, held_out, run.told["bytes_a_piece"])
    store(run, folder / "presidents.safetensors")
    unfinished.unlink()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=TRAINED)
    parser.add_argument("--steps", type=int, default=STEPS, help="default: %(default)s")
    given = parser.parse_args()
    main(given.folder, given.steps)
