"""Ids to text one by one, against Python's incremental decoder and against decoding at once."""

import codecs
import random
from typing import Any

import numpy as np
import pytest

import numbpe
from numbpe.decoder import Decoder
from numbpe.definition import AddedToken, DecodingRules, TokenizerDefinition
from numbpe.errors import ArgumentError
from numbpe.stream_decoder import StreamDecoder
from numbpe.vocabulary import Vocabulary

BLOCK = "\u2581".encode()
TO_SPACE = ((BLOCK, b" "),)
BYTES = {byte: bytes([byte]) for byte in range(256)}


def make_byte_tokenizer() -> numbpe.Tokenizer:
    return numbpe.Tokenizer(BYTES | {256: " \U0001f44d"[:1].encode() + b"x"}, [], ["<s>"])


def make_decoder(rules: DecodingRules) -> Decoder:
    tokens = {0: BLOCK, 1: b"a", 2: BLOCK + b"b", 3: b"<0xE4>", 4: "\u4e2d".encode(), 5: b"<s>"}
    vocabulary = Vocabulary.from_tokens(tokens, [], special_tokens={"<s>": 5})
    added = (AddedToken("<s>", 5),)
    return Decoder(TokenizerDefinition(vocabulary, added_tokens=added, decoding=rules))


@pytest.mark.parametrize("errors", ["replace", "ignore", "backslashreplace"])
def test_feed__equals_the_incremental_decoder(errors: str) -> None:
    """Truth: codecs.getincrementaldecoder, call by call (case E 74), on soup of broken UTF-8."""
    tokenizer = make_byte_tokenizer()
    generator = random.Random(11)
    parts = ["\U0001f44d".encode(), "\u010f\u00e1 ".encode(), b"\xf0\x9f", b"\xff", b"ab ", b"\x91"]
    decoder = tokenizer.decoder(errors)
    for _ in range(300):
        data = b"".join(generator.choices(parts, k=6))
        reference = codecs.getincrementaldecoder("utf-8")(errors)
        position = 0
        while position < len(data):
            stop = position + generator.choice((1, 1, 1, 2, 5))
            chunk = data[position:stop]
            ids: Any = chunk[0] if len(chunk) == 1 else np.frombuffer(chunk, dtype=np.uint8)
            assert decoder.feed(ids) == reference.decode(chunk)
            position = stop
        assert decoder.finish() == reference.decode(b"", final=True)


def test_feed__gives_characters_when_they_are_complete() -> None:
    """Truth: case E 74: half an emoji and a token that begins with a space."""
    decoder = make_byte_tokenizer().decoder()
    thumb = list("\U0001f44d".encode())
    assert [decoder.feed(id) for id in thumb] == ["", "", "", "\U0001f44d"]
    assert [decoder.feed(id) for id in thumb[:2]] == ["", ""]
    assert decoder.feed(256) == "\ufffd x"
    assert decoder.feed(thumb[:3]) == ""
    assert decoder.finish() == "\ufffd"
    assert decoder.finish() == ""
    assert decoder.feed(97) == "a"


@pytest.mark.parametrize("skips", [False, True])
@pytest.mark.parametrize(
    "rules",
    [
        DecodingRules(TO_SPACE, byte_fallback=True, strip_left=1),
        DecodingRules(TO_SPACE, byte_fallback=True, strip_left=2, strip_right=2),
        DecodingRules(TO_SPACE, strip_right=1),
        DecodingRules(TO_SPACE, drops_first_metaspace=True),
        DecodingRules(TO_SPACE, drops_first_metaspace=True, strip_left=1, strip_right=3),
        DecodingRules(),
    ],
)
def test_feed__strips_what_the_whole_loses(rules: DecodingRules, skips: bool) -> None:
    """Truth: Decoder.decode_bytes of all ids; streams of one object follow one another."""
    decoder = make_decoder(rules)
    stream = StreamDecoder(decoder, skip_special_tokens=skips)
    generator = random.Random(5)
    for _ in range(400):
        ids = generator.choices(range(6), weights=[6, 2, 2, 1, 1, 2], k=generator.randrange(8))
        cut = generator.randrange(len(ids) + 1)
        found = "".join(map(stream.feed, ids[:cut])) + stream.feed(iter(ids[cut:]))
        expected = decoder.decode_bytes(ids, skips).decode("utf-8", "replace")
        assert found + stream.finish() == expected, ids


def test_feed__takes_one_id_or_many() -> None:
    """Truth: the bytes of the ids."""
    decoder = make_byte_tokenizer().decoder()
    ids: list[Any] = [97, np.uint32(98), np.array(99), [100, 101], np.array([102]), (103,), []]
    assert "".join(map(decoder.feed, ids)) == "abcdefg"
    assert make_byte_tokenizer().decoder(skip_special_tokens=True).feed([97, 257, 98]) == "ab"


@pytest.mark.parametrize("bad", [-1, 258, 2**70, [97, 999], [1.5], None, "a", True, 2.0])
def test_feed__leaves_the_state_as_it_was(bad: Any) -> None:
    """Truth: case E 72 and 73: an error, after which the character is completed all the same."""
    decoder = make_byte_tokenizer().decoder()
    decoder.feed(list("\U0001f44d".encode())[:3])
    with pytest.raises(ArgumentError):
        decoder.feed(bad)
    assert decoder.feed("\U0001f44d".encode()[3]) == "\U0001f44d"


def test_feed__raises_under_strict() -> None:
    """Truth: codecs' incremental decoder: it raises, and goes on from what it held before."""
    decoder = make_byte_tokenizer().decoder("strict")
    reference = codecs.getincrementaldecoder("utf-8")("strict")
    assert decoder.feed(0xE4) == reference.decode(b"\xe4") == ""
    with pytest.raises(UnicodeDecodeError):
        reference.decode(b"a")
    with pytest.raises(UnicodeDecodeError):
        decoder.feed(97)
    assert decoder.feed([0xB8, 0xAD]) == reference.decode(b"\xb8\xad") == "\u4e2d"
    decoder.feed(0xE4)
    with pytest.raises(UnicodeDecodeError):
        decoder.finish()
    assert decoder.feed(97) + decoder.finish() == "a"


def test_stream_decoder__refuses_unknown_errors() -> None:
    """Truth: the message names the argument."""
    for errors in ("sloppy", None, 3):
        with pytest.raises(ArgumentError, match="errors must be the name"):
            make_byte_tokenizer().decoder(errors)  # type: ignore[arg-type]
