"""The ids that every engine must give: written once for a text, compared with those of a run."""

import hashlib
import struct
import sys
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

N_EXAMPLES = 5
N_IDS_SHOWN = 6


def to_bytes(ids: Any) -> bytes:
    """Return ids, a list or a NumPy array of uint32, as little-endian uint32."""
    if hasattr(ids, "dtype"):
        return ids.astype("<u4", copy=False).tobytes()  # type: ignore[no-any-return]
    numbers = array("I", ids)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def write_reference(folder: Path, documents: Iterable[Any]) -> dict[str, Any]:
    """Write the ids of documents and where each begins; return the size and the digest of all."""
    offsets = array("Q", [0])
    digest = hashlib.sha256()
    with (folder / "ids.bin").open("wb") as out:
        for ids in documents:
            content = to_bytes(ids)
            out.write(content)
            digest.update(content)
            offsets.append(offsets[-1] + len(content))
    (folder / "offsets.bin").write_bytes(offsets.tobytes())
    return {
        "n_documents": len(offsets) - 1,
        "n_ids": offsets[-1] // 4,
        "sha256": digest.hexdigest(),
    }


def compare_with_reference(folder: Path, documents: Sequence[Any], first: int) -> dict[str, Any]:
    """Return whether documents have the ids of the reference, and in which they differ.

    first : the number of the first of them in the reference
    """
    offsets = array("Q")
    offsets.frombytes((folder / "offsets.bin").read_bytes())
    own_digest, reference_digest = hashlib.sha256(), hashlib.sha256()
    n_ids = n_different = 0
    examples: list[dict[str, Any]] = []
    with (folder / "ids.bin").open("rb") as reference:
        reference.seek(offsets[first])
        for number, ids in enumerate(documents, first):
            own = to_bytes(ids)
            expected = reference.read(offsets[number + 1] - offsets[number])
            own_digest.update(own)
            reference_digest.update(expected)
            n_ids += len(own) // 4
            if own != expected:
                n_different += 1
                if len(examples) < N_EXAMPLES:
                    examples.append({"document": number, **describe_difference(own, expected)})
    return {
        "sha256": own_digest.hexdigest(),
        "equal": own_digest.digest() == reference_digest.digest() and n_different == 0,
        "n_ids": n_ids,
        "n_documents": len(documents),
        "n_different": n_different,
        **({"examples": examples} if examples else {}),
    }


def describe_difference(own: bytes, expected: bytes) -> dict[str, Any]:
    """Return where the ids of a document part, and some of both from there."""
    length = min(len(own), len(expected))
    place = next((i for i in range(0, length, 4) if own[i : i + 4] != expected[i : i + 4]), length)
    return {
        "position": place // 4,
        "ids": _unpack(own[place : place + 4 * N_IDS_SHOWN]),
        "reference": _unpack(expected[place : place + 4 * N_IDS_SHOWN]),
    }


def _unpack(content: bytes) -> list[int]:
    return list(struct.unpack(f"<{len(content) // 4}I", content))
