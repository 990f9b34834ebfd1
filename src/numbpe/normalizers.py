"""Normalizers: changing text before it is cut into pieces."""

from collections.abc import Sequence

from numbpe.definition import TextStep


def apply_steps(steps: Sequence[TextStep], text: str, *, is_first: bool = True) -> str:
    """Return ``text`` changed by ``steps``, one after another.

    is_first: whether it stands at the start of the whole text.
    """
    if steps:
        raise NotImplementedError(steps)
    return text


def may_change(steps: Sequence[TextStep], text: str) -> bool:
    """Return False if it is cheap to see that ``steps`` leave ``text`` as it is."""
    return bool(steps)
