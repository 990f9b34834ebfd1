"""Proof of where text may be cut: between which classes of characters a piece always ends.

Between a character of class A and one of class B text may be cut if, whatever comes before and
after, cutting there changes no piece: the text before, on its own, gives the pieces it gave, and so
does the text from there on.

The proof looks at every configuration that the automaton can be in: its state, and the characters
read since the end of the last match, because when no longer match comes these are read again from
there. They are known if they are at most MAX_PENDING; if more, what comes out of reading them again
is taken for unsafe. A configuration that has just read A then reads B, and, to compare, the end of
the text.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from numbpe.automaton_builder import StateTable

# Two characters suffice for the contractions of o200k; with four, its proof took 0.75 s and found no
# more cuts in any of the named patterns but clip.
MAX_PENDING = 2
MAX_CONFIGURATIONS = 4_000
DEAD = -1
PIECE_START = -1
"""The position of a boundary at a piece's start that lies further back than is known."""


class Configuration(NamedTuple):
    """Where a run of the automaton stands after reading some text."""

    state: int
    pending: tuple[int, ...] | None
    """Classes read since the last match ended, or since the piece began. None: more than known, or
    of no interest because another match is certain."""
    has_match: bool
    """Whether the piece has a match so far."""
    in_gap: bool
    """Whether text without a match lies before the piece, and will go on if it finds no match."""


PIECE = Configuration(0, (), has_match=False, in_gap=False)
GAP = Configuration(0, (), has_match=False, in_gap=True)


class Step(NamedTuple):
    """What reading one character does."""

    boundaries: tuple[int, ...]
    """Where pieces are found to end: the number of characters from there to the one read, or
    PIECE_START."""
    following: Configuration
    begins: bool
    """Whether the character read is the first of its piece, or lies in a gap."""


class UnknownRereadError(Exception):
    """Characters that are not known would be read again."""


class TooManyConfigurationsError(Exception):
    """The proof would take too long."""


class _Process:
    """The run of one split, with all the reading again of a kernel."""

    def __init__(self, table: "StateTable") -> None:
        self.next_states: list[list[int]] = table.next_states.tolist()
        self.matches: list[list[bool]] = table.matches.tolist()
        self.fallible: list[bool] = table.find_fallible().tolist()
        self.n_classes = table.n_classes

    def step(self, configuration: Configuration, class_id: int) -> Step:
        """Read a character, and again what has to be read again.

        Raises UnknownRereadError if the outcome depends on characters that are not known.
        """
        boundaries: list[int] = []
        begins = configuration.state == 0
        todo = [class_id]  # Classes to read, the next one last, so that the first is class_id.
        while todo:
            class_id = todo.pop()
            state, pending, has_match, in_gap = configuration
            following = self.next_states[state][class_id]
            if self.matches[state][class_id]:
                if in_gap:
                    start = PIECE_START if pending is None else len(pending) + len(todo)
                    boundaries.append(start)
                pending, has_match, in_gap = (), True, False
            if following != DEAD:
                begins = state == 0
                pending = self._append(following, pending, class_id)
                configuration = Configuration(following, pending, has_match, in_gap)
                continue
            if pending is None:
                raise UnknownRereadError
            if has_match:
                boundaries.append(len(pending) + len(todo))
            todo += [class_id, *reversed(pending)]
            configuration = PIECE
            if not has_match:
                todo.pop()  # No match begins at the first of these, which goes to a gap.
                configuration = GAP
                begins = not todo
        return Step(tuple(boundaries), configuration, begins)

    def _append(
        self, state: int, pending: tuple[int, ...] | None, class_id: int
    ) -> tuple[int, ...] | None:
        """Return what is pending in ``state``, which was reached by reading ``class_id``."""
        if pending is None or len(pending) == MAX_PENDING or not self.fallible[state]:
            return None
        return (*pending, class_id)


class _Cuts(NamedTuple):
    """Of one split, both (n classes, n classes) bool, for what was read left and right of a cut."""

    always_begins: NDArray[np.bool_]
    """A piece, or one more character of a gap, begins there whatever the context, and what lies to
    the left is cut as if the text ended there."""
    always_ends: NDArray[np.bool_]
    """Besides, a piece always ends there: the cut is not inside a gap."""


def _analyse_split(table: "StateTable") -> _Cuts:
    process = _Process(table)
    n_classes = process.n_classes
    begins = [[True] * n_classes for _ in range(n_classes)]
    ends = [[True] * n_classes for _ in range(n_classes)]
    found: dict[tuple[Configuration, int], None] = {(PIECE, -1): None}
    todo = list(found)
    while todo:
        configuration, left = todo.pop()
        if len(found) > MAX_CONFIGURATIONS:
            raise TooManyConfigurationsError
        boundaries_at_end = _find_boundaries_at_end(process, configuration)
        for right in range(n_classes):
            try:
                step = process.step(configuration, right)
            except UnknownRereadError:
                # What is read again is a text of its own, so that what it leads to is found from
                # PIECE; or it lies behind a gap.
                reached = (GAP, -1)
                is_begin = is_end = False
            else:
                reached = (step.following, right)
                is_begin, is_end = _judge(process, step, boundaries_at_end)
            if left >= 0:
                begins[left][right] &= is_begin
                ends[left][right] &= is_end
            if reached not in found:
                found[reached] = None
                todo.append(reached)
    return _Cuts(np.array(begins, dtype=np.bool_), np.array(ends, dtype=np.bool_))


def _find_boundaries_at_end(
    process: _Process, configuration: Configuration
) -> tuple[int, ...] | None:
    """Return the boundaries before the very end if the text ends here; None if not known."""
    try:
        boundaries = process.step(configuration, process.n_classes).boundaries
    except UnknownRereadError:
        return None
    return tuple(boundary for boundary in boundaries if boundary != 0)


def _judge(
    process: _Process, step: Step, boundaries_at_end: tuple[int, ...] | None
) -> tuple[bool, bool]:
    """Return whether the character just read begins anew, and whether a piece ends before it."""
    before = tuple(boundary for boundary in step.boundaries if boundary != 0)
    if not step.begins or before != boundaries_at_end:
        return False, False
    # In a gap, a piece ends before this character if a match is certain to begin with it.
    state = step.following.state
    begins_match = step.following.in_gap and state != 0 and not process.fallible[state]
    return True, 0 in step.boundaries or begins_match


def find_safe_pairs(tables: Sequence["StateTable"]) -> NDArray[np.uint8]:
    """Return (n classes, n classes) uint8: 1 where text may be cut between two characters.

    ``tables`` are the splits of a pattern in order. A later split cuts each piece of the one before,
    so a cut is safe if a piece of one split always ends there, and if in every split before that the
    cut at most divides a gap, of which both parts are then what they were.

    Nothing is safe if the proof would take more than MAX_CONFIGURATIONS.
    """
    n_classes = tables[0].n_classes
    safe = np.zeros((n_classes, n_classes), dtype=np.bool_)
    begins_so_far = np.ones_like(safe)
    for table in tables:
        try:
            cuts = _analyse_split(table)
        except TooManyConfigurationsError:
            break
        safe |= begins_so_far & cuts.always_ends
        begins_so_far &= cuts.always_begins
    return safe.astype(np.uint8)
