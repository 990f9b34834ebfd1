"""Many texts to token ids at once: grouped, encoded side by side, put together in order."""

import functools
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from numbpe.added_tokens import SpecialPolicy, check_policy
from numbpe.arrays import Offsets, TokenIds
from numbpe.batches import TokenBatch
from numbpe.definition import Template, TokenizerDefinition
from numbpe.encoder import Encoder
from numbpe.errors import ArgumentError, shorten_value
from numbpe.parallel import call_side_by_side, consume_in_threads, cut_evenly, resolve_threads
from numbpe.segments import Segmenter
from numbpe.small_pages import small_pages

if TYPE_CHECKING:
    from collections.abc import Callable

GROUP_NBYTES: Final = 1 << 18
"""About how much text is encoded in one call. Handing it to another thread takes some tens of
microseconds, encoding it a millisecond or more."""

_MANY_IDS: Final = 1 << 18
"""From so many ids on they are joined by several threads: a millisecond for one."""

_MOST_TEXTS_A_GROUP: Final = 1 << 14

Encoded = tuple[TokenIds, Offsets]

T = TypeVar("T")


def encode_batch(
    definition: TokenizerDefinition,
    segmenter: Segmenter,
    encoder: Encoder,
    texts: Iterable[str | bytes],
    special: SpecialPolicy,
    add_special_tokens: bool,
    threads: int | None,
) -> TokenBatch:
    """Return the ids of ``texts``; the arguments are those of ``Tokenizer.encode_batch``.

    Raises ArgumentError for a bare str, which has letters and no texts, and for an item that is no
    text; it names the position.
    """
    check_policy(special)

    def encode_group(group: list[str | bytes]) -> Encoded:
        prepared = segmenter.prepare(group, special)
        ids, offsets = encoder.encode_parts(prepared.text, prepared.parts)
        return ids, offsets[prepared.first_parts]

    encoded = encode_groups(texts, encode_group, threads)
    template = definition.template if add_special_tokens else None
    return _join(encoded, template, resolve_threads(threads))


def encode_groups(
    texts: Iterable[str | bytes],
    encode_group: "Callable[[list[str | bytes]], T]",
    threads: int | None,
) -> list[T]:
    """Return what ``encode_group`` makes of successive groups of texts, side by side, in order.

    Raises ArgumentError as :func:`encode_batch`, and what ``encode_group`` raises.
    """
    n_threads = resolve_threads(threads)
    found: dict[int, T] = {}

    def make_worker() -> "Callable[[tuple[int, list[str | bytes]]], None]":
        def work(item: tuple[int, list[str | bytes]]) -> None:
            found[item[0]] = encode_group(item[1])

        return work

    groups = enumerate(_iterate_groups(texts))
    first = next(groups, None)
    if first is None:
        return []
    second = next(groups, None)
    if second is None:
        make_worker()(first)  # too little for other threads
    else:
        consume_in_threads(_chain(first, second, groups), make_worker, n_threads)
    return [found[number] for number in range(len(found))]


def _chain(first: Any, second: Any, others: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield second
    yield from others


def _iterate_groups(texts: Iterable[str | bytes]) -> Iterator[list[str | bytes]]:
    """Yield the texts in lists of about GROUP_NBYTES."""
    if isinstance(texts, (str, bytes)):
        raise ArgumentError(
            f"texts must be a list of texts, not the one text {shorten_value(texts)}; "
            f"write [{shorten_value(texts)}], or call encode"
        )
    if not isinstance(texts, Iterable):
        raise ArgumentError(
            f"texts must be an iterable of str or bytes, not {type(texts).__name__} "
            f"({shorten_value(texts)})"
        )
    group: list[str | bytes] = []
    n_bytes = 0
    for position, item in enumerate(texts):
        text = item.as_py() if hasattr(item, "as_py") else item  # of a pyarrow array
        if not isinstance(text, (str, bytes)):
            raise ArgumentError(
                f"texts[{position}] must be a str or bytes, not {type(text).__name__} "
                f"({shorten_value(text)})"
            )
        group.append(text)
        n_bytes += len(text)
        if n_bytes >= GROUP_NBYTES or len(group) == _MOST_TEXTS_A_GROUP:
            yield group
            group, n_bytes = [], 0
    if group:
        yield group


def _join_ids(arrays: list[TokenIds], n_threads: int) -> TokenIds:
    """Return arrays, one behind the other: most of the time is taken by memory that is new to the process."""
    bounds = np.cumsum([0, *map(len, arrays)])
    with small_pages():  # They are written once, and new large ones may take longer than encoding.
        values = np.empty(bounds[-1], dtype=np.uint32)
    n_parts = min(n_threads, len(arrays)) if len(values) >= _MANY_IDS else 1

    def copy(first: int, stop: int) -> None:
        for number in range(first, stop):
            values[bounds[number] : bounds[number + 1]] = arrays[number]

    cuts = pairwise(cut_evenly(len(arrays), n_parts))
    call_side_by_side([functools.partial(copy, first, stop) for first, stop in cuts])
    return values


def _join(encoded: list[Encoded], template: Template | None, n_threads: int) -> TokenBatch:
    """Return successive groups as one batch, with the ids of ``template`` around each text."""
    values = _join_ids([ids for ids, _ in encoded], n_threads)
    lengths = np.concatenate([np.empty(0, np.int64), *(np.diff(stops) for _, stops in encoded)])
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    if template is None or not (template.prefix or template.suffix):
        return TokenBatch(values, offsets)
    prefix = np.array(template.prefix, dtype=np.uint32)
    suffix = np.array(template.suffix, dtype=np.uint32)
    n_added = len(prefix) + len(suffix)
    wider = offsets + n_added * np.arange(len(offsets))
    joined = np.empty(int(wider[-1]), dtype=np.uint32)
    is_text = np.ones(len(joined), dtype=bool)
    for k, token_id in enumerate(prefix):
        joined[wider[:-1] + k] = token_id
        is_text[wider[:-1] + k] = False
    for k, token_id in enumerate(suffix):
        joined[wider[1:] - len(suffix) + k] = token_id
        is_text[wider[1:] - len(suffix) + k] = False
    joined[is_text] = values
    return TokenBatch(joined, wider)
