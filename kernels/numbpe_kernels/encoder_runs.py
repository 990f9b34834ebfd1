"""One call of an encoder, from text to ids: a kernel for each family of patterns.

Each compiles what its family needs and no more, which is why the same loop stands in each: a kernel that were
told its family would compile all of them. A kernel returns when all is done, for want of room, or so
that Ctrl-C may be answered; it is called again then, and goes on where it stopped.
"""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.encoder_arrays import DONE, N_DONE, PAUSED, EncoderState
from numbpe_kernels.encoder_views import (
    EncoderCall,
    encoder_view_call,
    encoder_view_junctions,
    encoder_view_model,
    encoder_view_scanner,
    encoder_view_state,
)
from numbpe_kernels.encoding import encode_words
from numbpe_kernels.junctions import (
    FIRST_MASKED,
    N_TAKEN,
    N_WORDS,
    NONE_WHOLE,
    junctions_refine,
)
from numbpe_kernels.junctions import PART as REFINED_PART
from numbpe_kernels.junctions import POSITION as REFINED_POSITION
from numbpe_kernels.scanning import (
    HAS_UNCUT,
    N_ENDS,
    PART,
    POSITION,
    scan_at_junctions,
    scan_by_automaton,
    scan_cl100k,
    scan_deepseek,
    scan_gpt2,
    scan_o200k,
    scan_whole_parts,
)

MOST_SCANS = 16
"""Times that words are scanned in one call: as many as fit into ``ends`` each time, together some hundred
thousand words, which take some milliseconds."""


@njit
def encoder_must_scan(state: EncoderState, parts: NDArray[np.int64], is_refined: bool) -> bool:
    """Return whether all words that were scanned are done; if so, make ready for others.

    parts : (p, 3) int64; is_refined : as in encoder_run_gpt2. Writes progress and refine.
    """
    progress, refine, scan = state.progress, state.refine, state.scan
    is_refined = is_refined and scan[HAS_UNCUT] != 0
    n_cut = refine[N_WORDS] if is_refined else scan[N_ENDS]
    if progress[N_DONE] < n_cut or (is_refined and refine[N_TAKEN] < scan[N_ENDS]):
        return False
    progress[N_DONE] = refine[N_TAKEN] = refine[N_WORDS] = 0
    # Where the words begin that are scanned next.
    refine[REFINED_PART], refine[REFINED_POSITION] = scan[PART], scan[POSITION]
    if scan[POSITION] >= 0 and scan[POSITION] == parts[scan[PART], 1]:
        refine[REFINED_PART] += 1
        refine[REFINED_POSITION] = -1
    return True


@njit
def encoder_encode_scanned(
    descriptor: NDArray[np.int64],
    state: EncoderState,
    call: EncoderCall,
    junctions: NDArray[np.int64],
    is_refined: bool,
    first_whole: int,
) -> int:
    """Write the ids of the words that were scanned; return a status, see encoding.encode_words.

    descriptor, junctions, is_refined : as in encoder_run_gpt2
    first_whole : int64, see junctions.junctions_refine
    Writes the state, and ids and offsets of the call.
    """
    model, progress, refine = encoder_view_model(descriptor), state.progress, state.refine
    text, parts, n_ends = call.text, call.parts, state.scan[N_ENDS]
    is_refined = is_refined and state.scan[HAS_UNCUT] != 0
    ends, n_cut = state.ends, n_ends
    while True:
        if is_refined:
            if progress[N_DONE] == refine[N_WORDS]:
                table = encoder_view_junctions(junctions)
                junctions_refine(
                    table, text, parts, state.ends, n_ends, first_whole, refine, state.words
                )
                progress[N_DONE] = 0
            ends, n_cut = state.words, refine[N_WORDS]
        status = encode_words(
            model, state, ends, n_cut, text, parts, call.ids_out, call.offsets_out
        )
        if status != DONE or not is_refined or refine[N_TAKEN] == n_ends:
            return status


@njit
def encoder_run_gpt2(
    descriptor: NDArray[np.int64], junctions: NDArray[np.int64], is_refined: bool
) -> int:
    """Encode with a pattern of the GPT-2 family; return a status, int64, see encoding.encode_words.

    descriptor : (DESCRIPTOR_SIZE,) int64; junctions : (JUNCTIONS_SIZE,) int64, the descriptor of a
        JunctionTable, of any content where words are not refined; both of arrays that are alive
    is_refined : whether words are cut at junctions
    Writes the state, and ids and offsets of the call.
    """
    state, call = encoder_view_state(descriptor), encoder_view_call(descriptor)
    for _ in range(MOST_SCANS):
        if encoder_must_scan(state, call.parts, is_refined):
            scanner = encoder_view_scanner(descriptor, junctions, is_refined)
            scan_gpt2(scanner, state.level_stops, call.text, call.parts, state.scan, state.ends)
        status = encoder_encode_scanned(
            descriptor, state, call, junctions, is_refined, np.int64(FIRST_MASKED)
        )
        if status != DONE or state.scan[PART] == call.parts.shape[0]:
            return status
    return PAUSED


@njit
def encoder_run_by_automaton(
    descriptor: NDArray[np.int64], junctions: NDArray[np.int64], is_refined: bool
) -> int:
    """Do as encoder_run_gpt2 with any pattern that is an automaton.

    descriptor : (DESCRIPTOR_SIZE,) int64; junctions : (JUNCTIONS_SIZE,) int64
    Writes the state, and ids and offsets of the call.
    """
    state, call = encoder_view_state(descriptor), encoder_view_call(descriptor)
    for _ in range(MOST_SCANS):
        if encoder_must_scan(state, call.parts, is_refined):
            scanner = encoder_view_scanner(descriptor, junctions, is_refined)
            scan_by_automaton(
                scanner, state.level_stops, call.text, call.parts, state.scan, state.ends
            )
        status = encoder_encode_scanned(
            descriptor, state, call, junctions, is_refined, np.int64(NONE_WHOLE)
        )
        if status != DONE or state.scan[PART] == call.parts.shape[0]:
            return status
    return PAUSED


@njit
def encoder_run_cl100k(
    descriptor: NDArray[np.int64], junctions: NDArray[np.int64], is_refined: bool
) -> int:
    """Do as encoder_run_gpt2 with a pattern of the cl100k family.

    descriptor : (DESCRIPTOR_SIZE,) int64; junctions : (JUNCTIONS_SIZE,) int64
    Writes the state, and ids and offsets of the call.
    """
    state, call = encoder_view_state(descriptor), encoder_view_call(descriptor)
    for _ in range(MOST_SCANS):
        if encoder_must_scan(state, call.parts, is_refined):
            scanner = encoder_view_scanner(descriptor, junctions, is_refined)
            scan_cl100k(scanner, state.level_stops, call.text, call.parts, state.scan, state.ends)
        status = encoder_encode_scanned(
            descriptor, state, call, junctions, is_refined, np.int64(FIRST_MASKED)
        )
        if status != DONE or state.scan[PART] == call.parts.shape[0]:
            return status
    return PAUSED


@njit
def encoder_run_deepseek(
    descriptor: NDArray[np.int64], junctions: NDArray[np.int64], is_refined: bool
) -> int:
    """Do as encoder_run_gpt2 with the pattern of DeepSeek-V3.

    descriptor : (DESCRIPTOR_SIZE,) int64; junctions : (JUNCTIONS_SIZE,) int64
    Writes the state, and ids and offsets of the call.
    """
    state, call = encoder_view_state(descriptor), encoder_view_call(descriptor)
    for _ in range(MOST_SCANS):
        if encoder_must_scan(state, call.parts, is_refined):
            scanner = encoder_view_scanner(descriptor, junctions, is_refined)
            scan_deepseek(scanner, state.level_stops, call.text, call.parts, state.scan, state.ends)
        status = encoder_encode_scanned(
            descriptor, state, call, junctions, is_refined, np.int64(FIRST_MASKED)
        )
        if status != DONE or state.scan[PART] == call.parts.shape[0]:
            return status
    return PAUSED


@njit
def encoder_run_o200k(
    descriptor: NDArray[np.int64], junctions: NDArray[np.int64], is_refined: bool
) -> int:
    """Do as encoder_run_gpt2 with a pattern of the o200k family.

    descriptor : (DESCRIPTOR_SIZE,) int64; junctions : (JUNCTIONS_SIZE,) int64
    Writes the state, and ids and offsets of the call.
    """
    state, call = encoder_view_state(descriptor), encoder_view_call(descriptor)
    for _ in range(MOST_SCANS):
        if encoder_must_scan(state, call.parts, is_refined):
            scanner = encoder_view_scanner(descriptor, junctions, is_refined)
            scan_o200k(scanner, state.level_stops, call.text, call.parts, state.scan, state.ends)
        status = encoder_encode_scanned(
            descriptor, state, call, junctions, is_refined, np.int64(FIRST_MASKED)
        )
        if status != DONE or state.scan[PART] == call.parts.shape[0]:
            return status
    return PAUSED


@njit
def encoder_run_at_junctions(
    descriptor: NDArray[np.int64], junctions: NDArray[np.int64], is_refined: bool
) -> int:
    """Do as encoder_run_gpt2 where words end at the junctions that no token spans.

    descriptor : (DESCRIPTOR_SIZE,) int64; junctions : (JUNCTIONS_SIZE,) int64
    Writes the state, and ids and offsets of the call.
    """
    state, call = encoder_view_state(descriptor), encoder_view_call(descriptor)
    for _ in range(MOST_SCANS):
        if encoder_must_scan(state, call.parts, is_refined):
            characters = encoder_view_model(descriptor).characters
            scan_at_junctions(characters, call.text, call.parts, state.scan, state.ends)
        status = encoder_encode_scanned(
            descriptor, state, call, junctions, is_refined, np.int64(NONE_WHOLE)
        )
        if status != DONE or state.scan[PART] == call.parts.shape[0]:
            return status
    return PAUSED


@njit
def encoder_run_whole_parts(
    descriptor: NDArray[np.int64], junctions: NDArray[np.int64], is_refined: bool
) -> int:
    """Do as encoder_run_gpt2 where each part is one word.

    descriptor : (DESCRIPTOR_SIZE,) int64; junctions : (JUNCTIONS_SIZE,) int64
    Writes the state, and ids and offsets of the call.
    """
    state, call = encoder_view_state(descriptor), encoder_view_call(descriptor)
    for _ in range(MOST_SCANS):
        if encoder_must_scan(state, call.parts, is_refined):
            scan_whole_parts(call.parts, state.scan, state.ends)
        status = encoder_encode_scanned(
            descriptor, state, call, junctions, is_refined, np.int64(NONE_WHOLE)
        )
        if status != DONE or state.scan[PART] == call.parts.shape[0]:
            return status
    return PAUSED
