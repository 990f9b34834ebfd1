"""Nodes of a regular expression to a program of threads, as a backtracking engine would run it.

An instruction either reads one character of a set, looks at the next character, forks into threads
in order of preference, or accepts. Possessive repeats of single characters become greedy ones that
may only be left where no further repetition is possible, which a look-ahead at one character says
exactly; other possessive groups are not known.
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from numbpe.code_point_sets import CodePointSet
from numbpe.regex_nodes import (
    Characters,
    Choice,
    LookAhead,
    Node,
    Repeat,
    RepeatMode,
    Sequence,
    UnsupportedPatternError,
    as_characters,
    can_be_empty,
)

MAX_INSTRUCTIONS = 20_000


class Action(Enum):
    """What an instruction does."""

    READ = "read"
    LOOK = "look"
    FORK = "fork"
    ACCEPT = "accept"


class Instruction(NamedTuple):
    """One step of a thread."""

    action: Action
    condition: int
    """READ, LOOK: position of what must hold of the next character in ``conditions``."""
    targets: tuple[int, ...]
    """Where to go on, the most preferred first."""


class Condition(NamedTuple):
    """What must hold of the next character; without one (end of text), ``at_end`` decides."""

    members: CodePointSet
    at_end: bool


@dataclass
class ThreadProgram:
    """The instructions of one split; ``conditions`` are shared by all splits of a pattern."""

    conditions: list[Condition]
    instructions: list[Instruction] = field(default_factory=list)
    entry: int = 0

    def add(self, action: Action, condition: int, *targets: int) -> int:
        """Add an instruction and return its position."""
        if len(self.instructions) >= MAX_INSTRUCTIONS:
            raise UnsupportedPatternError(f"more than {MAX_INSTRUCTIONS:,} steps")
        self.instructions.append(Instruction(action, condition, targets))
        return len(self.instructions) - 1

    def add_condition(self, members: CodePointSet, at_end: bool) -> int:
        """Return the position of a condition, which is added if it is new."""
        for number, known in enumerate(self.conditions):
            if known.at_end == at_end and known.members.key == members.key:
                return number
        self.conditions.append(Condition(members, at_end))
        return len(self.conditions) - 1

    def emit(self, node: Node, then: int) -> int:
        """Add instructions that match ``node`` and go on at ``then``; return the first of them."""
        match node:
            case Characters(members):
                return self.add(Action.READ, self.add_condition(members, False), then)
            case LookAhead(members, at_end):
                return self.add(Action.LOOK, self.add_condition(members, at_end), then)
            case Sequence(items):
                for item in reversed(items):
                    then = self.emit(item, then)
                return then
            case Choice(options):
                return self.add(Action.FORK, -1, *[self.emit(option, then) for option in options])
            case Repeat():
                return self.emit_repeat(node, then)

    def emit_repeat(self, repeat: Repeat, then: int) -> int:
        """Add instructions for ``repeat``; as ``emit`` does."""
        item, minimum, maximum, mode = repeat.item, repeat.minimum, repeat.maximum, repeat.mode
        leave_if: int | None = None
        if mode is RepeatMode.POSSESSIVE and not (minimum == maximum == 1 and _is_fixed(item)):
            item, minimum, maximum = _simplify_possessive(repeat)
            members = as_characters(item)
            if members is None:
                raise UnsupportedPatternError("a possessive repeat of more than one character")
            leave_if = self.add_condition(~members, at_end=True)
        if can_be_empty(item) and (maximum is None or maximum > 1):
            raise UnsupportedPatternError("a repeat of what may be empty")

        def emit_fork(repeated: int) -> tuple[int, int]:
            leave = then if leave_if is None else self.add(Action.LOOK, leave_if, then)
            return (leave, repeated) if mode is RepeatMode.LAZY else (repeated, leave)

        if maximum is None:
            fork = self.add(Action.FORK, -1)
            targets = emit_fork(self.emit(item, fork))
            self.instructions[fork] = Instruction(Action.FORK, -1, targets)
            first = fork
        else:
            first = then
            for _ in range(maximum - minimum):
                first = self.add(Action.FORK, -1, *emit_fork(self.emit(item, first)))
        for _ in range(minimum):
            first = self.emit(item, first)
        return first


def _is_fixed(node: Node) -> bool:
    """Return whether ``node`` matches in one way at most, so that an atomic group changes nothing."""
    match node:
        case Characters() | LookAhead():
            return True
        case Sequence(items):
            return all(_is_fixed(item) for item in items)
        case Repeat(item, minimum, maximum):
            return minimum == maximum == 1 and _is_fixed(item)
        case _:
            return as_characters(node) is not None


def _simplify_possessive(repeat: Repeat) -> tuple[Node, int, int | None]:
    """Return item and bounds; an atomic group around a greedy repeat is that repeat, possessive."""
    inner = repeat.item
    if (
        repeat.minimum == repeat.maximum == 1
        and isinstance(inner, Repeat)
        and inner.mode is not RepeatMode.LAZY
    ):
        return inner.item, inner.minimum, inner.maximum
    return repeat.item, repeat.minimum, repeat.maximum


def build_program(node: Node, conditions: list[Condition]) -> ThreadProgram:
    """Return the program of ``node``; what it asks of characters is added to ``conditions``."""
    program = ThreadProgram(conditions)
    accept = program.add(Action.ACCEPT, -1)
    program.entry = program.emit(node, accept)
    return program
