"""Text of many kinds, to find out whether two tokenizers are one: scripts, white space, code."""

from itertools import product
from typing import Final

_PROSE: Final = (
    "The quick brown fox jumps over the lazy dog. It's 10 o'clock; we'll see, won't we? I'VE HAD IT!",
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.",
    "Voix ambiguë d'un cœur qui, au zéphyr, préfère les jattes de kiwis.",
    "El pingüino Wenceslao hizo kilómetros bajo exhaustiva lluvia.",
    "Đêm qua tôi không ngủ được, tiếng Việt có nhiều dấu thanh.",
    "Pijamalı hasta yağız şoföre çabucak güvendi. İIıi",
    "Съешь же ещё этих мягких французских булок, да выпей чаю.",
    "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία.",
    "נקראתי לבוא אל העיר הגדולה.",
    "نص حكيم له سر قاطع وذو شأن عظيم. ١٢٣٤٥",
    "ऋषियों को सताने वाले दुष्ट राक्षसों के राजा रावण का सर्वनाश करने वाले।",
    "আমি বাংলায় গান গাই। ১২৩",
    "தமிழ் எழுத்துக்கள் அழகானவை.",
    "เป็นมนุษย์สุดประเสริฐเลิศคุณค่า กว่าบรรดาฝูงสัตว์เดรัจฉาน",
    "ខ្ញុំអាចញ៉ាំកញ្ចក់បាន မြန်မာစာ ශ්\u200dරී ලංකා",
    "いろはにほへと ちりぬるを、カタカナと漢字が混ざった文。",
    "天地玄黄、宇宙洪荒。日月盈昃、辰宿列张。繁體中文也可以。\U00020000\U0002a6d6",
    "다람쥐 헌 쳇바퀴에 타고파. 키스의 고유조건은",
    "ქართული ანბანი, հայերեն այբուբեն, አማርኛ ᏣᎳᎩ ᠮᠣᠩᠭᠣᠯ",
)

_SYMBOLS: Final = (
    "$1,000.00 + 20% = £750; 3.14159e-10 1234567890 12 123 1234 \u00bd\u00b2\u2167\u2460",
    "\U0001f600\U0001f44d\U0001f3fd \U0001f469\u200d\U0001f467 \U0001f1eb\U0001f1f7 \u2764\ufe0f",
    "e\u0301 \u00e9 A\u030a \u00c5 \u212b \ufb01 \uff21\uff22 \u1e9e \u01c4\u01c5\u01c6 o\u0308\u0323",
    "it'\u017f IT'S we\u2019re 'll've \u2018x\u2019 ''' \"\" `` -- --- \u2014 ... \u2026 !!!??",
    "\0\x01\x1b\x7f\x85\xa0\xad\u200b\u2028\u2029\u3000\ufeff\ufffd\u0378\U000e0001\U0010ffff",
    "\u2581under\u2581 <0x41> <0x0A> </s> <s> <unk> <|endoftext|> <|im_start|>user [INST] <bos>",
)

_CODE: Final = (
    "def f(x: int = 0) -> str:\n    if x >= 10:\n\t\treturn f\"{x!r:>10}\"\n    return ''  # ok\n\n",
    "for (int i = 0; i < n; i++) {\r\n  a[i] += b->c * 0xFF;\r\n}\r\n\r\n",
    '<div class="a-b">&nbsp;</div>\n<!-- https://example.com/a?b=c&d=%20#e -->\n',
    "SELECT * FROM t WHERE a_b = 'it''s' AND camelCase LIKE 'HTTPServer%';\n",
    "\\frac{a}{b}^{2} \\n \\t ~/.bashrc | grep -v '^#' > /dev/null 2>&1 ../x.\n/y\n",
)

_GAPS: Final = (" ", "  ", "\t", "\n", "\r\n", "\n\n", "\u00a0", "\u3000")

_SPACES: Final = (
    *("x" + "".join(gaps) + "y" for gaps in product(_GAPS, repeat=3)),
    *(gap * length for gap, length in product(_GAPS, (1, 2, 3, 4, 7, 16, 81))),
    *("word" + gap * length for gap, length in product(_GAPS, (1, 2, 5))),
    *(gap * length + "!x" for gap, length in product(_GAPS, (1, 2, 5))),
)

_RUNS: Final = tuple(
    letter * length for letter, length in product("a=-#.,'1/\u4e00\u0e01", (2, 3, 5, 8, 33, 100))
)

_MIXES: Final = tuple(
    map("".join, product(("a", "A", "1", " ", "'s", ".", "\n", "\u4e00", "\u0301"), repeat=4))
)

SAMPLE_TEXTS: Final = (
    "",
    *_PROSE,
    *_SYMBOLS,
    *_CODE,
    " ".join((*_PROSE, *_SYMBOLS)),
    "\n".join((*_PROSE, *_CODE)),
    *(f"{text} \n " for text in _PROSE),
    *_SPACES,
    *_RUNS,
    *_MIXES,
)
"""Some seven thousand short texts and a few longer ones."""
