"""Every rule about shapes and kinds of input, written once for both wings.

The functions look at `.shape` and `.dtype` and at nothing else, so they know no
framework: a torch tensor, a JAX array (traced or not) and a NumPy array all pass
through the same lines and get the same words. An error says the rule, what came, and
the way out.
"""

import math
from typing import Any, TypeVar

Shape = tuple[int, ...]
Pooler = TypeVar("Pooler")


def _name(kind: type) -> str:
    if kind.__qualname__.endswith(("Array", "ArrayImpl")):
        return "jax.Array"
    return f"{kind.__module__.split('.')[0]}.{kind.__qualname__}"


def check_tensors(kind: type, **tensors: Any) -> None:
    """Refuse anything but floating-point tensors of one framework and one dtype.

    Args:
        kind: The wing's tensor type (`torch.Tensor`, `jax.Array`).
        **tensors: The tensors by the name the caller knows them by; None is skipped.

    Raises:
        ValueError: One is of another type, holds no floats, or the dtypes differ.
    """
    given = {name: x for name, x in tensors.items() if x is not None}
    for name, x in given.items():
        if not isinstance(x, kind):
            way_out = "torch.as_tensor" if kind.__name__ == "Tensor" else "jnp.asarray"
            raise ValueError(
                f"{name} must be a {_name(kind)}: got {_name(type(x))}. "
                f"Convert it with {way_out}({name})."
            )
        if "float" not in str(x.dtype):
            cast = "float()" if kind.__name__ == "Tensor" else "astype(float)"
            raise ValueError(
                f"{name} must hold floating-point numbers: got dtype {x.dtype}. "
                "Token ids go through an embedding first; other numbers are converted "
                f"with {name}.{cast}."
            )
    dtypes = {name: str(x.dtype) for name, x in given.items()}
    if len(set(dtypes.values())) > 1:
        raise ValueError(
            f"{', '.join(dtypes)} must share one dtype: got "
            + ", ".join(f"{name} {dtype}" for name, dtype in dtypes.items())
            + ". Convert them to the same one."
        )


def check_mask(mask: Any, scores: Shape) -> None:
    """Refuse a mask that is not boolean or does not broadcast to the scores.

    Args:
        mask: Anything with `.shape` and `.dtype`; True = may attend. None passes.
        scores: The shape that the mask must broadcast to, `*B T S`.

    Raises:
        ValueError: The mask is not boolean, or an axis is neither 1 nor the scores'
            own.
    """
    if mask is None:
        return
    if not str(getattr(mask, "dtype", "")).endswith("bool"):
        raise ValueError(
            "mask must be boolean, True where a query may attend: got "
            f"{getattr(mask, 'dtype', type(mask).__name__)}. "
            "From numbers that are 0 where attention is forbidden, write mask != 0; "
            "from an additive mask of 0 and -inf, write mask == 0."
        )
    _check_broadcast("mask", tuple(mask.shape), scores)


def _check_broadcast(name: str, shape: Shape, scores: Shape) -> None:
    fits = len(shape) <= len(scores) and all(
        m in (1, s) for m, s in zip(shape[::-1], scores[::-1], strict=False)
    )
    if not fits:
        raise ValueError(
            f"{name} must broadcast to the scores, whose last axes are queries and "
            f"keys: got {name} {shape} for scores {scores}. "
            "An axis may be 1 or the same size, counted from the right."
        )


def check_bias(name: str, bias: Any, scores: Shape) -> None:
    """Refuse numbers that cannot be added to the scores.

    Args:
        name: What the caller calls them.
        bias: Anything with `.shape` and `.dtype`. None passes.
        scores: The shape that it must broadcast to, `*B T S`.

    Raises:
        ValueError: It holds no floats, or an axis is neither 1 nor the scores' own.
    """
    if bias is None:
        return
    if "float" not in str(getattr(bias, "dtype", "")):
        raise ValueError(
            f"{name} must hold floating-point numbers, which are added to the scores: "
            f"got {getattr(bias, 'dtype', type(bias).__name__)}. "
            "What is allowed and what is not goes into mask."
        )
    _check_broadcast(name, tuple(bias.shape), scores)


def check_attention(
    q: Shape, k: Shape, v: Shape, mask: Any = None, bias: Any = None
) -> None:
    """Refuse queries, keys and values that do not fit each other.

    Args:
        q: Shape of the queries, `*B T Dh`.
        k: Shape of the keys, `*B S Dh`.
        v: Shape of the values, `*B S Dv`.
        mask: The mask itself, or None; see `check_mask`.
        bias: What is added to the scores, or None; see `check_bias`.

    Raises:
        ValueError: Too few axes, an empty axis, or sizes that differ where they must
            not.
    """
    q, k, v = tuple(q), tuple(k), tuple(v)
    for name, shape, letters in (("q", q, "T Dh"), ("k", k, "S Dh"), ("v", v, "S Dv")):
        if len(shape) < 2:
            raise ValueError(
                f"{name} must have at least two axes ({letters}): got shape {shape}. "
                f"A single vector becomes one row with {name}[None, :]."
            )
        if 0 in shape[-2:]:
            raise ValueError(
                f"{name} must not be empty: got shape {shape} for ({letters}). "
                "Attention needs at least one query, one key and one feature."
            )
    if q[-1] != k[-1]:
        raise ValueError(
            f"queries and keys must have the same width: got q {q} and k {k} "
            f"({q[-1]} against {k[-1]}). Project both to one width first."
        )
    if k[-2] != v[-2]:
        raise ValueError(
            f"each key needs its value: got k {k} and v {v} "
            f"({k[-2]} keys against {v[-2]} values)."
        )
    if not q[:-2] == k[:-2] == v[:-2]:
        raise ValueError(
            "q, k and v must agree in every axis before the last two: "
            f"got q {q}, k {k}, v {v}. Expand the smaller one first."
        )
    check_mask(mask, (*q[:-1], k[-2]))
    check_bias("bias", bias, (*q[:-1], k[-2]))


def check_heads(d_model: int, n_heads: int, n_kv_heads: int) -> None:
    """Refuse a number of heads that does not divide what it must divide.

    Args:
        d_model: Model width.
        n_heads: Number of query heads.
        n_kv_heads: Number of key and value heads; each serves an equal group of
            queries.

    Raises:
        ValueError: A number is not positive, or does not divide.
    """
    sizes = {"d_model": d_model, "n_heads": n_heads, "n_kv_heads": n_kv_heads}
    for name, size in sizes.items():
        check_size(name, size)
    if d_model % n_heads:
        nearest = nearest_divisor(d_model, n_heads)
        raise ValueError(
            f"n_heads must divide d_model: got d_model={d_model}, n_heads={n_heads} "
            f"(remainder {d_model % n_heads}). The nearest that fits is "
            f"n_heads={nearest}."
        )
    if n_heads % n_kv_heads:
        nearest = nearest_divisor(n_heads, n_kv_heads)
        raise ValueError(
            f"n_kv_heads must divide n_heads: got n_heads={n_heads}, "
            f"n_kv_heads={n_kv_heads} (remainder {n_heads % n_kv_heads}). "
            f"The nearest that fits is n_kv_heads={nearest}."
        )


def check_size(name: str, size: int) -> None:
    """Refuse a size that is not a whole number of at least 1.

    Raises:
        ValueError: With the size's name and what came.
    """
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise ValueError(f"{name} must be a whole number of at least 1: got {size!r}.")


def check_whole(name: str, number: Any) -> None:
    """Refuse what is not a whole number of at least 0.

    Raises:
        ValueError: With the number's name and what came.
    """
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise ValueError(
            f"{name} must be a whole number of at least 0: got {number!r}."
        )


def check_positive(name: str, number: float) -> None:
    """Refuse what is not positive and finite.

    Raises:
        ValueError: With the number's name and what came.
    """
    if not 0 < number < math.inf:
        raise ValueError(f"{name} must be positive and finite: got {number}.")


def check_rate(name: str, rate: float) -> None:
    """Refuse a dropout rate outside [0, 1).

    Raises:
        ValueError: With the rate's name and what came.
    """
    if not 0 <= rate < 1:
        raise ValueError(
            f"{name} must be at least 0 and less than 1: got {rate}. "
            "0 switches it off; 0.1 drops every tenth number."
        )


def nearest_divisor(whole: int, near: int) -> int:
    """The divisor of `whole` that is closest to `near`; of two, the smaller.

    >>> nearest_divisor(10, 3)
    2
    """
    divisors = (n for n in range(1, whole + 1) if whole % n == 0)
    return min(divisors, key=lambda n: (abs(n - near), n))


def check_inputs(x: Shape, context: Shape, d_model: int) -> None:
    """Refuse input that a multi-head layer of width `d_model` cannot read.

    Args:
        x: Shape of the sequence that asks, `*B T D`.
        context: Shape of the sequence that answers, `*B S D`.
        d_model: The layer's width, D.

    Raises:
        ValueError: Width, batch or emptiness break the rule.
    """
    x, context = tuple(x), tuple(context)
    for name, shape in (("x", x), ("context", context)):
        if len(shape) < 2 or shape[-1] != d_model:
            raise ValueError(
                f"{name} must have shape (..., positions, d_model={d_model}): "
                f"got {shape}."
            )
        if shape[-2] == 0:
            raise ValueError(f"{name} must hold at least one position: got {shape}.")
    if x[:-2] != context[:-2]:
        raise ValueError(
            f"x and context must have the same batch axes: got x {x} and "
            f"context {context}."
        )


def check_mask_axes(mask: Any, n_axes: int) -> None:
    """Refuse a mask that does not say which of its axes is the heads'.

    Args:
        mask: The mask itself, or None. Two axes (`T S`) or as many as the scores have
            (`*B H T S`); anything between is ambiguous and refused.
        n_axes: How many axes the scores have.

    Raises:
        ValueError: Another number of axes.
    """
    if mask is not None and len(mask.shape) not in (2, n_axes):
        raise ValueError(
            f"mask must have 2 axes (T S) or {n_axes} (batch, heads, T, S): got "
            f"{tuple(mask.shape)}. A mask for each sequence of a batch gets its head "
            "axis with mask[:, None]."
        )


def check_kernel(queries: Shape, keys: Shape, values: Shape, mask: Any = None) -> None:
    """Refuse points of kernel regression that do not fit each other.

    The rule is attention's: features stand where an attention head has its width.

    Args:
        queries: Shape of the points asked about, `*B T F`.
        keys: Shape of the points that are known, `*B S F`.
        values: Shape of what is known at them, `*B S Dv`.
        mask: The mask itself, or None.

    Raises:
        ValueError: As `check_attention`.
    """
    try:
        check_attention(queries, keys, values, mask)
    except ValueError as error:
        raise ValueError(f"(q = queries, k = keys, v = values) {error}") from None


def check_bandwidth(bandwidth: Any, n_features: int) -> None:
    """Refuse a bandwidth that is not positive and finite, or is of the wrong size.

    A bandwidth that a compiler traces has no value yet: of it, only the shape is
    checked.

    Args:
        bandwidth: One number, or one for each feature.
        n_features: F, the number of features.

    Raises:
        ValueError: Not positive, not finite, or neither one number nor F of them.
    """
    shape = tuple(getattr(bandwidth, "shape", ()))
    if shape not in ((), (1,), (n_features,)):
        raise ValueError(
            f"bandwidth must be one number or one for each feature: got shape {shape} "
            f"for {n_features} features."
        )
    if hasattr(bandwidth, "tolist"):
        try:
            flat = bandwidth.reshape(-1).tolist()
        except Exception:  # a traced array has no values to look at
            return
    else:
        flat = [bandwidth]
    if not all(math.isfinite(h) and h > 0 for h in flat):
        raise ValueError(
            f"bandwidth must be positive and finite: got {bandwidth}. As it shrinks, "
            "only the nearest neighbor counts; for that limit take a small number."
        )


def check_choice(name: str, choice: str, known: tuple[str, ...]) -> None:
    """Refuse a name that is not on the list, and show the list.

    Raises:
        ValueError: With what came and everything that would have been accepted.
    """
    if choice not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}: got {choice!r}.")


def check_weights(expected: dict[str, Shape], weights: dict[str, Any]) -> None:
    """Refuse weights that do not fit a model, and list everything that does not.

    Args:
        expected: The shape of each parameter of the model, by path.
        weights: The arrays offered, by path.

    Raises:
        ValueError: Paths are missing or not expected, or shapes differ.
    """
    missing = sorted(expected.keys() - weights.keys())
    extra = sorted(weights.keys() - expected.keys())
    differ = [
        f"{name} (model {expected[name]}, given {tuple(weights[name].shape)})"
        for name in sorted(expected.keys() & weights.keys())
        if tuple(weights[name].shape) != expected[name]
    ]
    if missing or extra or differ:
        raise ValueError(
            "weights must match the model's parameters one for one. "
            f"Missing: {', '.join(missing) or 'none'}. "
            f"Not expected: {', '.join(extra) or 'none'}. "
            f"Other shape: {', '.join(differ) or 'none'}. "
            "Build the model with the configuration that the weights were made with."
        )


def check_logits(logits: Any, targets: Any, label_smoothing: float) -> None:
    """Refuse scores of classes and targets that do not fit each other.

    Args:
        logits: Anything with `.shape` and `.dtype`, one row of scores for each target.
        targets: The classes, whole numbers.
        label_smoothing: Share of the target's weight that is spread over all classes.

    Raises:
        ValueError: Shapes differ, a kind of number is wrong, or the share is no share.
    """
    check_rate("label_smoothing", label_smoothing)
    shape, wanted = tuple(logits.shape), tuple(targets.shape)
    if len(shape) < 2 or shape[:-1] != wanted or shape[-1] == 0:
        raise ValueError(
            "each target needs its row of scores: logits must have the targets' axes "
            f"and then one for the classes: got logits {shape} for targets {wanted}."
        )
    if "float" not in str(logits.dtype):
        raise ValueError(
            f"logits must hold floating-point numbers: got dtype {logits.dtype}."
        )
    if "int" not in str(targets.dtype):
        raise ValueError(
            f"targets must be the classes' whole numbers: got dtype {targets.dtype}."
        )


def check_additive(q: Shape, k: Shape, v: Shape, w: Shape, mask: Any = None) -> None:
    """Refuse what additive attention cannot put together.

    Args:
        q: Shape of the projected queries, `*B T A`.
        k: Shape of the projected keys, `*B S A`.
        v: Shape of the values, `*B S Dv`.
        w: Shape of the vector that makes a score, `A`.
        mask: The mask itself, or None.

    Raises:
        ValueError: As `check_attention`, or `w` is not as wide as the queries.
    """
    check_attention(q, k, v, mask)
    if tuple(w) != (q[-1],):
        raise ValueError(
            "w must be one vector as wide as queries and keys: got w "
            f"{tuple(w)} for q {tuple(q)}."
        )


def check_span(n_queries: int, n_keys: int, offset: Any = None) -> None:
    """Refuse queries that do not stand among the keys.

    Args:
        n_queries: T.
        n_keys: S.
        offset: Where the first query stands among the keys; None puts the last query at
            the last key. One that a compiler traces has no value yet and passes.

    Raises:
        ValueError: A number is not positive, or a query stands outside the keys.
    """
    check_size("n_queries", n_queries)
    check_size("n_keys", n_keys)
    if offset is None and n_queries > n_keys:
        raise ValueError(
            "n_keys must be at least n_queries, since the last query stands at the "
            f"last key: got n_queries={n_queries}, n_keys={n_keys}."
        )
    if isinstance(offset, int) and not 0 <= offset <= n_keys - n_queries:
        raise ValueError(
            "the queries must stand among the keys, 0 <= offset <= n_keys - n_queries: "
            f"got offset={offset}, n_queries={n_queries}, n_keys={n_keys}."
        )


def check_positions(n_positions: int, offset: Any, max_len: int) -> None:
    """Refuse positions that a table of length `max_len` does not hold.

    Args:
        n_positions: T.
        offset: Where the first of them stands; traced, it passes.
        max_len: Rows of the table.

    Raises:
        ValueError: A position lies outside the table.
    """
    check_size("n_positions", n_positions)
    first = offset if isinstance(offset, int) else 0
    if first < 0 or first + n_positions > max_len:
        raise ValueError(
            f"positions must lie within max_len={max_len}: got {first} to "
            f"{first + n_positions - 1}. Shorten the sequence, or build the model with "
            "a larger max_len."
        )


def check_even(
    name: str, size: int, why: str = "positions turn pairs of features"
) -> None:
    """Refuse a width that does not fall into pairs.

    Args:
        name: What the caller calls the width.
        size: The width.
        why: What needs it to be even.

    Raises:
        ValueError: With the width's name and what came.
    """
    check_size(name, size)
    if size % 2:
        raise ValueError(f"{name} must be even, because {why}: got {size}.")


def check_rotary(x: Shape, d_head: int) -> None:
    """Refuse vectors that a rotary embedding of width `d_head` cannot turn.

    Raises:
        ValueError: Too few axes, or another width.
    """
    if len(x) < 2 or x[-1] != d_head:
        raise ValueError(
            f"x must have shape (..., positions, d_head={d_head}): got {tuple(x)}."
        )


def check_ids(name: str, ids: Any) -> None:
    """Refuse what is not a batch of token ids.

    Args:
        name: What the caller calls them.
        ids: Anything with `.shape` and `.dtype`.

    Raises:
        ValueError: Not two axes, empty, or not whole numbers.
    """
    shape, dtype = tuple(ids.shape), str(ids.dtype)
    if len(shape) != 2 or 0 in shape:
        raise ValueError(
            f"{name} must be a batch of token ids with shape (batch, positions), "
            f"neither of them 0: got {shape}. One sequence becomes a batch with "
            f"{name}[None]."
        )
    if "int" not in dtype:
        raise ValueError(
            f"{name} must hold whole numbers, the tokens' rows in the table: got dtype "
            f"{dtype}."
        )


def check_images(images: Shape, n_channels: int, image_size: tuple[int, int]) -> None:
    """Refuse images of another size than the model was built for.

    Args:
        images: Their shape, `B C H W` in both wings.
        n_channels: C.
        image_size: H and W.

    Raises:
        ValueError: With the shape that is wanted.
    """
    wanted = (n_channels, *image_size)
    if len(images) != 4 or images[0] == 0 or tuple(images[1:]) != wanted:
        raise ValueError(
            f"images must have shape (batch, {', '.join(map(str, wanted))}), channels "
            f"before height and width: got {tuple(images)}. Gray images get a channel "
            "axis with images[:, None]; channels at the end move to the front first."
        )


def check_same_length(q: Shape, k: Shape) -> None:
    """Refuse queries and keys that do not stand at the same positions.

    Raises:
        ValueError: There are more of one than of the other.
    """
    if q[-2] != k[-2]:
        raise ValueError(
            "queries and keys must stand at the same positions here: "
            f"got {q[-2]} queries and {k[-2]} keys. "
            "For fewer queries than keys, use attention with a mask."
        )


def check_no_cache(cache: Any) -> None:
    """Refuse a cache where maps are asked for: they would need what is not kept.

    Raises:
        ValueError: There is a cache.
    """
    if cache is not None:
        raise ValueError(
            "attention_maps must be called without a cache: got "
            f"{type(cache).__name__}. Give the model the whole sequence at once."
        )


def check_memory(wanted: bool, given: bool) -> None:
    """Refuse a block's memory where nothing reads it, or none where something would.

    Args:
        wanted: Whether the block has cross-attention.
        given: Whether a memory came.

    Raises:
        ValueError: One without the other.
    """
    if wanted and not given:
        raise ValueError(
            "a block with cross_attention=True must be given a memory: got none. Give "
            "it the encoder's output."
        )
    if given and not wanted:
        raise ValueError(
            "memory must come to a block that reads it: this one was built with "
            "cross_attention=False."
        )


def check_steps(x: Shape, d_in: int, mask: Shape | None = None) -> None:
    """Refuse a sequence that a layer of input width `d_in` cannot read step by step.

    Args:
        x: Shape of the sequence, `*B T Din`.
        d_in: The width that the layer reads.
        mask: Shape of the mask over steps, `*B T`, or None.

    Raises:
        ValueError: Another width, no steps, or a mask of another shape.
    """
    x = tuple(x)
    if len(x) < 2 or x[-1] != d_in or x[-2] == 0:
        raise ValueError(
            f"x must have shape (..., steps, {d_in}) with at least one step: got {x}."
        )
    if mask is not None and tuple(mask) != x[:-1]:
        raise ValueError(
            f"mask must say for each step whether to read it: got {tuple(mask)} for "
            f"steps {x[:-1]}."
        )


def check_graph(x: Shape, d_in: int, edges: Any) -> None:
    """Refuse nodes and edges that do not make one graph.

    Args:
        x: Shape of the nodes' features, `*B N Din`.
        d_in: The width that the layer reads.
        edges: The edges themselves, boolean, `*#B N N`.

    Raises:
        ValueError: Another width, no node, or edges that are not boolean or not N x N.
    """
    x = tuple(x)
    if len(x) < 2 or x[-1] != d_in or x[-2] == 0:
        raise ValueError(
            f"x must have shape (..., nodes, {d_in}) with at least one node: got {x}."
        )
    check_mask(edges, (*x[:-1], x[-2]))
    if tuple(edges.shape[-2:]) != (x[-2], x[-2]):
        raise ValueError(
            f"edges must say for each pair of the {x[-2]} nodes whether the first "
            f"listens to the second: got {tuple(edges.shape)}."
        )


def check_cache_room(length: Any, new: Shape, room: Shape) -> None:
    """Refuse keys that a cache has no room for.

    Args:
        length: Tokens stored; one that a compiler traces has no value yet.
        new: Shape of the newest keys, `B H T Dh`.
        room: Shape of the whole room, `B H S Dh`.

    Raises:
        ValueError: Batch, heads or width differ, or there are too many tokens.
    """
    new, room = tuple(new), tuple(room)
    if (*new[:-2], new[-1]) != (*room[:-2], room[-1]):
        raise ValueError(
            "the cache must be made for this batch, these heads and this width: got "
            f"keys {new} for a cache {room} (batch, heads, tokens, width)."
        )
    try:
        stored = int(length)
    except Exception:  # traced: at least the new ones alone must fit
        stored = 0
    if stored + new[-2] > room[-2]:
        raise ValueError(
            f"the cache must have room for every token: got {stored} stored and "
            f"{new[-2]} new for max_len={room[-2]}. Make it larger when you start."
        )


def check_sampling(
    temperature: Any = None, top_k: Any = None, top_p: Any = None
) -> None:
    """Refuse settings that no next token can be drawn with.

    Args:
        temperature: 0 (greedy) or more; None passes, as do traced numbers.
        top_k: At least 1.
        top_p: Above 0, at most 1.

    Raises:
        ValueError: With the setting's name, its range and what came.
    """
    number = (int, float)
    if isinstance(temperature, number) and not 0 <= temperature < math.inf:
        raise ValueError(
            f"temperature must be at least 0 and finite: got {temperature}. 0 takes "
            "the likeliest token, 1 the model's own probabilities."
        )
    if isinstance(top_k, number) and (isinstance(top_k, float) or top_k < 1):
        raise ValueError(
            f"top_k must be a whole number of at least 1: got {top_k}. None keeps all."
        )
    if isinstance(top_p, number) and not 0 < top_p <= 1:
        raise ValueError(
            f"top_p must be above 0 and at most 1: got {top_p}. None keeps all."
        )


def check_patches(image_size: Shape, patch_size: int) -> None:
    """Refuse patches that do not cover an image exactly.

    Args:
        image_size: Height and width in pixels.
        patch_size: Height and width of a patch.

    Raises:
        ValueError: A size is not positive, or does not divide.
    """
    check_size("patch_size", patch_size)
    if len(image_size) != 2:
        raise ValueError(
            f"image_size must be one number, or height and width: got {image_size}."
        )
    for name, size in zip(("height", "width"), image_size, strict=True):
        check_size(name, size)
        if size % patch_size:
            raise ValueError(
                f"patch_size must divide the image's {name}: got {name}={size}, "
                f"patch_size={patch_size} (remainder {size % patch_size}). The nearest "
                f"that fits is patch_size={nearest_divisor(size, patch_size)}."
            )


def check_token_types(token_types: Any, ids: Shape) -> None:
    """Refuse segments that do not say one thing about each token.

    Args:
        token_types: Anything with `.shape` and `.dtype`; None passes.
        ids: The shape of the token ids.

    Raises:
        ValueError: Another shape, or not whole numbers.
    """
    if token_types is None:
        return
    check_ids("token_types", token_types)
    if tuple(token_types.shape) != tuple(ids):
        raise ValueError(
            "token_types must have one entry for each token: got "
            f"{tuple(token_types.shape)} for ids {tuple(ids)}."
        )


def check_pooler(pooler: Pooler | None) -> Pooler:
    """Refuse to sum up with a layer that was not built.

    Args:
        pooler: The layer, or None.

    Returns:
        The layer.

    Raises:
        ValueError: There is no pooler.
    """
    if pooler is None:
        raise ValueError(
            "pool needs the pooler, and this model was built with pooler=False: got "
            "None. Build it with BERT(config), or take the first vector, hidden[:, 0]."
        )
    return pooler
