"""Text as the encoders get it: documents of equal size, in the order of the corpus."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from corpora import BLOCK_NBYTES, SEPARATOR


def read_documents(path: Path, n_bytes: int, document_nbytes: int) -> list[str]:
    """Return the documents in the first ``n_bytes`` of a corpus; see :func:`iterate_documents`."""
    return list(iterate_documents(path, n_bytes, document_nbytes))


def iterate_documents(path: Path, n_bytes: int, document_nbytes: int) -> Iterator[str]:
    """Yield the first ``n_bytes`` of a corpus in documents of ``document_nbytes``, read in blocks.

    A document ends at the border of a character, up to 3 bytes early; what is too little for one at
    the end is dropped. So a shorter text gives the first of the documents of a longer one.
    """
    rest = b""
    for block in _iterate_without_separators(path, n_bytes):
        text = rest + block
        start = 0
        while start + document_nbytes < len(text):
            stop = start + document_nbytes
            while text[stop] & 0xC0 == 0x80:
                stop -= 1
            yield text[start:stop].decode()
            start = stop
        rest = text[start:]


def _iterate_without_separators(path: Path, n_bytes: int) -> Iterator[bytes]:
    """Yield the text without the lines that end documents in the file: no special token is left."""
    rest, n_left = b"", n_bytes
    with path.open("rb") as text:
        while n_left > 0 and (block := text.read(min(BLOCK_NBYTES, n_left))):
            n_left -= len(block)
            *parts, last = (rest + block).split(SEPARATOR)
            # The last part may end within a separator; that much waits for the next block.
            place = max(len(last) - len(SEPARATOR) + 1, 0)
            yield b"".join(parts) + last[:place]
            rest = last[place:]


def cut_slices(documents: Sequence[str]) -> tuple[Sequence[str], Sequence[str], int]:
    """Return the first fifth, which warms up, the next two, which are timed, and their place."""
    n = len(documents)
    first, stop = n // 5, 3 * n // 5
    return documents[:first], documents[first:stop], first


def count_bytes(documents: Sequence[str]) -> int:
    """Return the bytes of documents as UTF-8."""
    return sum(len(document.encode()) for document in documents)
