"""What a regular expression is made of, once parsed."""

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from numbpe.code_point_sets import NO_CODE_POINT, CodePointSet


class RepeatMode(Enum):
    """How a repeat chooses among the numbers of repetitions that are possible."""

    GREEDY = "greedy"
    LAZY = "lazy"
    POSSESSIVE = "possessive"


@dataclass(frozen=True)
class Characters:
    """One character of a set."""

    members: CodePointSet


@dataclass(frozen=True)
class Sequence:
    """One item after another; none: the empty string."""

    items: tuple["Node", ...]


@dataclass(frozen=True)
class Choice:
    """The first of the options that leads to a match."""

    options: tuple["Node", ...]


@dataclass(frozen=True)
class Repeat:
    """An item from ``minimum`` to ``maximum`` times (None: without limit)."""

    item: "Node"
    minimum: int
    maximum: int | None
    mode: RepeatMode


@dataclass(frozen=True)
class LookAhead:
    """The next character is one of ``members``, or, if ``at_end``, there is none; reads nothing."""

    members: CodePointSet
    at_end: bool


Node: TypeAlias = Characters | Sequence | Choice | Repeat | LookAhead


class UnsupportedPatternError(Exception):
    """A pattern holds something that this parser or the automaton does not know; says what."""


def can_be_empty(node: Node) -> bool:
    """Return whether ``node`` may match without reading a character."""
    match node:
        case Characters():
            return False
        case LookAhead():
            return True
        case Sequence(items):
            return all(can_be_empty(item) for item in items)
        case Choice(options):
            return any(can_be_empty(option) for option in options)
        case Repeat(item, minimum):
            return minimum == 0 or can_be_empty(item)


def as_characters(node: Node) -> CodePointSet | None:
    """Return the set if ``node`` always reads exactly one character of a set, else None."""
    match node:
        case Characters(members):
            return members
        case Sequence((item,)):
            return as_characters(item)
        case Choice(options):
            union = NO_CODE_POINT
            for option in options:
                members_of_option = as_characters(option)
                if members_of_option is None:
                    return None
                union = union | members_of_option
            return union
        case _:
            return None


def as_look_ahead(node: Node) -> LookAhead | None:
    """Return what ``node`` asks of the next character, if looking at one decides it, else None."""
    members = as_characters(node)
    if members is not None:
        return LookAhead(members, at_end=False)
    match node:
        case LookAhead():
            return node
        case Sequence((item,)):
            return as_look_ahead(item)
        case Choice(options):
            parts = [as_look_ahead(option) for option in options]
            union = LookAhead(NO_CODE_POINT, at_end=False)
            for part in parts:
                if part is None:
                    return None
                union = LookAhead(union.members | part.members, union.at_end or part.at_end)
            return union
        case _:
            return None
