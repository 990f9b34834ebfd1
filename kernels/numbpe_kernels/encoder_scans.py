"""Scanning with the arrays of an encoder's descriptor: a kernel for each family of patterns.

Each compiles what its family needs and no more.
"""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.encoder_arrays import N_DONE
from numbpe_kernels.encoder_views import (
    encoder_view_call,
    encoder_view_scanner,
    encoder_view_state,
)
from numbpe_kernels.scanning import (
    scan_by_automaton,
    scan_cl100k,
    scan_deepseek,
    scan_gpt2,
    scan_o200k,
)


@njit
def encoder_scan_by_automaton(descriptor: NDArray[np.int64]) -> bool:
    """Do as scanning.scan_by_automaton with the arrays of a descriptor.

    descriptor : (DESCRIPTOR_SIZE,) int64, of arrays that are alive
    Writes ends, scan, level_stops and N_DONE of the state.
    """
    state, call = encoder_view_state(descriptor), encoder_view_call(descriptor)
    state.progress[N_DONE] = 0
    scanner = encoder_view_scanner(descriptor)
    return scan_by_automaton(
        scanner, state.level_stops, call.text, call.parts, state.scan, state.ends
    )


@njit
def encoder_scan_cl100k(descriptor: NDArray[np.int64]) -> bool:
    """Do as scanning.scan_cl100k with the arrays of a descriptor.

    descriptor : (DESCRIPTOR_SIZE,) int64, of arrays that are alive
    Writes ends, scan, level_stops and N_DONE of the state.
    """
    state, call = encoder_view_state(descriptor), encoder_view_call(descriptor)
    state.progress[N_DONE] = 0
    scanner = encoder_view_scanner(descriptor)
    return scan_cl100k(scanner, state.level_stops, call.text, call.parts, state.scan, state.ends)


@njit
def encoder_scan_deepseek(descriptor: NDArray[np.int64]) -> bool:
    """Do as scanning.scan_deepseek with the arrays of a descriptor.

    descriptor : (DESCRIPTOR_SIZE,) int64, of arrays that are alive
    Writes ends, scan, level_stops and N_DONE of the state.
    """
    state, call = encoder_view_state(descriptor), encoder_view_call(descriptor)
    state.progress[N_DONE] = 0
    scanner = encoder_view_scanner(descriptor)
    return scan_deepseek(scanner, state.level_stops, call.text, call.parts, state.scan, state.ends)


@njit
def encoder_scan_gpt2(descriptor: NDArray[np.int64]) -> bool:
    """Do as scanning.scan_gpt2 with the arrays of a descriptor.

    descriptor : (DESCRIPTOR_SIZE,) int64, of arrays that are alive
    Writes ends, scan, level_stops and N_DONE of the state.
    """
    state, call = encoder_view_state(descriptor), encoder_view_call(descriptor)
    state.progress[N_DONE] = 0
    scanner = encoder_view_scanner(descriptor)
    return scan_gpt2(scanner, state.level_stops, call.text, call.parts, state.scan, state.ends)


@njit
def encoder_scan_o200k(descriptor: NDArray[np.int64]) -> bool:
    """Do as scanning.scan_o200k with the arrays of a descriptor.

    descriptor : (DESCRIPTOR_SIZE,) int64, of arrays that are alive
    Writes ends, scan, level_stops and N_DONE of the state.
    """
    state, call = encoder_view_state(descriptor), encoder_view_call(descriptor)
    state.progress[N_DONE] = 0
    scanner = encoder_view_scanner(descriptor)
    return scan_o200k(scanner, state.level_stops, call.text, call.parts, state.scan, state.ends)
