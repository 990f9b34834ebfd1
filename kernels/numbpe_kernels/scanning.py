"""Cutting parts of text into words, many words a call: the first half of encoding."""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.automaton import automaton_run_level, automaton_split
from numbpe_kernels.characters import CharacterTable, characters_cut
from numbpe_kernels.junctions import NONE_WHOLE, junctions_cut_word, junctions_find_least
from numbpe_kernels.masks import BLOCK_NBYTES
from numbpe_kernels.scanner import Scanner
from numbpe_kernels.scanner_cl100k import scanner_cut_cl100k
from numbpe_kernels.scanner_deepseek import scanner_cut_deepseek
from numbpe_kernels.scanner_gpt2 import scanner_cut_gpt2
from numbpe_kernels.scanner_o200k import scanner_cut_o200k

PART = 0
POSITION = 1
N_ENDS = 2
HAS_UNCUT = 3
SCAN_SIZE = 4
"""Places in ``scan``: the part at hand; where its next word begins, -1 before the part is begun; how
many ends the last call wrote; whether there may be words among them to be cut at junctions."""

LEAST_ENDS = 128
"""Room in ``ends_out`` below which a call returns: what a scanner by masks needs to be quick."""

FEWEST_PIECES = 8
MOST_PIECES = 128
"""Pieces that the automaton cuts before masks are tried again: the fewest after a trial that went
well, twice as many after each that did not, so that text which masks cannot tell is not tried in
vain."""

_NOT_ASCII = np.uint8(0x80)


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
    scan[HAS_UNCUT] = 1
    while scan_seek(parts, scan, ends_out):
        stop = parts[scan[PART], 1]
        rest = ends_out[scan[N_ENDS] :]
        scan[N_ENDS] += automaton_split(
            scanner.automaton, level_stops, text, scan[POSITION], stop, rest
        )
        scan[POSITION] = ends_out[scan[N_ENDS] - 1]
    return scan[PART] == parts.shape[0]


@njit
def scan_take_ends(
    scan: NDArray[np.int64],
    ends_out: NDArray[np.int64],
    n_ends: int,
    has_uncut: bool,
    n_pieces: int,
) -> int:
    """Note what masks have cut; return how many pieces the automaton is to cut now, int64.

    scan : (SCAN_SIZE,) int64; ends_out : (k,) int64; n_ends : int64, entries there, of which those since
        scan[N_ENDS] are new; has_uncut : see scanner_gpt2.scanner_cut_gpt2
    n_pieces : int64, how many pieces it cut the last time
    Writes scan.
    """
    if has_uncut:
        scan[HAS_UNCUT] = 1
    n_pieces = min(2 * n_pieces, MOST_PIECES)
    if n_ends > scan[N_ENDS]:
        n_pieces = FEWEST_PIECES
        scan[POSITION] = ends_out[n_ends - 1]
        scan[N_ENDS] = n_ends
    return n_pieces


@njit
def scan_cut_piece(
    scanner: Scanner,
    text: NDArray[np.uint8],
    scan: NDArray[np.int64],
    ends_out: NDArray[np.int64],
    n_ends: int,
) -> int:
    """Cut a piece of the automaton at junctions; return how many entries there are then, int64.

    text : (n,) uint8 with padding; scan : (SCAN_SIZE,) int64, POSITION is where the piece begins
    ends_out : (k,) int64, of which entry ``n_ends``, int64, is where it ends. Writes scan and ends_out.
    """
    position, end = scan[POSITION], ends_out[n_ends]
    scan[POSITION] = end
    first, stop, place = np.uint64(position), np.uint64(end), np.uint64(n_ends)
    least = junctions_find_least(text, first, np.uint64(NONE_WHOLE))
    if text[end - 1] < _NOT_ASCII or stop - first < least:
        return n_ends + 1
    if ends_out.shape[0] - n_ends < end - position:
        # There may be more junctions than room for them: the word is looked at once more.
        scan[HAS_UNCUT] = 1
        return n_ends + 1
    return np.int64(junctions_cut_word(scanner.junctions, text, first, stop, ends_out, place))


@njit
def scan_pieces(
    scanner: Scanner,
    text: NDArray[np.uint8],
    stop: int,
    scan: NDArray[np.int64],
    ends_out: NDArray[np.int64],
    n_pieces: int,
) -> None:
    """Cut pieces by the automaton: what masks could not tell, and the last piece of a part.

    text : (n,) uint8 with padding; stop, n_pieces : int64, where the part ends, and how many at most
    scan, ends_out : as in scan_by_automaton. Writes both; nothing where BLOCK_NBYTES ends find no room.
    """
    automaton, n_ends = scanner.automaton, scan[N_ENDS]
    if ends_out.shape[0] - n_ends < BLOCK_NBYTES:
        return
    limit = min(ends_out.shape[0], n_ends + n_pieces)
    if scanner.junctions.joined.shape[0] == 0:
        position = scan[POSITION]
        n_ends = automaton_run_level(automaton, 0, text, position, stop, ends_out, n_ends, limit)
        scan[POSITION] = ends_out[n_ends - 1]
    else:
        while n_ends < limit and scan[POSITION] < stop:
            automaton_run_level(
                automaton, 0, text, scan[POSITION], stop, ends_out, n_ends, n_ends + 1
            )
            n_ends = scan_cut_piece(scanner, text, scan, ends_out, n_ends)
    scan[N_ENDS] = n_ends


@njit
def scan_split_pieces(
    scanner: Scanner,
    level_stops: NDArray[np.int64],
    text: NDArray[np.uint8],
    stop: int,
    scan: NDArray[np.int64],
    ends_out: NDArray[np.int64],
    n_pieces: int,
) -> None:
    """Do as scan_pieces with a pattern of several levels.

    level_stops : (levels,) int64, see automaton.automaton_split; text, stop, scan, ends_out, n_pieces : as
        in scan_pieces. Writes level_stops, scan and ends_out.
    """
    automaton, n_ends = scanner.automaton, scan[N_ENDS]
    if ends_out.shape[0] - n_ends < BLOCK_NBYTES:
        return
    limit = min(ends_out.shape[0], n_ends + n_pieces)
    has_junctions = scanner.junctions.joined.shape[0] > 0
    while n_ends < limit and scan[POSITION] < stop:
        rest = ends_out[n_ends : n_ends + 1 if has_junctions else limit]
        n_found = automaton_split(automaton, level_stops, text, scan[POSITION], stop, rest)
        if has_junctions:
            n_ends = scan_cut_piece(scanner, text, scan, ends_out, n_ends)
        else:
            n_ends += n_found
            scan[POSITION] = ends_out[n_ends - 1]
    scan[N_ENDS] = n_ends


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

    The arguments are as there, as for what is written, but for level_stops, which is not touched, and
    that words are cut at junctions, see Scanner.
    """
    scan[N_ENDS] = scan[HAS_UNCUT] = 0
    n_pieces = FEWEST_PIECES
    while scan_seek(parts, scan, ends_out):
        stop = parts[scan[PART], 1]
        n_ends, has_uncut = scanner_cut_cl100k(
            scanner, text, scan[POSITION], stop, ends_out, scan[N_ENDS]
        )
        n_pieces = scan_take_ends(scan, ends_out, n_ends, has_uncut, n_pieces)
        scan_pieces(scanner, text, stop, scan, ends_out, n_pieces)
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
    """Do as scan_cl100k, as for what is written, and level_stops, with the pattern of DeepSeek-V3."""
    scan[N_ENDS] = scan[HAS_UNCUT] = 0
    n_pieces = FEWEST_PIECES
    while scan_seek(parts, scan, ends_out):
        stop = parts[scan[PART], 1]
        n_ends, has_uncut = scanner_cut_deepseek(
            scanner, text, scan[POSITION], stop, ends_out, scan[N_ENDS]
        )
        n_pieces = scan_take_ends(scan, ends_out, n_ends, has_uncut, n_pieces)
        scan_split_pieces(scanner, level_stops, text, stop, scan, ends_out, n_pieces)
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
    """Do as scan_cl100k, as for what is written, with a pattern of the GPT-2 family."""
    scan[N_ENDS] = scan[HAS_UNCUT] = 0
    n_pieces = FEWEST_PIECES
    while scan_seek(parts, scan, ends_out):
        stop = parts[scan[PART], 1]
        n_ends, has_uncut = scanner_cut_gpt2(
            scanner, text, scan[POSITION], stop, ends_out, scan[N_ENDS]
        )
        n_pieces = scan_take_ends(scan, ends_out, n_ends, has_uncut, n_pieces)
        scan_pieces(scanner, text, stop, scan, ends_out, n_pieces)
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
    """Do as scan_cl100k, as for what is written, with a pattern of the o200k family."""
    scan[N_ENDS] = scan[HAS_UNCUT] = 0
    n_pieces = FEWEST_PIECES
    while scan_seek(parts, scan, ends_out):
        stop = parts[scan[PART], 1]
        n_ends, has_uncut = scanner_cut_o200k(
            scanner, text, scan[POSITION], stop, ends_out, scan[N_ENDS]
        )
        n_pieces = scan_take_ends(scan, ends_out, n_ends, has_uncut, n_pieces)
        scan_pieces(scanner, text, stop, scan, ends_out, n_pieces)
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
    scan[HAS_UNCUT] = 1
    part = scan[PART]
    while part < parts.shape[0] and n_ends < ends_out.shape[0]:
        if parts[part, 1] > parts[part, 0]:
            ends_out[n_ends] = parts[part, 1]
            n_ends += 1
        part += 1
    scan[PART] = part
    scan[N_ENDS] = n_ends
    return part == parts.shape[0]
