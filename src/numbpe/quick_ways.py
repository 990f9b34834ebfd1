"""How a text is encoded in the arrays of a thread: what a segmenter tells and an encoder does."""

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import TextArray

CutText: TypeAlias = Callable[[TextArray, NDArray[np.int64], int, str], int]
"""Writes the parts of a text, which begins the first array and ends at the third argument, to the second, see
Encoder.encode_parts; returns how many there are, 0 if they find no room. Its last argument is a SpecialPolicy."""

ChangeText: TypeAlias = Callable[[TextArray, int, NDArray[np.int64], int], int]
"""Normalizes the parts of the text that is the first so many bytes of an array, in their place; returns how long the
text is then, -1 for one that is left as it is since this is no quick way for it.

The parts are the first so many rows of the third argument, which are changed, too. A single one is all of the text,
whatever its row says."""


class QuickWay(NamedTuple):
    """What is done to a text before it is encoded, and to nothing but it.

    cut : cuts it at added tokens; None if it has none
    change : normalizes what is between these; None if all stays as it is
    """

    cut: CutText | None
    change: ChangeText | None


AS_IS: Final = QuickWay(None, None)
