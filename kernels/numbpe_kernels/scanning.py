"""Cutting parts of text into words, many words a call: the first half of encoding."""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.characters import CharacterTable, characters_cut
from numbpe_kernels.scanner import Scanner, scanner_split

PART = 0
POSITION = 1
N_ENDS = 2
SCAN_SIZE = 3
"""Places in ``scan``: the part at hand; where its next word begins, -1 before the part is begun; how
many ends the last call wrote."""

LEAST_ENDS = 128
"""Room in ``ends_out`` below which a call returns: what a scanner by masks needs to be quick."""


@njit
def scan_by_pattern(
    scanner: Scanner,
    level_stops: NDArray[np.int64],
    text: NDArray[np.uint8],
    parts: NDArray[np.int64],
    scan: NDArray[np.int64],
    ends_out: NDArray[np.int64],
) -> bool:
    """Write the ends of the next words of the parts; return whether that was all.

    level_stops : (levels,) int64, see automaton.automaton_split
    text : (n,) uint8 with padding; parts : (p, 3) int64, starts, stops and anything
    scan : (SCAN_SIZE,) int64, PART 0 and POSITION -1 before the first call
    ends_out : (>= 2 * LEAST_ENDS,) int64; an empty part has no word
    Writes level_stops, scan and ends_out. Linear.
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
            n_ends += scanner_split(scanner, level_stops, text, position, stop, rest)
            position = ends_out[n_ends - 1]
        part += 1
        position = np.int64(-1)
    scan[PART] = part
    scan[N_ENDS] = n_ends
    return True


@njit
def scan_at_junctions(
    characters: CharacterTable,
    text: NDArray[np.uint8],
    parts: NDArray[np.int64],
    scan: NDArray[np.int64],
    ends_out: NDArray[np.int64],
) -> bool:
    """Do as scan_by_pattern where words end at the junctions that no token spans.

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
    """Do as scan_by_pattern where each part is one word.

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
