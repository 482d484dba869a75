"""Data whose best attainable result is known, and loaders of data that libraries ship.

One small file a data set, NumPy only. Everything random takes an explicit `seed`, which
fixes it; every dataclass holds its known answer (an entropy rate, a noise floor, the R²
of an oracle) beside its arrays.

The functions stand in the modules (`data.households`, `data.relations`, ...) and are
re-exported here by name: a new module adds one import line, in alphabetical order.
"""

from course_lib.data.classification import (
    MAJORITY_EXAMPLES,
    Labelled,
    late_majority,
    majority,
    majority_class,
    which_came_first,
)
from course_lib.data.drawn_shapes import SHAPES, Shapes, drawn_shapes, matched_filter
from course_lib.data.english import English, english
from course_lib.data.firms import Economy, economy, r_squared
from course_lib.data.genes import Genes, draw_genes
from course_lib.data.grammar import Grammar, grammar
from course_lib.data.households import (
    Households,
    draw_spending,
    draw_wave,
    engel,
    spending,
    wave,
)
from course_lib.data.ledger import ledger
from course_lib.data.library_datasets import Digits, Macro, digits, macro
from course_lib.data.markov import Source, entropy
from course_lib.data.masked import IGNORE, Masked, best_guess, guess_losses, mask_words
from course_lib.data.numbers import Numbers, Phrases, numbers
from course_lib.data.pronouns import Pronoun, pronouns
from course_lib.data.receipts import Receipts, economics_questions, receipts
from course_lib.data.relations import (
    Warehouses,
    draw_warehouses,
    every_day,
    one_head_bound,
)
from course_lib.data.segments import (
    Continuations,
    continuations,
    frame,
    masked_segments,
)
from course_lib.data.sequences import NextToken, Pairs, induction, recall, reversal
from course_lib.data.sinusoids import Sinusoids, sinusoids
from course_lib.data.suppliers import SupplyNetworks, average_bound, draw_suppliers
from course_lib.data.trained import trained

__all__ = [
    "IGNORE",
    "MAJORITY_EXAMPLES",
    "SHAPES",
    "Continuations",
    "Digits",
    "Economy",
    "English",
    "Genes",
    "Grammar",
    "Households",
    "Labelled",
    "Macro",
    "Masked",
    "NextToken",
    "Numbers",
    "Pairs",
    "Phrases",
    "Pronoun",
    "Receipts",
    "Shapes",
    "Sinusoids",
    "Source",
    "SupplyNetworks",
    "Warehouses",
    "average_bound",
    "best_guess",
    "continuations",
    "digits",
    "draw_genes",
    "draw_spending",
    "draw_suppliers",
    "draw_warehouses",
    "draw_wave",
    "drawn_shapes",
    "economics_questions",
    "economy",
    "engel",
    "english",
    "entropy",
    "every_day",
    "frame",
    "grammar",
    "guess_losses",
    "induction",
    "late_majority",
    "ledger",
    "macro",
    "majority",
    "majority_class",
    "mask_words",
    "masked_segments",
    "matched_filter",
    "numbers",
    "one_head_bound",
    "pronouns",
    "r_squared",
    "recall",
    "receipts",
    "reversal",
    "sinusoids",
    "spending",
    "trained",
    "wave",
    "which_came_first",
]
