"""Programs of threads to tables that a kernel runs over text.

A state is the ordered list of threads that a backtracking engine would still have to try; a thread
behind one that has accepted can never win and is cut off. States are stored before their forks and
look-aheads are followed, and these are followed with the next character known: so a match is
reported one character late, and looking ahead at one character costs nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from numbpe.code_point_sets import END_OF_CODE_POINTS, partition_code_points
from numbpe.regex_nodes import Node, UnsupportedPatternError
from numbpe.safe_cuts import find_safe_pairs
from numbpe.thread_program import Action, Condition, ThreadProgram, build_program
from numbpe_kernels.automaton import (
    ATTEMPT_FLAG,
    BOUNDARY_FLAG,
    FALL_FLAG,
    MARK_FLAG,
    N_FLAG_BITS,
    PAGE_SIZE,
    RARE_FLAG,
    Automaton,
)

MAX_STATES = 5_000
MAX_CLASSES = 250
DEAD = -1


@dataclass(frozen=True)
class StateTable:
    """The automaton of one split, which starts in state 0 and never returns to it.

    ``next_states`` (n states, n classes + 1) int64: the state after reading a character of a class,
    DEAD if no thread is left; the last column is the end of the text. ``matches``, same shape, bool:
    whether a match ends before that character. An empty match counts as none.
    """

    next_states: NDArray[np.int64]
    matches: NDArray[np.bool_]

    @property
    def n_classes(self) -> int:
        """Number of classes of characters."""
        return int(self.next_states.shape[1]) - 1

    def find_fallible(self) -> NDArray[np.bool_]:
        """Return for each state whether its threads may all die before another match is found."""
        dies = ~self.matches & (self.next_states == DEAD)
        fallible: NDArray[np.bool_] = dies.any(axis=1)
        while True:
            leads_there = ~self.matches & (self.next_states != DEAD) & fallible[self.next_states]
            grown = fallible | leads_there.any(axis=1)
            if np.array_equal(grown, fallible):
                return fallible
            fallible = grown


class _ThreadStepper:
    """Moves single threads of a program over a character of a class, and remembers the results."""

    def __init__(self, program: ThreadProgram, allowed: list[list[bool]]) -> None:
        self.instructions = program.instructions
        self.allowed = allowed
        self.known: dict[tuple[int, int], tuple[tuple[int, ...], bool]] = {}

    def step(self, position: int, class_id: int) -> tuple[tuple[int, ...], bool]:
        """Return where the thread goes, in order of preference, and whether it accepts after these.

        What comes behind an accepting branch is left out.
        """
        key = (position, class_id)
        if key not in self.known:
            self.known[key] = self._follow(position, self.allowed[class_id])
        return self.known[key]

    def _follow(self, position: int, allowed: list[bool]) -> tuple[tuple[int, ...], bool]:
        targets: list[int] = []
        seen: set[int] = set()
        stack = [position]
        while stack:
            current = stack.pop()
            if current in seen:
                continue
            seen.add(current)
            action, condition, following = self.instructions[current]
            if action is Action.ACCEPT:
                return tuple(targets), True
            if action is Action.FORK:
                stack.extend(reversed(following))
            elif allowed[condition]:
                if action is Action.LOOK:
                    stack.append(following[0])
                else:
                    targets.append(following[0])
        return tuple(targets), False


def build_state_table(program: ThreadProgram, allowed: NDArray[np.bool_]) -> StateTable:
    """Return all states that can be reached.

    ``allowed`` is (n classes + 1, n conditions): whether a condition holds of a class.
    """
    stepper = _ThreadStepper(program, allowed.tolist())
    numbers: dict[tuple[int, ...], int] = {}
    states: list[tuple[int, ...]] = [(program.entry,)]
    rows: list[list[int]] = []
    match_rows: list[list[bool]] = []
    while len(rows) < len(states):
        threads = states[len(rows)]
        row: list[int] = []
        match_row: list[bool] = []
        for class_id in range(len(allowed)):
            following: dict[int, None] = {}
            accepted = False
            for thread in threads:
                targets, accepted = stepper.step(thread, class_id)
                following.update(dict.fromkeys(targets))
                if accepted:
                    break
            key = tuple(following)
            number = DEAD
            if key:
                number = numbers.setdefault(key, len(states))
                if number == len(states):
                    states.append(key)
            row.append(number)
            match_row.append(accepted and bool(rows))
        rows.append(row)
        match_rows.append(match_row)
        if len(states) > MAX_STATES:
            raise UnsupportedPatternError(f"more than {MAX_STATES:,} states")
    return StateTable(np.array(rows, dtype=np.int64), np.array(match_rows, dtype=np.bool_))


def build_transitions(table: StateTable) -> NDArray[np.int64]:
    """Return the transitions of one split for the kernel, (n states + 1, n classes + 1).

    The last row is for text that no match covers, before the next match. An entry is the number of
    the next row, shifted by N_FLAG_BITS, and flags; see ``numbpe_kernels.automaton``.
    """
    n_states = len(table.next_states)
    gap = n_states
    fallible = table.find_fallible()
    first_row = table.next_states[0]
    restarted = np.where(first_row == DEAD, gap, first_row)
    dies = table.next_states == DEAD
    rows = np.where(dies, np.broadcast_to(restarted, dies.shape), table.next_states)
    flags = np.where(dies & table.matches, BOUNDARY_FLAG, 0)
    flags[dies & ~table.matches] = FALL_FLAG | RARE_FLAG
    marks = ~dies & table.matches & fallible[table.next_states]
    flags[marks] = MARK_FLAG | RARE_FLAG
    flags[0] = 0
    gap_flags = np.where(first_row == DEAD, 0, BOUNDARY_FLAG)
    gap_flags[(first_row != DEAD) & fallible[first_row]] = ATTEMPT_FLAG | RARE_FLAG
    gap_flags[-1] = BOUNDARY_FLAG
    transitions: NDArray[np.int64] = (np.vstack([rows, restarted]) << N_FLAG_BITS) | np.vstack(
        [flags, gap_flags]
    )
    return transitions


def build_class_pages(
    run_starts: NDArray[np.int32], run_classes: NDArray[np.int64]
) -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
    """Return the page number of every PAGE_SIZE code points, and the distinct pages of classes."""
    lengths = np.diff(run_starts, append=np.int32(END_OF_CODE_POINTS))
    classes = np.repeat(run_classes.astype(np.uint8), lengths)
    rows = classes.reshape(-1, PAGE_SIZE)
    # Most pages are like the one before.
    is_new = np.ones(len(rows), dtype=np.bool_)
    np.any(rows[1:] != rows[:-1], axis=1, out=is_new[1:])
    number_of_page: dict[bytes, int] = {}
    new_numbers = [
        number_of_page.setdefault(row.tobytes(), len(number_of_page)) for row in rows[is_new]
    ]
    pages = np.array(new_numbers, dtype=np.uint16)[np.cumsum(is_new) - 1]
    content = np.frombuffer(b"".join(number_of_page), dtype=np.uint8).copy()
    return pages, content


def build_automaton(splits: Sequence[Node]) -> Automaton:
    """Return the automaton that cuts text by each of ``splits`` in turn.

    Raises UnsupportedPatternError for what would be too large or is not known to be exact.
    """
    conditions: list[Condition] = []
    programs = [build_program(node, conditions) for node in splits]
    starts, classes, membership = partition_code_points([c.members for c in conditions])
    n_classes = len(membership)
    if n_classes > MAX_CLASSES:
        raise UnsupportedPatternError(f"more than {MAX_CLASSES} classes of characters")
    at_end = np.array([[condition.at_end for condition in conditions]], dtype=np.bool_)
    allowed = np.vstack([membership, at_end])
    tables = [build_state_table(program, allowed) for program in programs]
    transitions = [build_transitions(table) for table in tables]
    row_length = n_classes + 1
    first_rows = np.cumsum([0] + [len(part) for part in transitions])
    stacked = np.vstack(
        [
            part + (int(first_row) << N_FLAG_BITS)
            for part, first_row in zip(transitions, first_rows[:-1], strict=True)
        ]
    )
    flags = stacked & ((1 << N_FLAG_BITS) - 1)
    offsets = ((stacked >> N_FLAG_BITS) * row_length) << N_FLAG_BITS
    page_numbers, pages = build_class_pages(starts, classes)
    return Automaton(
        ascii_classes=pages[int(page_numbers[0]) * PAGE_SIZE :][:128].copy(),
        page_numbers=page_numbers,
        pages=pages,
        transitions=(offsets | flags).astype(np.int32).ravel(),
        start_rows=first_rows[:-1].astype(np.int64) * row_length,
        gap_rows=(first_rows[1:].astype(np.int64) - 1) * row_length,
        safe_pairs=find_safe_pairs(tables),
    )
