"""One process of several, started by tests/test_distributed.py with -m.

python -m distributed_worker WING FOLDER MESHES [RANK WORLD ADDRESS]

MESHES is JSON: by a name each one's axes, and the parts that a batch is gone through
in, a run for each. Records and checkpoints go into FOLDER.
"""

import json
import sys
from pathlib import Path


def share_held(wing_name, model):
    """Which share of the parameters' numbers one device of this process holds."""
    if wing_name == "torch":
        parameters = list(model.parameters())
        local = [p.to_local() if hasattr(p, "to_local") else p for p in parameters]
        return sum(p.numel() for p in local) / sum(p.numel() for p in parameters)
    import jax
    from flax import nnx

    parameters = jax.tree.leaves(nnx.state(model, nnx.Param))
    local = [p.addressable_shards[0].data for p in parameters]
    return sum(p.size for p in local) / sum(p.size for p in parameters)


def learn(wing, model, checkpoint, accumulate=1):
    """The record of five steps, of which the last two go on from the checkpoint."""
    from tiny import summed_loss, tiny_data

    from course_lib.config import TrainConfig
    from course_lib.training.batches import Batches

    batches = Batches(*tiny_data(), batch_size=12, seed=2)
    rows = set()  # of a batch, as this process sees it

    def loss(model, ids, targets):
        rows.add(len(ids))
        return summed_loss(wing)(model, ids, targets)

    def evaluate(model):
        return wing.lib.mean_loss(model, [batches(0)], summed_loss(wing))

    for steps in (3, 5):
        history = wing.lib.fit(
            model,
            batches,
            loss,
            config=TrainConfig(
                steps=steps, learning_rate=0.02, clip=0.5, accumulate=accumulate
            ),
            evaluate=evaluate,
            checkpoint=checkpoint,
            resume=steps == 5,
        )
    return {
        "rows": sorted(rows),
        "losses": history.losses,
        "grad_norms": history.grad_norms,
        "evals": history.evals["loss"],
    }


def main(wing_name, folder, meshes, *place):
    if wing_name == "nnx":
        import jax

        jax.config.update("jax_enable_x64", True)
    from tiny import tiny_gpt
    from wings import get_wing

    wing = get_wing(wing_name)
    told = {}
    if place:
        rank, world, address = place
        told = {"rank": int(rank), "world": int(world), "address": address}
    rank, world = wing.lib.init_distributed(timeout=60, **told)
    for name, (axes, accumulate) in json.loads(meshes).items():
        record = {"world": world, "runs": {}}
        for parts in accumulate:
            model = tiny_gpt(wing)
            if rank > 0:  # a start of its own, which process 0's must replace
                weights = wing.lib.get_weights(model).items()
                wing.lib.set_weights(model, {path: w + 1 for path, w in weights})
            model = wing.lib.distribute(model, wing.lib.device_mesh(**axes))
            record["held"] = share_held(wing_name, model)
            record["runs"][parts] = learn(
                wing, model, Path(folder, f"{name}.safetensors"), parts
            )
        Path(folder, f"{name}.{rank}.json").write_text(json.dumps(record))
    wing.lib.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
