"""What a checkpoint's text needs besides its weights: a tokenizer, and where to end."""

from pathlib import Path
from typing import Any

from course_lib.hub.files import CONFIG, find, need, read_json

__all__ = ["end_tokens", "load_tokenizer"]

_TOKENIZER, _GENERATION = "tokenizer.json", "generation_config.json"


def load_tokenizer(path_or_name: str | Path) -> Any:
    """Read a checkpoint's tokenizer, a `Tokenizer` of the library `tokenizers`.

    Its `encode(text).ids` begins as the model was trained to, with a start token if it
    has one; its `decode(ids)` leaves such tokens out. Texts are neither cut nor padded:
    `enable_truncation` and `enable_padding` are its own.

    Args:
        path_or_name: A folder with tokenizer.json, or a name as in `load`.
    """
    path = find(path_or_name, [_TOKENIZER]) / _TOKENIZER
    if not path.is_file():
        raise ValueError(
            f"a checkpoint's tokenizer must be in {_TOKENIZER}: {path.parent} has "
            "none. The library transformers writes it, where it can read the files "
            "that are there: AutoTokenizer.from_pretrained(a).save_pretrained(b)."
        )
    tokenizers = need("tokenizers")
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises no kind of its own
        raise ValueError(
            f"{path} must be a file of the library tokenizers: {error}."
        ) from None
    tokenizer.no_truncation()  # the file may bring both, from somebody's training
    tokenizer.no_padding()
    return tokenizer


def end_tokens(path_or_name: str | Path) -> list[list[int]]:
    """The tokens that end a checkpoint's texts, for `generate(..., stop=...)`.

    They are `eos_token_id` of generation_config.json, or else of config.json; an empty
    list where neither names one.
    """
    folder = find(path_or_name, [_GENERATION, CONFIG])
    for name in (_GENERATION, CONFIG):
        fields = read_json(folder / name) if (folder / name).is_file() else {}
        ids = fields.get("eos_token_id")
        if ids is not None:
            return [[i] for i in (ids if isinstance(ids, list) else [ids])]
    return []
