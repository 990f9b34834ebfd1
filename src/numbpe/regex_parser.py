r"""Regular expressions as tokenizers write them: text to nodes.

The language is the common ground of the regex crate with fancy-regex (tiktoken), Oniguruma
(tokenizers) and the regex module: alternation, groups, ``(?i:...)``, classes with ranges, negation,
nesting and ``&&``, ``\p{...}``, greedy, lazy and possessive repeats, look-ahead at one character,
``$`` and ``\z``. Where they differ the regex crate is followed: ``$`` is the very end of the text,
a ``[`` inside a class opens a nested class, ``\s`` is White_Space, case folding is the simple one.
"""

from numbpe.code_point_sets import EVERY_CODE_POINT, NO_CODE_POINT, CodePointSet
from numbpe.regex_classes import PatternReader
from numbpe.regex_nodes import (
    Characters,
    Choice,
    LookAhead,
    Node,
    Repeat,
    RepeatMode,
    Sequence,
    UnsupportedPatternError,
    as_look_ahead,
)
from numbpe.unicode_tables import UnicodeTables

MAX_NESTING = 100
MAX_REPEATS = 1000
_LINE_FEED = CodePointSet.from_code_points([10])


class _Parser(PatternReader):
    """Recursive descent over one pattern."""

    def __init__(self, pattern: str, tables: UnicodeTables) -> None:
        super().__init__(pattern, tables)
        self.depth = 0
        self.dot_matches_all = False

    def parse_all(self) -> Node:
        node = self.parse_choice()
        if self.position < len(self.pattern):
            self.fail("this ')' closes no group; write \\) for the character")
        return node

    def parse_choice(self) -> Node:
        self.depth += 1
        if self.depth > MAX_NESTING:
            self.fail(f"groups are nested more than {MAX_NESTING} deep")
        options = [self.parse_sequence()]
        while self.take("|"):
            options.append(self.parse_sequence())
        self.depth -= 1
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def parse_sequence(self) -> Node:
        items: list[Node] = []
        while self.peek() not in ("", "|", ")"):
            started_at = self.position
            if self.peek() in ("*", "+", "?"):
                self.fail("there is nothing to repeat before this")
            item = self.parse_item()
            if item is not None:
                items.append(self.parse_repeats(item, started_at))
        return items[0] if len(items) == 1 else Sequence(tuple(items))

    def parse_item(self) -> Node | None:
        """Return the next item, or None for what only sets flags or is a comment."""
        letter = self.peek()
        if letter == "(":
            return self.parse_group()
        if letter == "[":
            return Characters(self.read_class())
        if self.take("$") or self.take("\\z"):
            return LookAhead(NO_CODE_POINT, at_end=True)
        if letter == "^":
            raise UnsupportedPatternError("'^' (start of text)")
        if letter == "\\":
            return Characters(self.read_escape())
        self.position += 1
        if letter == ".":
            return Characters(EVERY_CODE_POINT if self.dot_matches_all else ~_LINE_FEED)
        return Characters(self.fold(CodePointSet.from_code_points([ord(letter)])))

    # Repeats

    def parse_repeats(self, item: Node, started_at: int) -> Node:
        """Wrap ``item`` in the repeats that follow it."""
        while (bounds := self.take_bounds()) is not None:
            minimum, maximum = bounds
            if isinstance(item, LookAhead):
                raise UnsupportedPatternError("a repeated look-ahead")
            if maximum is not None and minimum > maximum:
                self.fail(f"the repeat is at least {minimum} but at most {maximum}", started_at)
            if max(minimum, maximum or 0) > MAX_REPEATS:
                raise UnsupportedPatternError(f"more than {MAX_REPEATS} repeats")
            mode = RepeatMode.GREEDY
            if self.take("?"):
                mode = RepeatMode.LAZY
            elif self.take("+"):
                mode = RepeatMode.POSSESSIVE
            item = Repeat(item, minimum, maximum, mode)
        return item

    def take_bounds(self) -> tuple[int, int | None] | None:
        """Read a quantifier if one comes next; return its bounds (None: without limit)."""
        if self.take("*"):
            return 0, None
        if self.take("+"):
            return 1, None
        if self.take("?"):
            return 0, 1
        stop = self.pattern.find("}", self.position)
        if self.peek() != "{" or stop < 0:
            return None
        low, comma, high = self.pattern[self.position + 1 : stop].partition(",")
        if not (low + high).isascii() or not (low + high).isdigit():
            return None  # A brace that stands for itself, as in the regex module.
        self.position = stop + 1
        if not comma:
            return int(low), int(low)
        return int(low or 0), int(high) if high else None

    # Groups

    def parse_group(self) -> Node | None:
        opened_at = self.position
        if self.take("(?#"):
            self.take_until(")", opened_at)
            return None
        flags = (self.ignore_case, self.dot_matches_all)
        node = self.parse_group_body(opened_at)
        if not self.take(")"):
            self.fail("this '(' is never closed; write \\( for the character", opened_at)
        if node is not None:
            self.ignore_case, self.dot_matches_all = flags
        return node

    def parse_group_body(self, opened_at: int) -> Node | None:
        """Return what a group holds, all but its ')' read; None for flags alone, as ``(?i)``."""
        if self.take("(?="):
            return self.make_look_ahead(self.parse_choice(), negated=False)
        if self.take("(?!"):
            return self.make_look_ahead(self.parse_choice(), negated=True)
        if self.take("(?>"):
            return Repeat(self.parse_choice(), 1, 1, RepeatMode.POSSESSIVE)
        if self.take("(?<=") or self.take("(?<!"):
            raise UnsupportedPatternError("look-behind")
        if self.take("(?P<") or self.take("(?<"):
            self.take_until(">", opened_at)
        elif self.take("(?"):
            self.read_flags()
            if not self.take(":"):
                return None
        else:
            self.position += 1
        return self.parse_choice()

    def make_look_ahead(self, node: Node, negated: bool) -> LookAhead:
        look_ahead = as_look_ahead(node)
        if look_ahead is None:
            raise UnsupportedPatternError("a look-ahead at more than one character")
        if negated:
            return LookAhead(~look_ahead.members, not look_ahead.at_end)
        return look_ahead

    def read_flags(self) -> None:
        """Read flags up to the ':' or ')' after them, and let them hold from here on."""
        value = True
        while self.peek() not in ("", ":", ")"):
            letter = self.peek()
            if letter == "-":
                value = False
            elif letter == "i":
                self.ignore_case = value
            elif letter == "s":
                self.dot_matches_all = value
            else:
                raise UnsupportedPatternError(f"'(?{letter}'")
            self.position += 1


def parse_pattern(pattern: str, tables: UnicodeTables) -> Node:
    r"""Return ``pattern`` as nodes, with the character sets of ``tables``.

    Raises PatternError, which shows where, for what makes no sense, and UnsupportedPatternError for
    what is valid in some of the engines but not known here: look-behind, back-references, word
    boundaries and the like.

    >>> parse_pattern("a|b", load_unicode_tables("16"))
    Choice(options=(Characters(...), Characters(...)))
    """
    return _Parser(pattern, tables).parse_all()
