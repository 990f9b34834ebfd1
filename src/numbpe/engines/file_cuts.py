"""Where a large file of plain text may be cut, so that its parts can be read on different machines.

A place is looked for in a window of the raw bytes, without reading what stands before it. It must not
lie in a special token, wherever the search for these would begin, and repairing what is not UTF-8
must not reach over it.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias, cast

from numbpe.arrays import copy_text
from numbpe.corpus import FindCut
from numbpe.documents import BinaryReader, read_some
from numbpe.input_files import InputFile

WINDOW_NBYTES: Final = 1 << 16
_LONGEST_CHARACTER: Final = 4
_MOST_TRIALS: Final = 64

Span: TypeAlias = tuple[int, int]
FindPlace: TypeAlias = Callable[[bytes, int, int, list[Span]], int]
"""``find_place(window, start, stop, spans)``: a place to cut from ``start`` to ``stop``, -1 if there is
none. ``spans`` are all places where a special token is spelled, even if they overlap; the window is
UTF-8 for some way before ``start`` and after ``stop``, so that no other token reaches in."""


def find_between_pieces(find_cut: FindCut) -> FindPlace:
    """Return how to find a place where the pattern ends a piece, whatever stands before."""

    def find_place(window: bytes, start: int, stop: int, spans: list[Span]) -> int:
        text = copy_text(window)
        limit = stop
        for _ in range(_MOST_TRIALS):
            cut = int(find_cut(text, start, limit))
            within = [first for first, last in spans if first < cut < last]
            if cut < 0 or not within:
                return cut
            limit = min(within)
        return -1

    return find_place


def find_behind_token(token: bytes) -> FindPlace:
    """Return how to find the end of a special token that the search for them finds in any case.

    It takes the leftmost, and of several the longest: so none may reach over the first byte of this
    one, and none that begins there may be longer.
    """

    def is_found(span: Span, spans: list[Span]) -> bool:
        first, last = span
        return not any(a < first < b or (a == first and b > last) for a, b in spans)

    def find_place(window: bytes, start: int, stop: int, spans: list[Span]) -> int:
        inside = [span for span in spans if start <= span[0] and span[1] <= stop]
        candidates = [span for span in inside if window[slice(*span)] == token]
        for span in candidates[:_MOST_TRIALS]:
            if is_found(span, spans):
                return span[1]
        return -1

    return find_place


class FileCutter:
    """Cuts files.

    literals: the special tokens that are looked for in the text.
    find_place: how to find a place in a window.
    """

    def __init__(self, literals: Sequence[bytes], find_place: FindPlace) -> None:
        self._literals = tuple(dict.fromkeys(literals))
        self._longest = max(map(len, literals), default=0)
        self._find_place = find_place

    def find_cuts(self, file: InputFile, n_bytes: int, block_nbytes: int) -> list[int]:
        """Return ascending places in a file of ``n_bytes``, about ``block_nbytes`` apart.

        Where no place is found parts are longer.
        """
        cuts: list[int] = []
        with file.open() as reader:
            target = block_nbytes
            while target < n_bytes:
                cut = self._search(reader, file.name, target, min(target + block_nbytes, n_bytes))
                cuts += [cut] if cut > 0 else []
                target = max(target, cut) + block_nbytes
        return cuts

    def _search(self, reader: BinaryReader, name: str, first: int, stop: int) -> int:
        # What lies too near to one end of a window lies well inside the next.
        margin = self._longest + _LONGEST_CHARACTER
        for start in range(first, stop, WINDOW_NBYTES):
            cast(Any, reader).seek(start)
            window = _read_window(reader, name, WINDOW_NBYTES + 2 * margin)
            valid_start, valid_stop = _find_valid(window)
            place = self._find_place(
                window,
                valid_start + self._longest,
                valid_stop - self._longest,
                self._find_spans(window),
            )
            if place >= 0:
                return start + place
        return -1

    def _find_spans(self, window: bytes) -> list[Span]:
        spans = []
        for literal in self._literals:
            place = window.find(literal)
            while place >= 0:
                spans.append((place, place + len(literal)))
                place = window.find(literal, place + 1)
        return sorted(spans)


def _read_window(reader: BinaryReader, name: str, n_bytes: int) -> bytes:
    buffer = memoryview(bytearray(n_bytes))
    n_read = 0
    while n_read < n_bytes and (n_more := read_some(reader, buffer[n_read:], name)):
        n_read += n_more
    return bytes(buffer[:n_read])


def _find_valid(window: bytes) -> Span:
    """Return a stretch of whole characters; what follows its end is another, or not UTF-8."""
    start = 0
    while start < len(window) and window[start] & 0xC0 == 0x80:
        start += 1
    try:
        window[start:].decode("utf-8")
    except UnicodeDecodeError as error:
        return start, start + error.start
    return start, len(window)
