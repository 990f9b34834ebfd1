"""Units of Combinatorial BPE, words with what stands around them, taken apart; and their characters.

Texts are well-formed UTF-8; characters come out as int32 code points. Tables that say something of
every character have one entry a code point, so that nothing has to be told apart here.
"""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.characters import characters_decode

SMALL_LETTER = 1
CAPITAL_LETTER = 2
"""Cases by which words are cut; 0 is that of all other characters."""


@njit
def units_split(
    is_word: NDArray[np.uint8],
    text: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    bounds_out: NDArray[np.int64],
) -> None:
    """Find the word of each unit: from its first letter, mark or number to its last.

    is_word : (0x110000,) uint8, 1 for letters, marks and numbers
    text : (k,) uint8 with padding; offsets : (n + 1,) int64, where units begin and end in it
    bounds_out : (n, 2) int64, written: where the word begins and ends; both are the end of the unit
        where it has none
    One pass.
    """
    for unit in range(offsets.shape[0] - 1):
        stop = offsets[unit + 1]
        position = offsets[unit]
        begin = stop
        end = stop
        while position < stop:
            character = characters_decode(text, position, stop)
            if is_word[character >> 3] != 0:
                if begin == stop:
                    begin = position
                end = position + (character & 7)
            position += character & 7
        bounds_out[unit, 0] = begin
        bounds_out[unit, 1] = end


@njit
def units_split_camel(
    cases: NDArray[np.uint8],
    text: NDArray[np.uint8],
    bounds: NDArray[np.int64],
    words_out: NDArray[np.int64],
    parts_out: NDArray[np.int64],
) -> int:
    """Cut words between a small letter and a capital, and before a capital that a small one follows
    where a capital stands before it. Returns the number of parts, int64.

    cases : (0x110000,) uint8, SMALL_LETTER, CAPITAL_LETTER or 0; text : (k,) uint8 with padding
    bounds : (n, 2) int64, where each word begins and ends in the text
    words_out : (p,) int64, the word that each part is of; parts_out : (p, 2) int64, where it begins
        and ends. Written as far as there is room, so that no room gives the number alone.
    One pass.
    """
    n_parts = 0
    for word in range(bounds.shape[0]):
        begin = bounds[word, 0]
        stop = bounds[word, 1]
        position = begin
        before = 0
        while position < stop:
            character = characters_decode(text, position, stop)
            case = np.int64(cases[character >> 3])
            behind = position + (character & 7)
            is_cut = before == SMALL_LETTER and case == CAPITAL_LETTER
            if before == CAPITAL_LETTER and case == CAPITAL_LETTER and behind < stop:
                is_cut = cases[characters_decode(text, behind, stop) >> 3] == SMALL_LETTER
            if is_cut:
                if n_parts < parts_out.shape[0]:
                    words_out[n_parts] = word
                    parts_out[n_parts, 0] = begin
                    parts_out[n_parts, 1] = position
                n_parts += 1
                begin = position
            before = case
            position = behind
        if n_parts < parts_out.shape[0]:
            words_out[n_parts] = word
            parts_out[n_parts, 0] = begin
            parts_out[n_parts, 1] = stop
        n_parts += 1
    return n_parts


@njit
def units_fold(
    targets: NDArray[np.int32],
    text: NDArray[np.uint8],
    bounds: NDArray[np.int64],
    characters_out: NDArray[np.int32],
    offsets_out: NDArray[np.int64],
) -> None:
    """Write the characters of words, each as what it is folded to.

    targets : (0x110000,) int32, what each code point is folded to
    text : (k,) uint8 with padding; bounds : (n, 2) int64, where each word begins and ends in it
    characters_out : (c,) int32, c no less than the bytes of all words; offsets_out : (n + 1,) int64,
        where each word begins in it. Both are written.
    One pass.
    """
    place = 0
    offsets_out[0] = 0
    for word in range(bounds.shape[0]):
        position = bounds[word, 0]
        stop = bounds[word, 1]
        while position < stop:
            character = characters_decode(text, position, stop)
            characters_out[place] = targets[character >> 3]
            place += 1
            position += character & 7
        offsets_out[word + 1] = place


@njit
def units_count_characters(
    characters: NDArray[np.int32],
    offsets: NDArray[np.int64],
    counts: NDArray[np.int64],
    totals: NDArray[np.int64],
) -> None:
    """Add the count of each word to the total of each of its characters.

    characters : (c,) int32; offsets : (n + 1,) int64; counts : (n,) int64
    totals : (0x110000,) int64, by code point; written
    One pass.
    """
    for word in range(counts.shape[0]):
        for i in range(offsets[word], offsets[word + 1]):
            totals[characters[i]] += counts[word]


@njit
def units_find_first(
    characters: NDArray[np.int32],
    offsets: NDArray[np.int64],
    positions: NDArray[np.int64],
    firsts: NDArray[np.int64],
) -> None:
    """Lower the first position of each character to where it stands first in words.

    characters : (c,) int32; offsets : (n + 1,) int64
    positions : (n,) int64, where each word stood first in the whole text
    firsts : (0x110000,) int64, by code point; written
    One pass.
    """
    for word in range(positions.shape[0]):
        shift = positions[word] - offsets[word]
        for i in range(offsets[word], offsets[word + 1]):
            firsts[characters[i]] = min(firsts[characters[i]], shift + i)


@njit
def units_number(
    numbers: NDArray[np.int32],
    characters: NDArray[np.int32],
    offsets: NDArray[np.int64],
    counts: NDArray[np.int64],
    symbols_out: NDArray[np.int32],
    offsets_out: NDArray[np.int64],
    counts_out: NDArray[np.int64],
) -> int:
    """Write words as the numbers of their characters, cut at characters that have none.

    numbers : (0x110000,) int32, the number of each character, -1 for none
    characters : (c,) int32; offsets : (n + 1,) int64; counts : (n,) int64
    symbols_out : (c,) int32; offsets_out : (c // 2 + 1,) int64; counts_out : (c // 2,) int64: the
        runs of two numbers or more, in which alone there is something to merge. Written.
    Returns the number of runs, int64. One pass.
    """
    n_runs = 0
    begin = 0
    place = 0
    offsets_out[0] = 0
    for word in range(counts.shape[0]):
        stop = offsets[word + 1]
        for i in range(offsets[word], stop + 1):
            number = np.int64(numbers[characters[i]]) if i < stop else np.int64(-1)
            if number >= 0:
                symbols_out[place] = np.int32(number)
                place += 1
            elif place - begin > 1:
                counts_out[n_runs] = counts[word]
                n_runs += 1
                offsets_out[n_runs] = place
                begin = place
            else:
                place = begin
    return n_runs
