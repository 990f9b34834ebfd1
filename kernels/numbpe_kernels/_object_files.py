"""Object files to memory without LLVM, where they are as simple as those of kernels on Linux and x86-64.

A linker for what Numba compiles there: ELF files in the large model of code, whose relocations are
addresses of 64 bits and nothing else. To load LLVM for them would take 46 MB and as long as a small file
takes to encode. Whatever it does not know, it leaves to LLVM.

Follows the ELF-64 Object File Format and the System V ABI for AMD64, version 1.0, chapter 4.
"""

import ctypes
import mmap
import struct
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

_IDENTITY = b"\x7fELF\x02\x01"
_RELOCATABLE, _X86_64 = 1, 62
_SYMBOLS, _RELOCATIONS, _NO_BITS, _UNWINDING = 2, 4, 8, 0x70000001
"""Types of sections."""

_WRITE, _ALLOCATE = 1, 2
"""Flags of sections."""

_UNDEFINED, _ABSOLUTE, _COMMON = 0, 0xFFF1, 0xFFF2
"""Sections of symbols that have none."""

_ADDRESS_64 = 1
"""R_X86_64_64: the address of a symbol and a number, 8 bytes."""

_LOCAL, _GLOBAL, _WEAK = 0, 1, 2
"""Bindings of symbols."""

_PAGE = mmap.PAGESIZE

_increase_references = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_IncRef", ctypes.pythonapi))


def keep_forever(value: object) -> None:
    """Let an object live as long as the process does.

    A variable of a module does not: when Python ends, modules are emptied while functions that are compiled
    still run in other threads, and while others that know of them are still to be freed.
    """
    _increase_references(value)


class _Section(NamedTuple):
    """A section header, as it stands in the file."""

    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


class _Symbol(NamedTuple):
    """An entry of the table of symbols, as it stands in the file but for the name."""

    name: str
    binding: int
    section: int
    value: int
    size: int


class _ObjectFile:
    """One file: its sections and symbols; raises ValueError where it is of another kind."""

    def __init__(self, content: bytes) -> None:
        kind, machine = struct.unpack_from("<HH", content, 16)
        if not content.startswith(_IDENTITY) or (kind, machine) != (_RELOCATABLE, _X86_64):
            raise ValueError("no ELF object file for x86-64")
        (start,) = struct.unpack_from("<Q", content, 0x28)
        (n_sections,) = struct.unpack_from("<H", content, 0x3C)
        self.content = content
        self.sections = [
            _Section(*struct.unpack_from("<IIQQQQIIQQ", content, start + 64 * i))
            for i in range(n_sections)
        ]
        self.symbols = [
            symbol
            for section in self.sections
            if section.kind == _SYMBOLS
            for symbol in self._read_symbols(section)
        ]

    def _read_symbols(self, section: _Section) -> Iterator[_Symbol]:
        names = self.sections[section.link].offset
        table = self.content[section.offset : section.offset + section.size]
        for name, info, _, place, value, size in struct.iter_unpack("<IBBHQQ", table):
            end = self.content.index(b"\0", names + name)
            text = self.content[names + name : end].decode()
            yield _Symbol(text, info >> 4, place, value, size)

    def list_relocations(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield section, offset, symbol and addend of each place that takes an address."""
        for section in self.sections:
            if section.kind != _RELOCATIONS or not self.is_loaded(section.info):
                continue
            table = self.content[section.offset : section.offset + section.size]
            for offset, info, addend in struct.iter_unpack("<QQq", table):
                if info & 0xFFFFFFFF != _ADDRESS_64:
                    raise ValueError(f"a relocation of type {info & 0xFFFFFFFF}")
                yield section.info, offset, info >> 32, addend

    def is_loaded(self, index: int) -> bool:
        """Return whether a section is needed at run time: not what serves to unwind C++ exceptions."""
        section = self.sections[index]
        return bool(section.flags & _ALLOCATE) and section.kind != _UNWINDING


def link_objects(
    objects: tuple[bytes, ...], find_function: Callable[[str], int]
) -> dict[str, int] | None:
    """Bring object files into memory that can be run; return the addresses of their symbols.

    find_function : returns the address of a function that the files do not hold, by its name

    Returns None where the files or this system are of another kind, or do not allow it.
    """
    if not sys.platform.startswith("linux"):
        return None
    try:
        files = [_ObjectFile(content) for content in objects]
        return _link(files, find_function)
    except (ValueError, struct.error, OSError):
        return None


class _Image:
    """Files in memory: what is only read or run on the first pages, what is written on those behind."""

    def __init__(self, files: list[_ObjectFile]) -> None:
        self.files = files
        self._end = 0
        self._starts: dict[tuple[int, int], int] = {}
        self._commons: dict[str, int] = {}
        self._place_sections(0)
        self.n_protected = self._end = -(-self._end // _PAGE) * _PAGE
        self._place_sections(_WRITE)
        for file in files:
            for symbol in file.symbols:
                if symbol.section == _COMMON and symbol.name not in self._commons:
                    self._commons[symbol.name] = self._reserve(symbol.size, symbol.value)
        self.memory = mmap.mmap(-1, max(self._end, 1))
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self._fill()

    def _place_sections(self, is_written: int) -> None:
        for i, file in enumerate(self.files):
            for j, section in enumerate(file.sections):
                if file.is_loaded(j) and section.flags & _WRITE == is_written:
                    self._starts[i, j] = self._reserve(section.size, section.alignment)

    def _reserve(self, n_bytes: int, alignment: int) -> int:
        start = -(-self._end // max(alignment, 1)) * max(alignment, 1)
        self._end = start + n_bytes
        return start

    def _fill(self) -> None:
        for (i, j), start in self._starts.items():
            section = self.files[i].sections[j]
            if section.kind != _NO_BITS:
                stop = section.offset + section.size
                content = self.files[i].content[section.offset : stop]
                self.memory[start : start + section.size] = content

    def find_symbols(self) -> dict[str, int]:
        """Return the addresses of what files let others use; of weak ones the first will do."""
        found = {name: self.address + start for name, start in self._commons.items()}
        for binding in (_GLOBAL, _WEAK):
            for i, file in enumerate(self.files):
                for symbol in file.symbols:
                    if symbol.binding == binding and (i, symbol.section) in self._starts:
                        found.setdefault(symbol.name, self.find_local(i, symbol))
        return found

    def find_local(self, i: int, symbol: _Symbol) -> int:
        """Return the address of what file ``i`` itself holds."""
        if symbol.section == _ABSOLUTE:
            return symbol.value
        return self.address + self._starts[i, symbol.section] + symbol.value

    def relocate(self, find_symbol: Callable[[int, _Symbol], int]) -> None:
        """Write all addresses."""
        for i, file in enumerate(self.files):
            for section, offset, symbol, addend in file.list_relocations():
                start = self._starts[i, section] + offset
                number = find_symbol(i, file.symbols[symbol]) + addend
                self.memory[start : start + 8] = struct.pack("<Q", number % (1 << 64))

    def protect(self) -> None:
        """Let the processor run what was written, and nobody write it any more; OSError if not."""
        library = ctypes.CDLL(None, use_errno=True)
        arguments = (
            ctypes.c_void_p(self.address),
            ctypes.c_size_t(self.n_protected),
            ctypes.c_int(mmap.PROT_READ | mmap.PROT_EXEC),
        )
        if self.n_protected and library.mprotect(*arguments) != 0:
            raise OSError(ctypes.get_errno(), "mprotect")


def _link(files: list[_ObjectFile], find_function: Callable[[str], int]) -> dict[str, int]:
    image = _Image(files)
    found = image.find_symbols()

    def find_symbol(i: int, symbol: _Symbol) -> int:
        if symbol.binding != _LOCAL or symbol.section == _UNDEFINED:
            return found.get(symbol.name) or find_function(symbol.name)
        return image.find_local(i, symbol)

    image.relocate(find_symbol)
    image.protect()
    keep_forever(image.memory)
    return found
