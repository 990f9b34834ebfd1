"""Work on more than one machine: Arrow tables in, Arrow tables out, and engines that map over them.

:func:`count_batch` and :func:`encode_batch` are pure functions for whatever engine maps over Arrow
batches. ``engine="ray"`` of :func:`numbpe.count_words`, :func:`numbpe.train` and ``encode_files``
does the whole on a cluster of Ray. Names are imported when first used, so that nothing here slows
down what does without.
"""

import importlib
from typing import TYPE_CHECKING, Any

__all__ = ["RayEngine", "count_batch", "encode_batch", "sum_counts"]

if TYPE_CHECKING:
    from numbpe.engines.arrow_functions import count_batch as count_batch
    from numbpe.engines.arrow_functions import encode_batch as encode_batch
    from numbpe.engines.arrow_functions import sum_counts as sum_counts
    from numbpe.engines.ray_engine import RayEngine as RayEngine

_HOMES = {
    "RayEngine": "ray_engine",
    "count_batch": "arrow_functions",
    "encode_batch": "arrow_functions",
    "sum_counts": "arrow_functions",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'numbpe.engines' has no attribute {name!r}")
    return getattr(importlib.import_module(f"numbpe.engines.{_HOMES[name]}"), name)
