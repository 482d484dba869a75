"""Configurations of models and of training: frozen, named, checked when made.

They hold plain numbers and know no framework, so both wings take the same one, and it
can be written beside the weights that it belongs to.
"""

from course_lib.config.bert import *
from course_lib.config.experts import *
from course_lib.config.forecaster import *
from course_lib.config.gpt import *
from course_lib.config.quantization import *
from course_lib.config.rotary import *
from course_lib.config.sampling import *
from course_lib.config.scoring import *
from course_lib.config.seq2seq import *
from course_lib.config.training import *
from course_lib.config.transformer import *
from course_lib.config.vit import *
