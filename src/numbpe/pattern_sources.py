"""What may be given as a pattern: a name, regular expressions, or a pattern that is compiled."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from numbpe.patterns import Pattern


class PatternLike(Protocol):
    """What a vocabulary keeps of a compiled pattern."""

    @property
    def name(self) -> str | None: ...
    @property
    def sources(self) -> tuple[str, ...]: ...


PatternSource: TypeAlias = str | Sequence[str] | PatternLike
"""A pattern's name or regular expression, a sequence of these, or a compiled pattern."""


@dataclass(frozen=True)
class KnownPattern:
    """The name and the regular expressions of a pattern that need not be compiled."""

    name: str | None
    sources: tuple[str, ...]


def describe_pattern(pattern: PatternSource) -> tuple[str | None, tuple[str, ...]]:
    """Return the name and the regular expressions of ``pattern``; () stands for no pattern."""
    if pattern == ():
        return None, ()
    if isinstance(pattern, (str, Sequence)):
        from numbpe.patterns import compile_pattern

        pattern = compile_pattern(pattern)
    return pattern.name, tuple(pattern.sources)


def compile_source(pattern: PatternSource) -> "Pattern":
    """Return the compiled pattern; one that is compiled already as it is."""
    from numbpe.patterns import Pattern, compile_pattern

    if isinstance(pattern, Pattern):
        return pattern
    if isinstance(pattern, str):
        return compile_pattern(pattern)
    return compile_pattern(tuple(pattern if isinstance(pattern, Sequence) else pattern.sources))
