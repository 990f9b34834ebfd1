"""Cutting parts of text into words, many words a call: the first half of encoding."""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.automaton import automaton_run_level, automaton_split
from numbpe_kernels.characters import CharacterTable, characters_cut
from numbpe_kernels.masks import BLOCK_NBYTES
from numbpe_kernels.scanner import Scanner
from numbpe_kernels.scanner_cl100k import scanner_cut_cl100k
from numbpe_kernels.scanner_deepseek import scanner_cut_deepseek
from numbpe_kernels.scanner_gpt2 import scanner_cut_gpt2
from numbpe_kernels.scanner_o200k import scanner_cut_o200k

PART = 0
POSITION = 1
N_ENDS = 2
SCAN_SIZE = 3
"""Places in ``scan``: the part at hand; where its next word begins, -1 before the part is begun; how
many ends the last call wrote."""

LEAST_ENDS = 128
"""Room in ``ends_out`` below which a call returns: what a scanner by masks needs to be quick."""

FEWEST_PIECES = 8
MOST_PIECES = 128
"""Pieces that the automaton cuts before masks are tried again: the fewest after a trial that went
well, twice as many after each that did not, so that text which masks cannot tell is not tried in
vain."""


@njit
def scan_seek(
    parts: NDArray[np.int64], scan: NDArray[np.int64], ends_out: NDArray[np.int64]
) -> bool:
    """Go to the next position that words follow; return whether there is one, and room.

    parts, scan, ends_out : as in scan_by_automaton. Writes PART and POSITION.
    """
    while scan[PART] < parts.shape[0]:
        if scan[POSITION] < 0:
            scan[POSITION] = parts[scan[PART], 0]
        if scan[POSITION] < parts[scan[PART], 1]:
            return ends_out.shape[0] - scan[N_ENDS] >= LEAST_ENDS
        scan[PART] += 1
        scan[POSITION] = -1
    return False


@njit
def scan_by_automaton(
    scanner: Scanner,
    level_stops: NDArray[np.int64],
    text: NDArray[np.uint8],
    parts: NDArray[np.int64],
    scan: NDArray[np.int64],
    ends_out: NDArray[np.int64],
) -> bool:
    """Write the ends of the next words of the parts; return whether that was all.

    level_stops : (levels,) int64, see automaton.automaton_split
    text : (n,) uint8 with padding
    parts : (p, 2 or more) int64, starts, stops and anything; an empty part has no word
    scan : (SCAN_SIZE,) int64, PART 0 and POSITION -1 before the first call
    ends_out : (>= 2 * LEAST_ENDS,) int64
    Writes level_stops, scan and ends_out. Linear.
    """
    scan[N_ENDS] = 0
    while scan_seek(parts, scan, ends_out):
        stop = parts[scan[PART], 1]
        rest = ends_out[scan[N_ENDS] :]
        scan[N_ENDS] += automaton_split(
            scanner.automaton, level_stops, text, scan[POSITION], stop, rest
        )
        scan[POSITION] = ends_out[scan[N_ENDS] - 1]
    return scan[PART] == parts.shape[0]


@njit
def scan_cl100k(
    scanner: Scanner,
    level_stops: NDArray[np.int64],
    text: NDArray[np.uint8],
    parts: NDArray[np.int64],
    scan: NDArray[np.int64],
    ends_out: NDArray[np.int64],
) -> bool:
    """Do as scan_by_automaton with a pattern of the cl100k family, which has one level.

    The arguments are as there, as for what is written, but for level_stops, which is not touched.
    """
    scan[N_ENDS] = 0
    n_pieces = FEWEST_PIECES
    while scan_seek(parts, scan, ends_out):
        stop = parts[scan[PART], 1]
        position = scan[POSITION]
        n_ends = scanner_cut_cl100k(scanner, text, position, stop, ends_out, scan[N_ENDS])
        if n_ends > scan[N_ENDS]:
            n_pieces = FEWEST_PIECES
            position = ends_out[n_ends - 1]
        # What masks could not tell, and the last piece of a part.
        limit = min(ends_out.shape[0], n_ends + n_pieces)
        if ends_out.shape[0] - n_ends >= BLOCK_NBYTES:
            n_ends = automaton_run_level(
                scanner.automaton, 0, text, position, stop, ends_out, n_ends, limit
            )
        n_pieces = min(2 * n_pieces, MOST_PIECES)
        scan[N_ENDS] = n_ends
        scan[POSITION] = ends_out[n_ends - 1]
    return scan[PART] == parts.shape[0]


@njit
def scan_deepseek(
    scanner: Scanner,
    level_stops: NDArray[np.int64],
    text: NDArray[np.uint8],
    parts: NDArray[np.int64],
    scan: NDArray[np.int64],
    ends_out: NDArray[np.int64],
) -> bool:
    """Do as scan_by_automaton, as for what is written, with the pattern of DeepSeek-V3."""
    scan[N_ENDS] = 0
    n_pieces = FEWEST_PIECES
    while scan_seek(parts, scan, ends_out):
        stop = parts[scan[PART], 1]
        position = scan[POSITION]
        n_ends = scanner_cut_deepseek(scanner, text, position, stop, ends_out, scan[N_ENDS])
        if n_ends > scan[N_ENDS]:
            n_pieces = FEWEST_PIECES
            position = ends_out[n_ends - 1]
        # What masks could not tell, and the last piece of a part.
        rest = ends_out[n_ends : min(ends_out.shape[0], n_ends + n_pieces)]
        if ends_out.shape[0] - n_ends >= BLOCK_NBYTES:
            n_ends += automaton_split(scanner.automaton, level_stops, text, position, stop, rest)
        n_pieces = min(2 * n_pieces, MOST_PIECES)
        scan[N_ENDS] = n_ends
        scan[POSITION] = ends_out[n_ends - 1]
    return scan[PART] == parts.shape[0]


@njit
def scan_gpt2(
    scanner: Scanner,
    level_stops: NDArray[np.int64],
    text: NDArray[np.uint8],
    parts: NDArray[np.int64],
    scan: NDArray[np.int64],
    ends_out: NDArray[np.int64],
) -> bool:
    """Do as scan_by_automaton with a pattern of the GPT-2 family, which has one level.

    The arguments are as there, as for what is written, but for level_stops, which is not touched.
    """
    scan[N_ENDS] = 0
    n_pieces = FEWEST_PIECES
    while scan_seek(parts, scan, ends_out):
        stop = parts[scan[PART], 1]
        position = scan[POSITION]
        n_ends = scanner_cut_gpt2(scanner, text, position, stop, ends_out, scan[N_ENDS])
        if n_ends > scan[N_ENDS]:
            n_pieces = FEWEST_PIECES
            position = ends_out[n_ends - 1]
        # What masks could not tell, and the last piece of a part.
        limit = min(ends_out.shape[0], n_ends + n_pieces)
        if ends_out.shape[0] - n_ends >= BLOCK_NBYTES:
            n_ends = automaton_run_level(
                scanner.automaton, 0, text, position, stop, ends_out, n_ends, limit
            )
        n_pieces = min(2 * n_pieces, MOST_PIECES)
        scan[N_ENDS] = n_ends
        scan[POSITION] = ends_out[n_ends - 1]
    return scan[PART] == parts.shape[0]


@njit
def scan_o200k(
    scanner: Scanner,
    level_stops: NDArray[np.int64],
    text: NDArray[np.uint8],
    parts: NDArray[np.int64],
    scan: NDArray[np.int64],
    ends_out: NDArray[np.int64],
) -> bool:
    """Do as scan_by_automaton with a pattern of the o200k family, which has one level.

    The arguments are as there, as for what is written, but for level_stops, which is not touched.
    """
    scan[N_ENDS] = 0
    n_pieces = FEWEST_PIECES
    while scan_seek(parts, scan, ends_out):
        stop = parts[scan[PART], 1]
        position = scan[POSITION]
        n_ends = scanner_cut_o200k(scanner, text, position, stop, ends_out, scan[N_ENDS])
        if n_ends > scan[N_ENDS]:
            n_pieces = FEWEST_PIECES
            position = ends_out[n_ends - 1]
        # What masks could not tell, and the last piece of a part.
        limit = min(ends_out.shape[0], n_ends + n_pieces)
        if ends_out.shape[0] - n_ends >= BLOCK_NBYTES:
            n_ends = automaton_run_level(
                scanner.automaton, 0, text, position, stop, ends_out, n_ends, limit
            )
        n_pieces = min(2 * n_pieces, MOST_PIECES)
        scan[N_ENDS] = n_ends
        scan[POSITION] = ends_out[n_ends - 1]
    return scan[PART] == parts.shape[0]


@njit
def scan_at_junctions(
    characters: CharacterTable,
    text: NDArray[np.uint8],
    parts: NDArray[np.int64],
    scan: NDArray[np.int64],
    ends_out: NDArray[np.int64],
) -> bool:
    """Do as scan_by_automaton where words end at the junctions that no token spans.

    text, parts, scan, ends_out : as there, as for what is written
    """
    n_ends = 0
    part = scan[PART]
    position = scan[POSITION]
    while part < parts.shape[0]:
        stop = parts[part, 1]
        if position < 0:
            position = parts[part, 0]
        while position < stop:
            if ends_out.shape[0] - n_ends < LEAST_ENDS:
                scan[PART] = part
                scan[POSITION] = position
                scan[N_ENDS] = n_ends
                return False
            rest = ends_out[n_ends:]
            n_ends += characters_cut(characters, text, position, stop, rest)
            position = ends_out[n_ends - 1]
        part += 1
        position = np.int64(-1)
    scan[PART] = part
    scan[N_ENDS] = n_ends
    return True


@njit
def scan_whole_parts(
    parts: NDArray[np.int64], scan: NDArray[np.int64], ends_out: NDArray[np.int64]
) -> bool:
    """Do as scan_by_automaton where each part is one word.

    parts : (p, 3) int64; scan : (SCAN_SIZE,) int64; ends_out : (k,) int64
    Writes scan and ends_out.
    """
    n_ends = 0
    part = scan[PART]
    while part < parts.shape[0] and n_ends < ends_out.shape[0]:
        if parts[part, 1] > parts[part, 0]:
            ends_out[n_ends] = parts[part, 1]
            n_ends += 1
        part += 1
    scan[PART] = part
    scan[N_ENDS] = n_ends
    return part == parts.shape[0]
