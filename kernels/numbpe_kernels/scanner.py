"""What cutting text into pieces needs to know of a pattern, for every kind of scanner.

A pattern of a known family is cut by bit masks over blocks of 64 bytes (``scanner_gpt2`` and so on):
each class of characters is one uint64 with a bit for every byte, and the starts of pieces are
boolean algebra on these words; what crosses the border of a block is carried in single bits. What
masks cannot tell, and patterns of other kinds, are cut by the automaton, whose pieces these equal.
"""

from typing import NamedTuple

from numbpe_kernels.automaton import Automaton
from numbpe_kernels.class_masks import ClassTable
from numbpe_kernels.junction_table import JunctionTable

RULE_LONG_NUMBERS = 1
RULE_CONTRACTIONS = 2
RULE_MARKS_IN_WORDS = 4
RULE_SLASHES = 8
RULE_HAN_APART = 16
"""In which the patterns of a family differ: whether up to three numbers are one piece, or one;
whether there are contractions; whether marks are letters; whether slashes may follow punctuation
and newlines; whether Han is a word of its own."""


class Scanner(NamedTuple):
    """A pattern, ready to cut.

    rules : int64, sum of RULE_*, for the masks of its family
    automaton : see automaton.Automaton; knows all cases
    classes : see class_masks.ClassTable; of any content where no masks are used
    junctions : see junction_table.JunctionTable; where they are not empty, scanners by masks cut
        pieces of Thai, Chinese, Japanese and Korean where no token can span, too
    """

    rules: int
    automaton: Automaton
    classes: ClassTable
    junctions: JunctionTable
