"""One process of a distributed run, started by tests/test_distributed.py with -m.

python -m distributed_worker WING RESULT DATA FSDP TENSOR [CHECKPOINT]
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


def main(wing_name, result, data, fsdp, tensor, checkpoint=None):
    if wing_name == "nnx":
        import jax

        jax.config.update("jax_enable_x64", True)
    from tiny import summed_loss, tiny_data, tiny_gpt
    from wings import get_wing

    from course_lib.config import TrainConfig
    from course_lib.training.batches import Batches

    wing = get_wing(wing_name)
    rank, world = wing.lib.init_distributed(timeout=60)
    axes = {"data": int(data), "fsdp": int(fsdp), "tensor": int(tensor)}

    def spread_model():
        model = tiny_gpt(wing)
        if rank > 0:  # a start of its own, which process 0's must replace
            weights = wing.lib.get_weights(model)
            wing.lib.set_weights(model, {name: w + 1 for name, w in weights.items()})
        if max(axes.values()) > 1:
            model = wing.lib.distribute(model, wing.lib.device_mesh(**axes))
        return model

    model = spread_model()
    batches = Batches(*tiny_data(), batch_size=12, seed=2)
    settings = {"learning_rate": 0.02, "clip": 0.5}
    held = share_held(wing_name, model)
    rows = set()  # of a batch, as this process sees it

    def loss(model, ids, targets):
        rows.add(len(ids))
        return summed_loss(wing)(model, ids, targets)

    # The second run takes the first one's checkpoint up.
    histories = [
        wing.lib.fit(
            model,
            batches,
            loss,
            config=TrainConfig(steps=steps, **settings),
            evaluate=lambda model: wing.lib.mean_loss(
                model, [batches(0)], summed_loss(wing)
            ),
            checkpoint=checkpoint,
            resume=steps == 5,
        )
        for steps in (3, 5)
    ]
    # The same batches, each gone through in three parts.
    in_parts = wing.lib.fit(
        spread_model(),
        batches,
        summed_loss(wing),
        config=TrainConfig(steps=5, accumulate=3, **settings),
    )
    Path(f"{result}.{rank}").write_text(
        json.dumps(
            {
                "world": world,
                "held": held,
                "rows": sorted(rows),
                "losses": histories[1].losses,
                "grad_norms": histories[1].grad_norms,
                "evals": histories[1].evals["loss"],
                "losses_in_parts": in_parts.losses,
                "grad_norms_in_parts": in_parts.grad_norms,
            }
        )
    )
    wing.lib.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
