"""The wings are mirror images: the same names, arguments, defaults and shapes."""

import importlib
import inspect
import re
from pathlib import Path

import course_lib

ROOT = Path(course_lib.__file__).parent
# What a framework calls its own; everything else must be equal to the letter.
SAME = (
    (r"course_lib\.(torch|nnx)\.", "course_lib."),
    (r"\btorch\.Tensor\b|\bjax[\w.]*\.Array\b", "Tensor"),
    (r"\bArray\b", "Tensor"),
    # A cache holds an int there; here, in a compiled program, an array.
    (r"(int|float) \| (jaxtyping\.)?\w+\[Tensor, ''\]", r"\1"),
    (r"\b(jaxtyping\.)?Int\[Tensor, ''\]", "int"),
    (r"\b(torch\.nn|flax\.nnx|nnx|nn)(\.[a-z_]\w*)*\.", ""),
    (r"\bEmbed\b", "Embedding"),
    (r"\bMultiheadAttention\b", "MultiHeadAttention"),  # each framework's own layer
)


def modules(wing):
    """Every module of a wing by its name in it, such as `training.fit`."""
    paths = [p.relative_to(ROOT / wing) for p in (ROOT / wing).rglob("*.py")]
    return sorted(
        ".".join(p.with_suffix("").parts) for p in paths if p.stem != "__init__"
    )


def plain(annotation):
    text = inspect.formatannotation(annotation)
    for pattern, word in SAME:
        text = re.sub(pattern, word, text)
    return text


def signature(f):
    """Arguments as (name, kind, default, annotation); NNX's trailing rngs left out."""
    parameters = [
        (p.name, str(p.kind), repr(p.default), plain(p.annotation))
        for p in inspect.signature(f).parameters.values()
        if p.name != "rngs"
    ]
    return parameters, plain(inspect.signature(f).return_annotation)


def face(module):
    """What a module declares for others."""
    return {name: getattr(module, name) for name in getattr(module, "__all__", ())}


def public(module):
    """The functions and classes among it, in the order in which they are defined."""
    face_of, order = face(module), list(vars(module))
    pieces = [name for name, thing in face_of.items() if callable(thing)]
    return {name: face_of[name] for name in sorted(pieces, key=order.index)}


def methods(cls):
    """A class's own public methods, with the two names of the forward pass made one."""
    found = {}
    for name, thing in vars(cls).items():
        thing = thing.fget if isinstance(thing, property) else thing
        thing = getattr(thing, "__func__", thing)  # classmethods and staticmethods
        name = {"__call__": "forward"}.get(name, name)
        own = name in ("__init__", "forward") or not name.startswith("_")
        if own and inspect.isfunction(thing):
            found[name] = thing
    return found


def test_the_wings_list_the_same_modules():
    assert modules("torch") == modules("nnx")


def test_the_wings_export_the_same_names(both):
    torch, nnx = both
    assert torch.lib.__all__ == nnx.lib.__all__


def test_a_wing_is_listed_without_its_modules(wing):
    assert dir(wing.lib) == wing.lib.__all__
    assert not any(inspect.ismodule(getattr(wing.lib, name)) for name in dir(wing.lib))


def test_a_wing_offers_what_its_modules_declare(wing):
    declared = [
        (m, thing) for m in modules(wing.name) for thing in face(wing.module(m))
    ]
    assert sorted(thing for _, thing in declared) == sorted(wing.lib.__all__)
    for module, thing in declared:
        assert getattr(wing.lib, thing) is getattr(wing.module(module), thing)
    for module in modules(wing.name):
        for thing in public(wing.module(module)).values():
            assert thing.__module__ == wing.module(module).__name__, thing


def test_functions_and_classes_have_the_same_signatures(both):
    for name in modules("torch"):
        torch, nnx = (public(w.module(name)) for w in both)
        assert list(torch) == list(nnx), (
            f"{name}.py lists other names, or another order"
        )
        for thing in torch:
            if inspect.isclass(torch[thing]):
                ours, theirs = methods(torch[thing]), methods(nnx[thing])
                assert list(ours) == list(theirs), f"methods of {thing}"
                pairs = {f"{thing}.{m}": (ours[m], theirs[m]) for m in ours}
            else:
                pairs = {thing: (torch[thing], nnx[thing])}
            for where, (f, g) in pairs.items():
                assert signature(f) == signature(g), where


def test_rngs_is_the_only_and_the_last_extra(both):
    for name in modules("nnx"):
        for thing in public(both[1].module(name)).values():
            functions = methods(thing).values() if inspect.isclass(thing) else [thing]
            for f in functions:
                names = list(inspect.signature(f).parameters)
                assert "rngs" not in names[:-1]


def test_docstrings_are_mirrored_too(both):
    for name in modules("torch"):
        torch, nnx = (public(w.module(name)) for w in both)
        for thing in torch:
            first, second = (inspect.getdoc(t[thing]) or "" for t in (torch, nnx))
            assert first.split("\n")[0] == second.split("\n")[0], f"{name}.{thing}"


def test_every_public_name_says_what_it_does_and_where_it_is_from(wing):
    for name in modules(wing.name):
        module = wing.module(name)
        assert module.__doc__, name
        for thing in public(module).values():
            assert thing.__doc__, f"{name}.{thing.__name__}"


def test_neither_wing_knows_the_other():
    for wing, other in (("torch", r"\b(jax|flax|optax|nnx)\b"), ("nnx", r"\btorch\b")):
        for path in (ROOT / wing).rglob("*.py"):
            for line in path.read_text().splitlines():
                if re.match(r"\s*(import|from)\s", line):
                    assert not re.search(other, line), f"{path.name}: {line}"


def test_beside_the_wings_no_module_imports_a_framework_at_once():
    paths = [
        p
        for p in ROOT.rglob("*.py")
        if p.relative_to(ROOT).parts[0] not in ("torch", "nnx")
    ]
    assert len(paths) > 5
    for path in paths:
        for line in path.read_text().splitlines():
            assert not re.match(r"(import|from)\s+(torch|jax|flax|optax)\b", line), path


def test_modules_can_be_imported_one_by_one(wing):
    for name in modules(wing.name):
        assert importlib.import_module(f"course_lib.{wing.name}.{name}")
