"""Efficient attention: small where it says small, and 0 where there is no key."""

import pytest

DH, DV = 5, 7


def draw(rng, t, s):
    return [rng.standard_normal(shape) for shape in ((t, DH), (s, DH), (s, DV))]


def test_a_query_before_every_key_gets_zero(wing, rng):
    q, k, v = draw(rng, 7, 3)
    got = wing.lib.tiled_attention(*map(wing.array, (q, k, v)), causal=True, tile=2)
    assert (wing.numpy(got)[:4] == 0).all()
    assert (wing.numpy(got)[4:] != 0).all()


def largest_array_in_the_program(f, *arrays):
    """Entries of the largest array that appears anywhere in a traced program."""
    import jax

    def sizes(jaxpr):
        for equation in jaxpr.eqns:
            yield from (v.aval.size for v in equation.outvars)
            for value in equation.params.values():
                for one in value if isinstance(value, (tuple, list)) else [value]:
                    if hasattr(inner := getattr(one, "jaxpr", one), "eqns"):
                        yield from sizes(inner)

    return max(sizes(jax.make_jaxpr(f)(*arrays).jaxpr))


@pytest.mark.parametrize("name", ["tiled", "window"])
def test_no_table_of_all_pairs_is_ever_formed(wing, rng, name):
    length, tile = 512, 16
    q, k, v = draw(rng, length, length)
    options = {"size": tile} if name == "window" else {"tile": tile}

    def loss(q, k, v):
        f = getattr(wing.lib, f"{name}_attention")
        return f(q, k, v, causal=True, **options).sum()

    if wing.name == "nnx":
        import jax

        largest = largest_array_in_the_program(
            jax.grad(loss, (0, 1, 2)), *map(wing.array, (q, k, v))
        )
    else:
        from torch.utils._python_dispatch import TorchDispatchMode

        class Watch(TorchDispatchMode):
            largest = 0

            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                out = func(*args, **(kwargs or {}))
                for one in out if isinstance(out, (tuple, list)) else [out]:
                    if hasattr(one, "numel"):
                        Watch.largest = max(Watch.largest, one.numel())
                return out

        with Watch():
            wing.grad(loss, q, k, v)
        largest = Watch.largest
    assert largest <= 4 * length * tile < length**2 / 4


def test_a_window_of_other_positions_is_refused(wing, rng, no_hook):
    q, k = (wing.array(rng.standard_normal((n, DH))) for n in (3, 5))
    with pytest.raises(ValueError, match="same positions"):
        wing.lib.window_attention(q, k, k, size=2)
