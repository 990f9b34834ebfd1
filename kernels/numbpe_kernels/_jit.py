"""How kernels are compiled: the one place that decides about Numba's options and its cache.

Kernels release the GIL and are compiled when first called, never at import. Compiled code is kept
between processes. Numba stamps a cache file with the source file of the kernel alone, so that an
edit of a kernel that it calls, or an upgrade of this package, would run stale code
(https://github.com/numba/numba/issues/1833). Here the stamp covers every source file of the
package, and bounds-checked code is kept apart from unchecked code, which Numba does not do either.

The cache lies in ``NUMBA_CACHE_DIR`` if that is set, else in the user's cache folder, else beside
the sources. Where none of them can be written, one warning is given and nothing is kept.
"""

import contextlib
import functools
import hashlib
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numba
from numba.core import caching, config
from numba.core.types.misc import unliteral

_OPTIONS = {
    "nogil": True,
    # Kernels neither allocate nor keep arrays, so references need not be counted: each array of a
    # structure would cost an atomic increment and decrement at every call. A kernel that allocates
    # does not compile.
    "_nrt": False,
    # A wrapper for callers in C, which there are none of: an eighth of the time to compile.
    "no_cfunc_wrapper": True,
}

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


@functools.cache
def hash_kernel_sources() -> str:
    """Return a digest over the text of all source files of this package."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


class _PackageStamp:
    """Give a locator the stamp of the whole package, and names by mode of compilation."""

    _lineno: int

    def get_source_stamp(self) -> str:
        return hash_kernel_sources()

    def get_disambiguator(self) -> str:
        return f"{self._lineno}-checked" if config.BOUNDSCHECK else str(self._lineno)


_writable_paths: dict[str, bool] = {}


class _RememberedPath:
    """Probe a cache folder once per process rather than once per kernel."""

    def ensure_cache_path(self) -> None:
        path: str = self.get_cache_path()  # type: ignore[attr-defined]
        if path not in _writable_paths:
            try:
                super().ensure_cache_path()  # type: ignore[misc]
                _writable_paths[path] = True
            except OSError:
                _writable_paths[path] = False
        if not _writable_paths[path]:
            raise OSError(f"cannot write to {path}")


class _ChosenFolder(_PackageStamp, _RememberedPath, caching.UserProvidedCacheLocator):  # type: ignore[misc]
    """The folder that the user names in NUMBA_CACHE_DIR."""


class _UserFolder(_PackageStamp, _RememberedPath, caching.UserWideCacheLocator):  # type: ignore[misc]
    """The user's cache folder: unlike ``__pycache__``, it survives no uninstall as a ghost."""


class _SourceFolder(_PackageStamp, _RememberedPath, caching.InTreeCacheLocator):  # type: ignore[misc]
    """``__pycache__`` beside the sources."""


class _KernelCacheImpl(caching.CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_ChosenFolder, _UserFolder, _SourceFolder)


class _CacheFile(caching.IndexDataCacheFile):  # type: ignore[misc]
    """Keep with the compiled code what it was compiled from and for, and load no other.

    Of two processes that compile one kernel for different types at the same time, both may choose the
    same file, and the code of one be found under the name of the other.
    """

    def save(self, key: Any, data: Any) -> None:
        super().save(key, (self._source_stamp, key, data))

    def load(self, key: Any) -> Any:
        kept = super().load(key)
        is_right = isinstance(kept, tuple) and kept[:2] == (self._source_stamp, key)
        return kept[2] if is_right else None


class _KernelCache(caching.FunctionCache):  # type: ignore[misc]
    _impl_class = _KernelCacheImpl

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = _CacheFile(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=self._impl.locator.get_source_stamp(),
        )

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return compiled code, or None; what an older version left is dropped, not an error.

        Numba reads the signatures of an index before it compares stamps, and fails where they name
        a class that this version has moved or removed.
        """
        try:
            return super().load_overload(signature, target_context)
        except (AttributeError, ImportError, EOFError, pickle.UnpicklingError, TypeError):
            with contextlib.suppress(OSError):
                self.flush()
            return None


@functools.cache
def _warn_uncached() -> None:
    warnings.warn(
        "no folder for compiled kernels can be written, so they are compiled anew in every "
        "process; set NUMBA_CACHE_DIR to a folder that can be written",
        RuntimeWarning,
        stacklevel=4,
    )


def _accept_no_literals(dispatcher: Any) -> None:
    """Let callers compile ``dispatcher`` for the type of a literal, not for its value.

    A variable that starts as 0 is first typed as that literal, and each kernel called with it would
    be compiled for it, and then again for int64.
    """
    find_template = dispatcher.get_call_template

    def get_call_template(arguments: Any, keywords: Any) -> Any:
        return find_template(
            tuple(unliteral(kind) for kind in arguments),
            {name: unliteral(kind) for name, kind in keywords.items()},
        )

    dispatcher.get_call_template = get_call_template


def _compile(
    function: Callable[_Parameters, _Result], options: dict[str, bool]
) -> Callable[_Parameters, _Result]:
    dispatcher: Any = numba.njit(**options)(function)
    if not config.DISABLE_JIT:
        _accept_no_literals(dispatcher)
        try:
            dispatcher._cache = _KernelCache(function)
        except RuntimeError:
            _warn_uncached()
    return dispatcher  # type: ignore[no-any-return]


def njit(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Compile ``function`` when it is first called; cached between processes, without the GIL.

    Under ``NUMBA_DISABLE_JIT=1`` the function is returned as it is. Typed as the identity, so that
    type checkers see a kernel's own signature.
    """
    return _compile(function, _OPTIONS)


def njit_inline(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Compile ``function`` into its callers, for what is called for each byte, word or merge.

    A structure of arrays travels by value, 56 bytes an array: a call that LLVM does not take for
    small may cost more than what it does. Merging a word became twice as fast by this.
    """
    return _compile(function, {**_OPTIONS, "forceinline": True})
