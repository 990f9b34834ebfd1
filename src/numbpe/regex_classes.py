r"""Reading a pattern: escapes such as ``\p{Lu}`` and classes such as ``[^\s\p{L}&&[^x]]``."""

from typing import NoReturn

from numbpe.code_point_sets import NO_CODE_POINT, CodePointSet
from numbpe.errors import PatternError
from numbpe.regex_nodes import UnsupportedPatternError
from numbpe.unicode_tables import UnicodeTables

_CONTROL_ESCAPES = {"n": 10, "r": 13, "t": 9, "f": 12, "v": 11, "a": 7, "e": 27}
_HEXADECIMAL_LENGTHS = {"x": 2, "u": 4, "U": 8}


class PatternReader:
    """A pattern, and the ``position`` of the character to read next."""

    def __init__(self, pattern: str, tables: UnicodeTables) -> None:
        self.pattern = pattern
        self.tables = tables
        self.position = 0
        self.ignore_case = False

    def peek(self, length: int = 1) -> str:
        """Return what comes next, up to ``length`` characters; nothing is read."""
        return self.pattern[self.position : self.position + length]

    def take(self, expected: str) -> bool:
        """Read ``expected`` if it comes next, and return whether it did."""
        found = self.pattern.startswith(expected, self.position)
        if found:
            self.position += len(expected)
        return found

    def take_until(self, closing: str, opened_at: int) -> str:
        """Return the text up to ``closing``, and read both."""
        stop = self.pattern.find(closing, self.position)
        if stop < 0:
            self.fail(f"there is no '{closing}' to end this", opened_at)
        text = self.pattern[self.position : stop]
        self.position = stop + len(closing)
        return text

    def fail(self, problem: str, position: int | None = None) -> NoReturn:
        """Raise PatternError with an excerpt of the pattern and a mark under ``position``."""
        at = self.position if position is None else position
        first = max(0, at - 40)
        excerpt = self.pattern[first : at + 30]
        shown = "".join(letter if letter.isprintable() else "\N{OPEN BOX}" for letter in excerpt)
        raise PatternError(
            f"cannot understand pattern: {problem}, at character {at + 1} of {len(self.pattern)}\n"
            f"    {shown}\n    {' ' * (at - first)}^"
        )

    def fold(self, members: CodePointSet) -> CodePointSet:
        """Return ``members`` as they count under the flags that hold here."""
        return self.tables.close_under_case(members) if self.ignore_case else members

    # Escapes

    def read_escape(self) -> CodePointSet:
        """Read an escape, the backslash being next, and return the characters it stands for."""
        opened_at = self.position
        kind = self.peek(2)[1:]
        self.position += 2
        classes = {
            "s": self.tables.white_space,
            "d": self.tables.digits,
            "w": self.tables.word_characters,
        }
        if kind in ("p", "P"):
            return self.read_property(kind, opened_at)
        if kind.lower() in classes:
            members = self.fold(classes[kind.lower()])
            return ~members if kind.isupper() else members
        return self.fold(CodePointSet.from_code_points([self.read_code_point(kind, opened_at)]))

    def read_code_point(self, kind: str, opened_at: int) -> int:
        """Return the code point of the escape of letter ``kind``, which has been read."""
        if kind == "":
            self.fail("a backslash must be followed by something", opened_at)
        if kind in _CONTROL_ESCAPES:
            return _CONTROL_ESCAPES[kind]
        if kind in _HEXADECIMAL_LENGTHS:
            return self.read_hexadecimal(kind, opened_at)
        if kind == "0" and not self.peek().isdigit():
            return 0
        if kind.isalnum():
            raise UnsupportedPatternError(f"'\\{kind}'")
        return ord(kind)

    def read_hexadecimal(self, kind: str, opened_at: int) -> int:
        r"""Return the code point of ``\x``, ``\u`` or ``\U``, which has been read."""
        if self.take("{"):
            digits = self.take_until("}", opened_at)
        else:
            digits = self.peek(_HEXADECIMAL_LENGTHS[kind])
            self.position += len(digits)
            if len(digits) < _HEXADECIMAL_LENGTHS[kind]:
                digits = ""
        try:
            code_point = int(digits, 16)
            chr(code_point)
        except (ValueError, OverflowError):
            self.fail("this escape names no code point", opened_at)
        return code_point

    def read_property(self, kind: str, opened_at: int) -> CodePointSet:
        r"""Return the members of ``\p`` or ``\P``, which has been read."""
        if self.take("{"):
            name = self.take_until("}", opened_at)
        else:
            name = self.peek()
            self.position += 1
        negated = name.startswith("^") != (kind == "P")
        members = self.tables.find_property(name.removeprefix("^"))
        if members is None:
            raise UnsupportedPatternError(f"the property '\\{kind}{{{name}}}'")
        members = self.fold(members)
        return ~members if negated else members

    # Classes

    def read_class(self) -> CodePointSet:
        """Read a class, its '[' being next, and return its members."""
        opened_at = self.position
        self.position += 1
        negated = self.take("^")
        union = NO_CODE_POINT
        intersection: CodePointSet | None = None
        is_first = True
        while is_first or not self.take("]"):
            if self.peek() == "":
                self.fail("this '[' is never closed; write \\[ for the character", opened_at)
            if self.take("&&"):
                intersection = union if intersection is None else intersection & union
                union = NO_CODE_POINT
            elif self.peek(2) == "[:":
                raise UnsupportedPatternError("a class by name, as in '[[:alpha:]]'")
            elif self.peek() == "[":
                union = union | self.read_class()
            else:
                union = union | self.read_class_item()
            is_first = False
        members = union if intersection is None else intersection & union
        return ~members if negated else members

    def read_class_item(self) -> CodePointSet:
        """Read a character, an escape or a range."""
        started_at = self.position
        first = self.read_class_character()
        if self.peek() != "-" or self.peek(2)[1:] in ("]", "") or self.peek(2) == "-[":
            return first if isinstance(first, CodePointSet) else self.make_range(first, first)
        self.position += 1
        last = self.read_class_character()
        if isinstance(first, CodePointSet) or isinstance(last, CodePointSet):
            self.fail("a range must go from one character to another", started_at)
        if first > last:
            self.fail("this range runs backwards", started_at)
        return self.make_range(first, last)

    def make_range(self, first: int, last: int) -> CodePointSet:
        """Return the code points from ``first`` to ``last``, as they count under the flags."""
        return self.fold(CodePointSet.from_intervals([(first, last)]))

    def read_class_character(self) -> int | CodePointSet:
        """Return a code point, or a set for an escape that stands for several."""
        kind = self.peek(2)[1:]
        if self.peek() != "\\":
            self.position += 1
            return ord(self.pattern[self.position - 1])
        if kind in tuple("pPsSdDwW"):
            return self.read_escape()
        opened_at = self.position
        self.position += 2
        return 8 if kind == "b" else self.read_code_point(kind, opened_at)
