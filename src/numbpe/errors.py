"""The errors that numbpe raises. Each message says what was being done, what was found, what is
allowed and what to type."""


class NumbpeError(Exception):
    """Base of all errors of numbpe's own."""


class ArgumentError(NumbpeError, ValueError):
    """An argument or option cannot be used."""


class PatternError(ArgumentError):
    """A pattern for cutting text into pieces cannot be understood."""


class DataError(NumbpeError, ValueError):
    """Input data is not what it must be."""


class InvalidTextError(DataError):
    """Input bytes are not UTF-8, and ``errors="strict"`` was asked for."""


class FormatError(DataError):
    """A file is not of the format that it was read as."""


class FolderInUseError(NumbpeError):
    """Another run is writing to the folder."""


class EngineError(NumbpeError, RuntimeError):
    """A cluster does not answer, or one of its workers cannot do its part."""


class BudgetError(NumbpeError, MemoryError):
    """The work does not fit into the memory that it was given."""


def shorten_value(value: object, limit: int = 60) -> str:
    """Return ``repr(value)``, cut to ``limit`` characters for use in a message."""
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."
