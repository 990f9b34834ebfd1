"""What Numba makes of the kernels: one specialisation each, and no floats where integers belong."""

import importlib
import io
import os
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import numbpe
import numbpe_kernels
from numbpe_kernels import _code_store
from numbpe_kernels._compiler import find_dispatcher
from numbpe_kernels._jit import njit

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"), reason="nothing is compiled"
)

# Kernels whose callers have good reason to hand over different types, with the reason.
SEVERAL_SPECIALISATIONS = {
    "csr.csr_write_cells": "symbols are bytes, or int32 over any other alphabet",
    "utf8_writing.utf8_write_units": "Python keeps characters in 1, 2 or 4 bytes each",
}


def iterate_kernels() -> Iterator[tuple[str, Any]]:
    """Yield every compiled function of the package under its full name."""
    for module_info in pkgutil.iter_modules(numbpe_kernels.__path__):
        module = importlib.import_module(f"numbpe_kernels.{module_info.name}")
        for name, value in vars(module).items():
            if hasattr(value, "py_func") and value.py_func.__module__ == module.__name__:
                yield f"{module_info.name}.{name}", value


@pytest.fixture(scope="module")
def trained_kernels() -> Iterator[dict[str, Any]]:
    """What Numba knows of every kernel, after training has been run over its usual routes.

    Of machine code that is loaded it knows nothing, so that all is compiled.
    """
    # Other tests call kernels with other types.
    find_dispatcher.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_code_store, "load_code", lambda *arguments: None)
        for _, kernel in iterate_kernels():
            patch.setattr(kernel, "_entry", lambda *arguments: NotImplemented)
            patch.setattr(kernel, "_entries", ())
            patch.setattr(kernel, "_entry_of_types", {})
        run_training()
        yield {name: find_dispatcher(kernel) for name, kernel in iterate_kernels()}


def run_training() -> None:
    """Train and count over the usual routes."""
    texts = [
        "the cat, the hat; 12 mats <|endoftext|> and \u00e9t\u00e9 \u4e2d\u6587",
        b"the rat \xff",
    ]
    for pattern in ("gpt2", "o200k"):
        for recipe in ("cs336", "tiktoken", "hf"):
            numbpe.train(texts, 280, pattern=pattern, recipe=recipe, progress=False, threads=2)
    rows = rb'{"text": "a\n\ud83d\ude00", "te\u0078": [1.5, true, {}]}'
    numbpe.count_words(io.BytesIO(rows), threads=1)


def list_float_variables(kernel: Any) -> list[str]:
    """Return the lines in which Numba gives something a float's type, in any specialisation.

    Numba's annotated listing has lines such as ``total.1 = $binop_add42.4  :: int64``.
    """
    return [
        line
        for overload in kernel.overloads.values()
        for line in str(overload.type_annotation).splitlines()
        if re.search(r"  :: .*float", line)
    ]


def test_kernels__hold_no_float(trained_kernels: dict[str, Any]) -> None:
    """Truth: kernels compute with integers; uint64 that meets int64 turns into float64 silently."""
    faults = {
        name: variables
        for name, kernel in trained_kernels.items()
        if (variables := list_float_variables(kernel))
    }
    assert faults == {}


def test_kernels__have_one_specialisation(trained_kernels: dict[str, Any]) -> None:
    """Truth: numbpe.arrays; every caller hands over the same types, since each other one costs a
    compilation."""
    several = {
        name: [str(signature) for signature in kernel.signatures]
        for name, kernel in trained_kernels.items()
        if len(kernel.signatures) > 1 and name not in SEVERAL_SPECIALISATIONS
    }
    assert several == {}, "\n".join(map(str, several.values()))


def test_training__compiles_kernels(trained_kernels: dict[str, Any]) -> None:
    """Truth: the two tests above would say nothing if nothing had been compiled."""
    assert sum(bool(kernel.signatures) for kernel in trained_kernels.values()) >= 10


def test_list_float_variables__finds_one() -> None:
    """Truth: numba's rule that what is uint64 on one path and int64 on another is float64."""

    @njit
    def choose(use_first: bool, first: np.uint64, second: int) -> int:
        chosen = first if use_first else second
        return np.int64(chosen)

    choose(True, np.uint64(2), np.int64(1))
    assert list_float_variables(find_dispatcher(choose))
