"""Which texts a pattern matches for certain: whether it leaves nothing between its matches."""

from typing import Final

from numbpe.code_point_sets import NO_CODE_POINT, CodePointSet
from numbpe.regex_nodes import Characters, Choice, LookAhead, Node, Repeat, RepeatMode, Sequence

_PRINTABLE_ASCII: Final = CodePointSet.from_intervals([(0x21, 0x7E)])


def covers_every_text(node: Node) -> bool:
    """Return whether a match begins wherever one may; False also if that cannot be proved."""
    return len(~find_certain_starts(node)) == 0


def find_certain_starts(node: Node) -> CodePointSet:
    """Return characters at which ``node`` matches something, whatever comes after them."""
    match node:
        case Characters(members):
            return members
        case Choice(options):
            found = NO_CODE_POINT
            for option in options:
                found = found | find_certain_starts(option)
            return found
        case Repeat(item, minimum):
            return find_certain_starts(item) if minimum <= 1 else NO_CODE_POINT
        case Sequence(items):
            return _find_certain_starts_of_items(items)
    return NO_CODE_POINT


def _find_certain_starts_of_items(items: tuple[Node, ...]) -> CodePointSet:
    """Return the characters that the first item that must be there matches.

    The items before it may be left out, and those behind it too; what those before would take and
    not give back does not count.
    """
    taken = NO_CODE_POINT
    for position, item in enumerate(items):
        if not _may_be_left_out(item):
            if all(map(_may_be_left_out, items[position + 1 :])):
                return find_certain_starts(item) - taken
            return NO_CODE_POINT
        assert isinstance(item, Repeat)
        if item.mode is RepeatMode.POSSESSIVE:
            taken = taken | _find_possible_starts(item.item)
    return NO_CODE_POINT


def _may_be_left_out(node: Node) -> bool:
    return isinstance(node, Repeat) and node.minimum == 0


def _find_possible_starts(node: Node) -> CodePointSet:
    """Return all characters that a match may begin with, or more."""
    match node:
        case Characters(members):
            return members
        case Choice(options):
            found = NO_CODE_POINT
            for option in options:
                found = found | _find_possible_starts(option)
            return found
        case LookAhead():
            return NO_CODE_POINT
    return ~NO_CODE_POINT


def is_printable_ascii(node: Node) -> bool:
    """Return whether all that ``node`` can match is printable ASCII, without looking further."""
    match node:
        case Characters(members):
            return len(members - _PRINTABLE_ASCII) == 0
        case Choice(parts) | Sequence(parts):
            return all(map(is_printable_ascii, parts))
        case Repeat(item):
            return is_printable_ascii(item)
    return False
