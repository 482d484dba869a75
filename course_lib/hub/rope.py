"""How a decoder's config.json says that positions turn, in either of two spellings.

Older files have `rope_theta` beside a dictionary `rope_scaling`, newer ones both in
`rope_parameters`. Each is brought to our words first, then read by one table.
"""

import math
from typing import Any

from course_lib.config import RotaryScaling
from course_lib.hub.fields import Fields

# Their words that are not ours. Older files say `type`; `rope_type` counts beside it.
_WORDS = {
    "type": "kind",
    "rope_type": "kind",
    "rope_theta": "base",
    "original_max_position_embeddings": "original_len",
}
# What says nothing, as `transformers` reads it.
_NOTHING = (("partial_rotary_factor", 1), ("beta_fast", 0), ("beta_slow", 0))
# The settings of each kind of stretching, all of them and no others, and what they are
# where a file says nothing; ... must be said.
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "linear": {"factor": ...},
    "llama3": {
        "factor": ...,
        "original_len": ...,
        "low_freq_factor": ...,
        "high_freq_factor": ...,
    },
    "yarn": {
        "factor": ...,
        "original_len": ...,
        "beta_fast": 32.0,
        "beta_slow": 1.0,
        "truncate": True,
        "attention_factor": None,
    },
}


def rope(fields: Fields, theta: float) -> dict[str, Any]:
    """The base of the angles and how they are stretched; `theta` where none is said."""
    old, new = (fields.take(name, None) for name in ("rope_scaling", "rope_parameters"))
    if old and new:
        raise ValueError(
            f"{fields.where} must say once how positions turn: it has rope_scaling="
            f"{old!r} and rope_parameters={new!r}. Take out one of them."
        )
    fields.must("partial_rotary_factor", 1.0, 1)
    given = {"rope_theta": fields.take("rope_theta", None) or theta}
    name = "rope_scaling" if old else "rope_parameters"
    base, scaling = turning(given | (old or new or {}), name, fields)
    return {"rope_base": base, "rope_scaling": scaling}


def turning(
    given: dict[str, Any], name: str, fields: Fields
) -> tuple[float, RotaryScaling | None]:
    """Base and scaling of one such dictionary, every entry of which is used."""
    said = _in_our_words(given)
    kind, base = said.pop("kind"), said.pop("base")
    if kind in ("longrope", "su"):
        raise ValueError(
            f"{fields.where} asks for {name} of type {kind!r}, which our model does "
            "not have: with the token after original_max_position_embeddings all that "
            "was read before would turn anew, and a cache keeps what has turned. Files "
            "of the family for shorter texts have no such rule."
        )
    settings = SETTINGS.get(kind, {})
    if "original_len" in settings:
        longest = fields.take("max_position_embeddings")
        beside = fields.take("original_max_position_embeddings", None)
        said["original_len"] = beside or said.get("original_len") or longest
        said = _yarn(said, longest) if kind == "yarn" else said
    found = settings | said
    if kind not in SETTINGS or found.keys() != settings.keys() or ... in found.values():
        raise ValueError(
            f"{fields.where} asks for {name}={given!r}, which our model does not have: "
            "rope_type must be 'default', 'linear', 'yarn' or 'llama3', with its own "
            "settings, all of them and no others."
        )
    return float(base), RotaryScaling(kind=kind, **found) if found else None


def _in_our_words(given: dict[str, Any]) -> dict[str, Any]:
    """One of these dictionaries in our words, without what says nothing."""
    said: dict[str, Any] = {}
    for name, value in sorted(given.items(), reverse=True):  # `type` before `rope_type`
        ours = _WORDS.get(name, name)
        if value is not None and (name, value) not in _NOTHING:
            # JSON may write 1000000 for 1000000.0.
            whole = type(value) is int and ours != "original_len"
            said[ours] = float(value) if whole else value
    return {"kind": "default"} | said


def _yarn(said: dict[str, Any], longest: int) -> dict[str, Any]:
    """YaRN's settings, two of which a file may leave to be computed."""
    said = {"factor": longest / said["original_len"]} | said
    sizes = [said.pop(name, None) for name in ("mscale", "mscale_all_dim")]
    if all(sizes) and said["factor"] > 1:
        up, down = (0.1 * m * math.log(said["factor"]) + 1 for m in sizes)
        said = {"attention_factor": up / down} | said
    return said
