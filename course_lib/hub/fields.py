"""config.json, read so that no setting in it is overlooked.

Every field is translated, checked to be what our models do, or known to change no
number that a model in evaluation returns. A field that is none of these is refused by
its name: a checkpoint is never loaded as something that it is not.
"""

import json
from typing import Any

# Their names of activations to ours. Those that share a line are one function, computed
# in different ways.
ACTIVATIONS = {
    "relu": "relu",
    **dict.fromkeys(("gelu", "gelu_python"), "gelu"),
    **dict.fromkeys(("gelu_new", "gelu_fast", "gelu_accurate"), "gelu_tanh"),
    **dict.fromkeys(("gelu_pytorch_tanh", "gelu_python_tanh"), "gelu_tanh"),
    **dict.fromkeys(("silu", "swish"), "silu"),
}

# Logits do not depend on these.
_ABOUT = """
    architectures model_type transformers_version dtype torch_dtype finetuning_task
    task_specific_params tokenizer_class prefix id2label label2id problem_type
    bos_token_id eos_token_id pad_token_id sep_token_id cls_token_id mask_token_id
    unk_token_id decoder_start_token_id transformers.js_config
"""
_TRAINING = """
    initializer_range init_std gradient_checkpointing use_cache use_bfloat16
    torchscript tf_legacy_loss chunk_size_feed_forward output_attentions output_scores
    output_hidden_states output_past return_dict return_dict_in_generate total_flos
"""
_GENERATION = """
    max_length min_length do_sample early_stopping num_beams num_beam_groups
    diversity_penalty temperature top_k top_p typical_p repetition_penalty
    length_penalty no_repeat_ngram_size encoder_no_repeat_ngram_size
    num_return_sequences exponential_decay_length_penalty forced_bos_token_id
    forced_eos_token_id bad_words_ids suppress_tokens begin_suppress_tokens
    remove_invalid_values force_bos_token_to_be_generated
"""
SILENT = frozenset(f"{_ABOUT} {_TRAINING} {_GENERATION}".split())

# What no model here has: fields that may stand in any config.json, and must be so.
ABSENT = {
    "is_decoder": False,
    "is_encoder_decoder": False,
    "add_cross_attention": False,
    "cross_attention_hidden_size": None,
    "tie_encoder_decoder": False,
    "pruned_heads": {},
    # Marks that writers leave, which say that the model is what it is.
    "is_llama_config": True,
    "rope_interleaved": False,
    "unsloth_fixed": True,
    "use_mrope": False,
}

_NEEDED = object()


class Fields:
    """The fields of one config.json; `where` is the file, for errors."""

    def __init__(self, values: dict[str, Any], where: Any):
        self.values, self.where = values, where
        self._known: set[str] = set(SILENT)

    def take(self, name: str, default: Any = _NEEDED) -> Any:
        """Read a field that is translated; without a default it must be there."""
        self._known.add(name)
        value = self.values.get(name, default)
        if value is _NEEDED:
            raise ValueError(
                f"{self.where} must say what {name} is: it has no such field."
            )
        return value

    def must(self, name: str, *supported: Any, default: Any = None) -> None:
        """Check that a field is what our model does: `supported`, or the default."""
        value = self.take(name, default)
        if value not in (*supported, default):
            raise ValueError(
                f"{self.where} asks for {name}={value!r}, which our model does not "
                f"have: it must be {' or '.join(map(repr, supported))}."
            )

    def read(self, table: str) -> dict[str, Any]:
        """Read what a table translates: a field a line, our name, perhaps a default.

        Defaults are JSON; of `activation`, their name of it. A list becomes a tuple.
        """
        found = {}
        for line in filter(None, table.splitlines()):
            theirs, ours, *rest = line.split()
            if ours == "activation":
                self.must(theirs, *ACTIVATIONS, default=rest[0])
                value = ACTIVATIONS[self.take(theirs, rest[0])]
            else:
                value = self.take(theirs, *map(json.loads, rest))
            found[ours] = tuple(value) if isinstance(value, list) else value
        return found

    def n_classes(self) -> int:
        """How many classes the labels tell apart; two where nothing is said."""
        labels = self.take("id2label", None)
        stated = [self.take(name, None) for name in ("num_labels", "_num_labels")]
        if labels is not None:
            return len(labels)
        return next((n for n in stated if n is not None), 2)

    def finish(self, silent: str = "") -> None:
        """Refuse what is left over; `silent` lists more fields that change nothing."""
        for name, value in ABSENT.items():
            if name not in self._known:
                self.must(name, value)
        known = self._known.union(silent.split())
        # A field without a value asks for nothing; one with an underscore in front is a
        # note of the writing library to itself.
        left = [
            f"{name}={value!r}"
            for name, value in self.values.items()
            if name not in known and value is not None and not name.startswith("_")
        ]
        if left:
            raise ValueError(
                f"{self.where} has fields that we do not know, so the model might "
                f"compute something else: {', '.join(sorted(left))}. If they change no "
                "result, take them out of the file."
            )
