"""Data whose best attainable result is known, and loaders of data that libraries ship.

One small file a data set, NumPy only. Everything random takes an explicit `seed`, which
fixes it; every dataclass holds its known answer (an entropy rate, a noise floor, the R²
of an oracle) beside its arrays. A new module lists its names in `__all__`, and here it
adds one line.
"""

from course_lib.data.addresses import *
from course_lib.data.coded_sentences import *
from course_lib.data.drawn_shapes import *
from course_lib.data.english import *
from course_lib.data.firms import *
from course_lib.data.grammar import *
from course_lib.data.households import *
from course_lib.data.ledger import *
from course_lib.data.library_datasets import *
from course_lib.data.markov import *
from course_lib.data.masked import *
from course_lib.data.numbers import *
from course_lib.data.one_or_several import *
from course_lib.data.presidents import *
from course_lib.data.pronouns import *
from course_lib.data.receipts import *
from course_lib.data.recessions import *
from course_lib.data.segments import *
from course_lib.data.sequences import *
from course_lib.data.statements import *
from course_lib.data.trained import *
from course_lib.data.twins import *
from course_lib.data.windows import *
