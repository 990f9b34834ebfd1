"""Pickles are read as plain data: one that would run something is refused, and runs nothing."""

import os
import pickle
from pathlib import Path
from typing import Any

import pytest

import numbpe
from numbpe.errors import FormatError


class Evil:
    def __reduce__(self) -> Any:
        return os.mkdir, (os.environ["NUMBPE_TEST_FOLDER"],)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_load__runs_nothing_in_a_pickle(
    protocol: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Truth: the folder that the pickle would make, and does make when Python loads it."""
    target = tmp_path / "made"
    monkeypatch.setenv("NUMBPE_TEST_FOLDER", str(target))
    data = pickle.dumps({0: Evil()}, protocol=protocol)
    pickle.loads(data)
    target.rmdir()
    (tmp_path / "x_vocab.pkl").write_bytes(data)
    (tmp_path / "x_merges.pkl").write_bytes(data)
    with pytest.raises(FormatError, match=r"x_vocab.pkl.*asks for \w+.mkdir, which is not run"):
        numbpe.load(tmp_path / "x.pkl")
    assert not target.exists()


@pytest.mark.parametrize(
    "data, message",
    [
        (b"\x80\x04", "no pickle of plain data"),
        (b"not a pickle", "no pickle of plain data"),
        (b"Pid\n.", "refers to an object outside"),
        (b"cos\nsystem\n(S'true'\ntR.", "asks for os.system"),
        (b"(S'true'\nios\nsystem\n.", "asks for os.system"),
        (b"\x80\x02\x82\x01.", "no pickle of plain data"),
        (b"K\x01K\x02\x85R.", "no pickle of plain data"),
        (b"}K\x01b.", "no pickle of plain data"),
        (pickle.dumps([1, 2]), "it holds a list, not a dict"),
        (pickle.dumps({0: 1}), "token 0 must be one or more bytes"),
        (pickle.dumps({"a": b"a"}), "has the id 'a'"),
        (pickle.dumps({1 << 40: b"a"}), "ids are integers from 0"),
    ],
)
def test_load__refuses_other_pickles(data: bytes, message: str, tmp_path: Path) -> None:
    """Truth: the message; persistent ids, globals, extensions, calls and states are refused."""
    (tmp_path / "x_vocab.pkl").write_bytes(data)
    (tmp_path / "x_merges.pkl").write_bytes(pickle.dumps([]))
    with pytest.raises(FormatError, match=f"x_vocab.pkl.*{message}"):
        numbpe.load(tmp_path / "x.pkl")
