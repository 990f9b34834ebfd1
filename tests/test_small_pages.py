"""Memory in small pages, and its pages put together later: switches of NumPy and Linux."""

from pathlib import Path

import numpy as np
import pytest

from numbpe import small_pages as module
from numbpe.small_pages import find_switch, gather_pages, small_pages


def test_small_pages__leaves_the_switch_as_it_was() -> None:
    """Truth: NumPy's switch itself, which says what it was when it is set."""
    switch = find_switch()
    if switch is None:
        pytest.skip("this NumPy has no such switch")
    for is_on in (False, True):
        before = switch(is_on)
        one, other = small_pages(), small_pages()
        one.__enter__()
        other.__enter__()
        one.__exit__(None, None, None)  # as of two threads of which one ends first
        assert not switch(False)
        other.__exit__(None, None, None)
        assert bool(switch(bool(before))) is is_on


def test_gather_pages__changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Truth: the contract: whatever the system makes of it, the array is as it was."""
    for n in (0, 1, 5000, 5 << 20):
        with small_pages():
            array = np.arange(n, dtype=np.uint8)
        gather_pages(array)
        gather_pages(array[1:])
        assert np.array_equal(array, np.arange(n, dtype=np.uint8))
    monkeypatch.setattr(module, "_find_advice", lambda: None)
    gather_pages(array)


def test_gather_pages__asks_for_whole_pages_of_the_array(monkeypatch: pytest.MonkeyPatch) -> None:
    """Truth: madvise(2): the address is that of a page; nothing outside the array is asked for."""
    asked: list[tuple[int, int, int]] = []
    monkeypatch.setattr(module, "_find_advice", lambda: lambda *call: asked.append(call))
    monkeypatch.setattr(module.mmap, "MADV_HUGEPAGE", 14, raising=False)
    array = np.zeros(1 << 16, dtype=np.uint8)
    gather_pages(array[3:])
    address = array[3:].__array_interface__["data"][0]
    ((start, length, advice),) = asked
    assert start % module.mmap.PAGESIZE == 0
    assert address <= start < address + module.mmap.PAGESIZE
    assert start + length == address + array.nbytes - 3
    assert advice == 14


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="no /proc: pages are not listed")
def test_small_pages__of_a_large_array() -> None:
    """Truth: what Linux says of the pages that the array lies in."""
    if find_switch() is None:
        pytest.skip("this NumPy has no such switch")
    setting = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if setting.exists() and "[always]" in setting.read_text():
        pytest.skip("this system makes huge pages of its own accord")
    with small_pages():
        array = np.ones(16 << 20, dtype=np.uint8)
    address = array.__array_interface__["data"][0] + (8 << 20)
    is_here = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        name, *values = line.split()
        if "-" in name and not name.endswith(":"):
            first, last = (int(bound, 16) for bound in name.split("-"))
            is_here = first <= address < last
        elif is_here and name == "AnonHugePages:":
            assert int(values[0]) == 0
            return
    raise AssertionError("the array lies in no mapping")
