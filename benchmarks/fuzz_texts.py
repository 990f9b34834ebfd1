"""Seeded strings that tokenizers tend to disagree on."""

import random
from collections.abc import Callable, Iterator, Sequence

SPACES = " \t\n\r\x0b\x0c\x85\xa0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000\u200b\ufeff\u180e\x1c\x1f"
APOSTROPHES = [
    "'",
    "\u2019",
    "'s",
    "'S",
    "'\u017f",
    "'t",
    "'re",
    "'RE",
    "'ve",
    "'Ll",
    "'d",
    "'m",
    "''",
]
LETTERS = "aAzZ\xe9\xc9\xdf\u0130\u0131\u01c5\ufb01\u0301\u093e\u0bbe\u1e9e\u4e2d\u3042\u30ab\uac00\u1100\u1161\u0e01\u0e33\u0627\u05d0\U00010400\u16ea\u02b0"
MARKS = (
    '.,!?;:/\\-_+=*#@$%^&|~`<>()[]{}"\u2581\u3002\uff01\u20ac\U0001f44d\U0001f468\u200d\U0001f467'
)
DIGITS = "0123456789\u0663\u0967\u2460\xbd\u5341\U0001d7d9"
PLANES = (0, 0, 0, 0, 1, 1, 2, 3, 14, 15, 16)


def make_unicode_soup(random_: random.Random, specials: Sequence[str]) -> str:
    """Characters of all planes, assigned or not; no surrogates."""
    return "".join(draw_character(random_) for _ in range(random_.randint(1, 40)))


def draw_character(random_: random.Random) -> str:
    """One character of any plane."""
    if random_.random() < 0.3:
        return chr(random_.randint(0, 0x24F))
    code_point = random_.choice(PLANES) << 16 | random_.randint(0, 0xFFFF)
    return "\ufffd" if 0xD800 <= code_point < 0xE000 else chr(code_point)


def make_byte_soup(random_: random.Random, specials: Sequence[str]) -> str:
    """Random bytes as UTF-8 text, what is not UTF-8 replaced."""
    return random_.randbytes(random_.randint(1, 60)).decode("utf-8", "replace")


def make_space_soup(random_: random.Random, specials: Sequence[str]) -> str:
    """White space of all kinds, apostrophes and a few letters."""
    parts = [*SPACES, *" \n\r\t    ", *APOSTROPHES, *"ab1.", "  ", "\r\n", "\n\n"]
    return "".join(random_.choice(parts) for _ in range(random_.randint(1, 30)))


def make_word_soup(random_: random.Random, specials: Sequence[str]) -> str:
    """Letters, marks, digits and spaces of many scripts, in short runs."""
    classes = [LETTERS, LETTERS, MARKS, DIGITS, SPACES, " ", " "]
    parts: list[str] = []
    for _ in range(random_.randint(1, 14)):
        letters = random_.choice(classes)
        parts += random_.choices(letters, k=random_.randint(1, 5))
    return "".join(parts)


def make_special_soup(random_: random.Random, specials: Sequence[str]) -> str:
    """Special tokens whole, in part and run together, with text between."""
    parts: list[str] = []
    for _ in range(random_.randint(1, 8)):
        token = random_.choice(specials) if specials else "<|endoftext|>"
        start = random_.choice([0, 0, 0, 1, 2])
        parts.append(token[start : random_.choice([len(token)] * 4 + [len(token) - 1, 3])])
        parts.append(random_.choice(["", "", " ", "\n", "a", " a ", "<", "|", "\u2581", "  "]))
    return "".join(parts)


def make_long_run(random_: random.Random, specials: Sequence[str]) -> str:
    """One or two characters, very often."""
    unit = "".join(random_.choices(LETTERS + MARKS + DIGITS + " \n\t", k=random_.randint(1, 2)))
    return unit * random_.choice([10, 33, 64, 100, 257, 1000])


KINDS: tuple[Callable[[random.Random, Sequence[str]], str], ...] = (
    make_unicode_soup,
    make_byte_soup,
    make_space_soup,
    make_word_soup,
    make_special_soup,
    make_long_run,
)


def iterate_texts(n_texts: int, specials: Sequence[str], seed: int = 0) -> Iterator[str]:
    """Yield ``n_texts`` strings, all kinds in turn but for the long ones, which are rarer.

    specials: spellings of added tokens, to be sprinkled in.
    """
    random_ = random.Random(seed)
    for number in range(n_texts):
        kind = KINDS[number % 5] if number % 50 else make_long_run
        yield kind(random_, specials)
