"""What the authors of Combinatorial BPE report, and what their program was seen to take.

Characters per token are those of REPORT.md and results/*.json of
https://github.com/SwayStar123/CombinatorialBPE: Wikipedia, 36 to 40 million characters trained on and
3 million held out; for code the mean of Python, Java, JavaScript, C++ and Go, each trained alone. Lists
go with ROWS; None where no figure is given.
"""

from typing import Final

ROWS: Final = (4_096, 8_192, 16_384, 32_768, 65_536)

Figures = list[float | None]

REPORTED: Final[dict[str, dict[str, Figures]]] = {
    "english": {
        "plain": [3.214, 3.657, 4.075, 4.408, 4.641],
        "full": [4.061, 4.678, 5.197, 5.570, 5.809],
        "no case": [3.799, 4.414, 4.974, 5.404, 5.711],
        "no affixes": [2.344, None, None, None, 2.832],
    },
    "ru": {
        "plain": [2.901, 3.339, 3.767, 4.175, 4.539],
        "full": [3.778, 4.455, 5.129, 5.761, 6.324],
        "no case": [3.565, 4.207, 4.852, 5.509, 6.098],
        "no affixes": [2.389, None, None, None, 3.196],
    },
    "zh": {
        "plain": [1.156, 1.356, 1.519, 1.686, 1.837],
        "full": [1.318, 1.581, 1.791, 2.006, 2.198],
        "no case": [1.310, 1.574, 1.781, 1.998, 2.192],
        "no affixes": [1.146, None, None, None, 1.741],
        "han": [1.431, 1.655, 1.884, 2.094, 2.286],
    },
    "hi": {
        "plain": [2.980, 3.381, 3.703, 3.955, 4.129],
        "full": [3.578, 4.081, 4.486, 4.787, 4.987],
        "no case": [3.564, 4.062, 4.464, 4.766, 4.969],
        "no affixes": [2.080, None, None, None, 2.485],
    },
    "code": {
        "plain": [None, None, 3.729, None, None],
        "full": [None, None, 5.077, None, None],
        "camel": [5.454, 6.072, 6.411, 6.576, 6.641],
    },
}

REPORTED_AFFIXES: Final[dict[str, list[tuple[int, int]]]] = {
    "english": [(29, 27), (53, 48), (108, 80), (219, 141), (319, 195)],
    "ru": [(39, 30), (68, 44), (123, 67), (192, 113), (354, 185)],
    "zh": [(22, 69), (40, 100), (73, 187), (155, 342), (272, 530)],
    "hi": [(40, 36), (81, 56), (165, 92), (318, 161), (501, 241)],
}
"""Rows for prefixes and suffixes."""

REFERENCE_SPEED: Final = {"encode_cold": 0.7, "encode": (1.0, 3.0), "decode": (2.6, 7.3)}
"""MB/s of the authors' program on code, on one core; measured once, not on this machine."""

REFERENCE_TRAINING_SECONDS: Final = 12
"""For 6 MB of English and 8,192 rows, measured in the same way."""
