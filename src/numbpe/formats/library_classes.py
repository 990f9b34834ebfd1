r"""Character classes that are built into the ``tokenizers`` library, as expressions of ours.

Its Punctuation and Digits ask tables of their own, of other Unicode versions than its regular
expressions: Punctuation one of about Unicode 8, with all ASCII symbols, Digits the one of Rust's
standard library. Both were read off tokenizers 0.23.3, character by character.
"""

from typing import Final

_LATER_PUNCTUATION: Final = (
    "61D 9FD A76 C77 C84 1B4E-1B4F 1B7D-1B7F 2E43-2E4F 2E52-2E5D 10D6E 10EAD 10F55-10F59 "
    "10F86-10F89 113D4-113D5 113D7-113D8 1144B-1144F 1145A-1145B 1145D 11660-1166C 116B9 "
    "1183B 11944-11946 119E2 11A3F-11A46 11A9A-11A9C 11A9E-11AA2 11B00-11B09 11BE1 "
    "11C41-11C45 11C70-11C71 11EF7-11EF8 11F43-11F4F 11FFF 12FF1-12FF2 16D6D-16D6F "
    "16E97-16E9A 16FE2 1E5FF 1E95E-1E95F"
)
r"""What ``\p{P}`` of Unicode 16 holds and the older table does not."""


def _write_intervals(intervals: str) -> str:
    parts = (interval.split("-") for interval in intervals.split())
    return "".join("-".join(f"\\x{{{end}}}" for end in ends) for ends in parts)


PUNCTUATION: Final = (
    r"[\p{P}$+<=>^`|~\x{166D}\x{111C9}&&[^" + _write_intervals(_LATER_PUNCTUATION) + "]]"
)
"""What Punctuation cuts at."""

NUMBER: Final = r"[\p{N}\x{11DE0}-\x{11DE9}\x{16FF4}-\x{16FF6}]"
"""What Digits cuts at."""

NUMERIC_LETTERS: Final = frozenset("0123456789\u00b2\u00b3\u00b9\u00bc\u00bd\u00be")
"""The letters that stand for bytes and that Digits takes for numbers, if it comes behind
ByteLevel."""
