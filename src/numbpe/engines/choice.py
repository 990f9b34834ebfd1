"""Which engine a run uses: by name or as an object, among the options of everything that reads."""

from typing import TypeAlias, cast

from numbpe.engines.protocol import Engine
from numbpe.errors import ArgumentError, shorten_value
from numbpe.sources import ReadingOptions

ENGINE_NAMES = ("ray",)

EngineChoice: TypeAlias = str | Engine


class SourceOptions(ReadingOptions, total=False):
    """How a source is read, and where the work on it is done.

    engine: ``"ray"``, or an engine such as ``numbpe.engines.RayEngine(timeout=5)``; None, the default,
        is this process.
    address: of the engine's cluster; see :class:`numbpe.engines.RayEngine`.
    """

    engine: EngineChoice | None
    address: str | None


def split_options(options: SourceOptions) -> tuple[Engine | None, ReadingOptions]:
    """Return the engine that options name, and those that are about reading."""
    reading = dict(options)
    engine = choose_engine(
        cast("EngineChoice | None", reading.pop("engine", None)),
        cast("str | None", reading.pop("address", None)),
    )
    return engine, cast(ReadingOptions, reading)


def choose_engine(engine: EngineChoice | None, address: str | None) -> Engine | None:
    """Return an engine by its name, or as it is; None for none.

    Raises ArgumentError for a name that is none, and for an address that no engine is given.
    """
    if engine is None:
        if address is not None:
            raise ArgumentError(
                f"the address {shorten_value(address)} is one of an engine's cluster, and there is no "
                'engine; give engine="ray" (--engine ray) too'
            )
        return None
    if not isinstance(engine, str) and isinstance(engine, Engine):
        if address is not None:
            raise ArgumentError(
                "the engine is an object that has its address; leave address out, or give "
                'engine="ray"'
            )
        return engine
    if engine != "ray":
        raise ArgumentError(
            f"engine must be one of {', '.join(map(repr, ENGINE_NAMES))}, an object such as "
            f"numbpe.engines.RayEngine(), or None for this process, not {shorten_value(engine)}"
        )
    from numbpe.engines.ray_engine import RayEngine

    return RayEngine(address)
