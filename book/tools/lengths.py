"""Does it hold at another length of training? What `shake.py` asks of claims.

An order that is told from one length of training, such as *A beats B*, may be the other
way round after more of it, and no other start and no other machine shows that. So a
page runs with half and with four times its training, and says which of its claims fall.
What gets longer:

- `fit` in both wings: steps and warm-up of its configuration. A list of batches is gone
  through more than once, so that four times the training is no more data;
- a function with an argument `steps` and a loop over `range(steps)`.

A run that is stored stays as long as it was, and so does any other loop.
"""

import ast
import importlib
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

FELL = "fell: "
COUNTED = ("steps", "warmup", "evaluate_every", "checkpoint_every")


def lengthen(factor: float) -> None:
    """Let every training of this kernel take `factor` times the steps."""
    from IPython import get_ipython

    for wing in map(importlib.import_module, ("course_lib.torch", "course_lib.nnx")):
        vars(wing)["fit"] = longer(wing.fit, factor)
    get_ipython().ast_transformers.append(Lengthened(factor))


def longer(fit: Callable, factor: float) -> Callable:
    """Wrap a wing's `fit`."""
    from course_lib.training.batches import config_of

    @wraps(fit)
    def fit_for_longer(
        model: Any, batches: Any, loss: Any, rate: Any = None, **more: Any
    ) -> Any:
        rate = more.pop("learning_rate", rate)
        config = config_of(batches, rate, more.pop("config", None))
        counts = {name: getattr(config, name) for name in COUNTED}
        scaled = {name: max(1, round(factor * n)) for name, n in counts.items() if n}
        return fit(model, batches, loss, config=replace(config, **scaled), **more)

    return fit_for_longer


class Lengthened(ast.NodeTransformer):
    """A cell whose loops over `range(steps)` are longer and whose claims go on."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Multiply the argument before anything else."""
        self.generic_visit(node)
        names = [a.arg for a in (*node.args.args, *node.args.kwonlyargs)]
        if "steps" in names and "range(steps)" in ast.unparse(node):
            line = f"steps = max(1, round({self.factor} * steps))"
            node.body[:0] = ast.parse(line).body
        return ast.fix_missing_locations(node)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        """Say what doesn't hold, and go on."""
        said = ast.parse(f"print({FELL + ast.unparse(node.test)!r})").body
        test = ast.UnaryOp(ast.Not(), node.test)
        otherwise = ast.If(test=test, body=said, orelse=[])
        return ast.fix_missing_locations(ast.copy_location(otherwise, node))
