"""Special tokens as an argument."""

from typing import Any

import pytest

from numbpe.errors import ArgumentError
from numbpe.special_tokens import check_special_tokens


@pytest.mark.parametrize(
    "given, expected",
    [
        (None, ()),
        ([], ()),
        ((), ()),
        (["<|endoftext|>"], ("<|endoftext|>",)),
        (("<b>", "<a>", "é"), ("<b>", "<a>", "é")),
        (["<a>", "<é>".encode()], ("<a>", "<é>")),
        (["a.c", "(x|y)+", "[INST]", "$", "^", " "], ("a.c", "(x|y)+", "[INST]", "$", "^", " ")),
    ],
    ids=ascii,
)
def test_check_special_tokens__keeps_the_order(given: Any, expected: tuple[str, ...]) -> None:
    """Truth: hand-computed."""
    assert check_special_tokens(given) == expected


@pytest.mark.parametrize(
    "given, message",
    [
        (
            "<|endoftext|>",
            r"must be a list of str, not '<\|endoftext\|>'; write \['<\|endoftext\|>'\]",
        ),
        (b"<a>", r"write \[b'<a>'\]"),
        (["<a>", ""], r"special_tokens\[1\] is empty"),
        ([b""], r"special_tokens\[0\] is empty"),
        (["<a>", "b", "<a>"], r"'<a>' is given twice, as special_tokens\[0\] and \[2\]"),
        (["<a>", b"<a>"], "'<a>' is given twice"),
        (["<a>", 3], r"special_tokens\[1\] is 3, of type int; a special token must be a str"),
        ([None], r"special_tokens\[0\] is None"),
        (["<a>", ["<b>"]], "of type list"),
        ({"<a>", "<b>"}, "must be a list of str, whose order fixes their ids, not the set"),
        (7, "not the int 7"),
        (["\ud800"], "unpaired surrogate"),
        ([b"\xff"], r"special_tokens\[0\] is b'\\xff', which is not UTF-8"),
    ],
)
def test_check_special_tokens__refuses(given: Any, message: str) -> None:
    """Truth: the contract; the message names the token and its place."""
    with pytest.raises(ArgumentError, match=message):
        check_special_tokens(given)
