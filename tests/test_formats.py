"""What is saved gives exactly our ids in the libraries that read it."""

import base64
import hashlib
import json
import pickle
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
import tiktoken
import tiktoken.load
import tokenizers

from numbpe import reference
from numbpe.errors import ArgumentError
from numbpe.formats.byte_alphabet import LETTERS, spell_bytes
from numbpe.formats.pickles import save_pickles
from numbpe.formats.tokenizer_json import build_document, check_can_hold
from numbpe.named_patterns import NAMED_PATTERNS
from numbpe.recipes import RECIPES
from numbpe.tokenizer import Tokenizer
from numbpe.vocabulary import Vocabulary

SPECIALS = ("<|endoftext|>", "<|e|>", "<|e|><|e|>", "[INST]", "\u00e9t\u00e9\u2603", " \n", "a.c")
PARTS = [
    *(
        "the",
        "The",
        " cat",
        "it's",
        "IT'LL",
        "'s",
        "'\u017f",
        "don't",
        "x1y22",
        "12345",
        "  ",
        "   ",
    ),
    *(
        "\n",
        "\n\n",
        "\r\n",
        "\t",
        " \n ",
        "\u00a0",
        "\u3000",
        "\u2028",
        "\x85",
        "\x1c",
        "...",
        "!!\n/",
    ),
    *(
        "\u00fc",
        "e\u0301",
        "\u0915\u093f",
        "\u4e00\u4e8c",
        "\u3042\u30a2",
        "\uac00",
        "\u0661\u0662",
    ),
    *(
        "\U0001f600",
        "\U0001f469\u200d\U0001f467",
        "\u01c5",
        "\u2167",
        "\u00b2",
        "\ufeff",
        "\0",
        "_",
    ),
    *("$1,000.00", "a=b&&c", "//", "#", "<|", "|>", "<|endoftext|", "\U00020000", "\u0e01\u0e33"),
    *("camelCase", "HTTPServer", "\u01c4", "\u0130", "\u00df", "\ufb06", "\u212a", "99", "\u0378"),
]
TRAINING_TEXT = (
    "the cat's the dog isn't there; 12345 cats, 99 dogs.\n\n  the end\r\n\t"
    "\u4e00\u4e8c\u4e00\u4e8c \u3042\u30a2 \u00fcber \u00e9t\u00e9 camelCase HTTPServer ... //"
) * 3


def make_texts(n_texts: int, seed: int, parts: Sequence[str] = (*PARTS, *SPECIALS)) -> list[str]:
    generator = random.Random(seed)
    return ["".join(generator.choices(parts, k=generator.randrange(1, 25))) for _ in range(n_texts)]


def make_tokenizer(
    pattern: str | tuple[str, ...], recipe: str = "cs336", specials: Sequence[str] = SPECIALS
) -> Tokenizer:
    sources = NAMED_PATTERNS[pattern] if isinstance(pattern, str) else pattern
    words = reference.count_words([TRAINING_TEXT, *PARTS, "ss st"], patterns=sources)
    merges = reference.train_symbols(
        {tuple(word): count for word, count in words.items()}, 120, tie=RECIPES[recipe].tie_rule
    )
    return Tokenizer.from_vocabulary(
        Vocabulary.from_training(
            [pair for pair, _ in merges], recipe=recipe, special_tokens=specials, pattern=pattern
        )
    )


def load_with_tokenizers(tokenizer: Tokenizer, folder: Path) -> tokenizers.Tokenizer:
    tokenizer.save(folder / "tokenizer.json")
    return tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))


def assert_equal_ids(tokenizer: Tokenizer, other: tokenizers.Tokenizer, texts: list[str]) -> None:
    for text in texts:
        assert tokenizer.encode(text).tolist() == other.encode(text).ids, repr(text)


# tokenizer.json


@pytest.mark.parametrize("pattern", list(NAMED_PATTERNS))
def test_tokenizer_json__gives_our_ids(pattern: str, tmp_path: Path) -> None:
    """Truth: tokenizers 0.23.3 with the file that we wrote, specials and odd text included."""
    tokenizer = make_tokenizer(pattern)
    other = load_with_tokenizers(tokenizer, tmp_path)
    assert_equal_ids(tokenizer, other, make_texts(400, seed=1))
    assert other.get_vocab_size() == tokenizer.vocab_size
    for name, token_id in tokenizer.special_tokens.items():
        assert other.token_to_id(name) == token_id


@pytest.mark.parametrize("recipe", list(RECIPES))
@pytest.mark.parametrize("specials", [(), ("<|endoftext|>",), (" ", "\n", "\u4e00", "\U0001f600")])
def test_tokenizer_json__gives_our_ids_for_both_recipes(
    recipe: str, specials: tuple[str, ...], tmp_path: Path
) -> None:
    """Truth: tokenizers 0.23.3; its decoder too."""
    tokenizer = make_tokenizer("gpt2", recipe, specials)
    other = load_with_tokenizers(tokenizer, tmp_path)
    texts = make_texts(200, seed=2, parts=[*PARTS, *SPECIALS, *specials])
    assert_equal_ids(tokenizer, other, texts)
    for text in texts:
        ids = tokenizer.encode(text).tolist()
        assert other.decode(ids, skip_special_tokens=False) == tokenizer.decode(ids) == text


@pytest.mark.parametrize(
    "source",
    [
        r"\d{1,3}+|\D",
        r"\p{N}{2}+| ?\p{L}{1,4}?|\s{1,}+$|\s{2}?|.",
        r"(?s:.){1,3}",
        r"(?i)'s|'ſ|[a-c]+|ss|st|\s+$",
        r"(?i:ss|st|ff)|(?i:x[st])|\pL+|\PL",
        r"[\p{L}&&[^\p{Script=Latin}]]+|\p{gc=Lu}|[^\p{L}]+",
        r"\w+|\W|[^\w\s]+|[\w-]+",
        r"(?P<letters>\p{L}+)|(?<rest>\P{^L}|\x{4e00}|\u4e8c|\x20|\v|\0)",
        r"{|a{2|}|\]|[\]]|[]a]|[a\-z]+|[!-/:-@]|\{\}",
        r"(?:a|b){1,}?|x{,2}y|(?>\s+)|\p{L}++(?=\s)|(?!x)\S+",
    ],
)
def test_tokenizer_json__translates_patterns(source: str, tmp_path: Path) -> None:
    """Truth: our own pieces, which other tests compare with the regex module and tiktoken."""
    tokenizer = Tokenizer({byte: bytes([byte]) for byte in range(256)}, [], pattern=source)
    other = load_with_tokenizers(tokenizer, tmp_path)
    texts = [*make_texts(300, seed=3), "ss\u00dfst\ufb06SS\u1e9e ffx\ufb00 xst", "a{2}", "]a-z{}"]
    for text in texts:
        pieces = [piece for piece, _ in other.pre_tokenizer.pre_tokenize_str(text)]
        expected = [spell_bytes(piece) for piece in tokenizer.pattern.split(text.encode())]
        assert pieces == expected, repr(text)


@pytest.mark.parametrize(
    "source, message",
    [
        (r"(?<=a)b", "look-behind"),
        (r"(a)\1", r"'\\1'"),
        (r"\bfoo\b", r"'\\b'"),
        (r"^a", "start of text"),
        (r"[[:alpha:]]", "a class by name"),
        (r"[!--a]", "'--' in a class"),
        (r"a*|b", "a match of the empty string"),
        (r"(?i:stra\u00dfe)", "without regard to case"),
        (r"(?i:\p{L})", "a property without regard to case"),
    ],
)
def test_tokenizer_json__refuses_what_it_cannot_translate(source: str, message: str) -> None:
    """Truth: the message, which names the part and says what to do."""
    with pytest.raises(ArgumentError, match=f"{message}.*save as .pkl"):
        check_can_hold([], [source])


def test_tokenizer_json__leaves_known_patterns_as_they_are() -> None:
    """Truth: the published expressions, which readers find by their text."""
    for name in ("llama3", "o200k", "qwen2"):
        document = build_document(make_tokenizer(name).definition)
        steps = document["pre_tokenizer"]["pretokenizers"]
        assert steps[0]["pattern"] == {"Regex": NAMED_PATTERNS[name][0]}
        assert steps[1]["use_regex"] is False
    assert build_document(make_tokenizer("gpt2").definition)["pre_tokenizer"]["use_regex"] is True


def test_tokenizer_json__refuses_special_tokens_spelled_like_ordinary_ones() -> None:
    """Truth: tokenizers 0.23.3 gives both the ordinary id, so that the file cannot say otherwise."""
    for special in ("a", "\u00e9", "the", "\u0120the"):
        tokenizer = make_tokenizer("gpt2", specials=("<s>", special))
        with pytest.raises(ArgumentError, match=f"cannot hold the special token '{special}'"):
            build_document(tokenizer.definition)
    for special in ("a", "\u00e9"):
        with pytest.raises(ArgumentError, match="cannot hold the special token"):
            check_can_hold([special], [])
    check_can_hold(["<s>", "the", "\u4e00"], NAMED_PATTERNS["cl100k"])


# .tiktoken


@pytest.mark.parametrize("recipe", list(RECIPES))
@pytest.mark.parametrize("pattern", ["r50k", "cl100k", "o200k"])
def test_tiktoken__gives_our_ids(recipe: str, pattern: str, tmp_path: Path) -> None:
    """Truth: tiktoken with the file that we wrote."""
    specials = ("<|endoftext|>", "<|e|>")
    tokenizer = make_tokenizer(pattern, recipe, specials)
    path = tmp_path / "ranks.tiktoken"
    tokenizer.save(path)
    encoding = tiktoken.Encoding(
        "ours",
        pat_str=NAMED_PATTERNS[pattern][0],
        mergeable_ranks=tiktoken.load.load_tiktoken_bpe(str(path)),
        special_tokens=tokenizer.special_tokens,
    )
    for text in make_texts(400, seed=4):
        expected = encoding.encode(text, allowed_special="all")
        assert tokenizer.encode(text).tolist() == expected, repr(text)
        assert tokenizer.encode(text, special="text").tolist() == encoding.encode_ordinary(text)


def test_tiktoken__refuses_ids_that_are_no_ranks(tmp_path: Path) -> None:
    """Truth: tiktoken's rule, the token of lowest rank, by hand."""
    tokens = {byte: bytes([byte]) for byte in range(256)}
    merges = [(b"a", b"b"), (b"b", b"c")]
    for vocab, merge_list, message in [
        (tokens | {256: b"bc", 257: b"ab"}, merges, "merge 1 makes the token 256"),
        ({0: b"a", 1: b"b", 2: b"ab"}, merges[:1], "the byte 0 has no token"),
        (tokens | {256: b"ab", 257: b"xyz"}, merges[:1], "b'xyz', do not merge to it"),
        (tokens | {256: b"ab", 257: b"cab", 258: b"abc"}, [*merges[:1], (b"ab", b"c")], "b'cab'"),
    ]:
        with pytest.raises(ArgumentError, match=f"cannot save as .tiktoken.*{message}"):
            Tokenizer(vocab, merge_list).save(tmp_path / "x.tiktoken")
    assert list(tmp_path.iterdir()) == []


# The folder form


def test_gpt2_folder__gives_our_ids(tmp_path: Path) -> None:
    """Truth: tokenizers 0.23.3 built from vocab.json and merges.txt, specials added from the file."""
    tokenizer = make_tokenizer("gpt2", specials=("<|endoftext|>", "<SEP>"))
    tokenizer.save(tmp_path / "folder")
    folder = tmp_path / "folder"
    model = tokenizers.models.BPE.from_file(str(folder / "vocab.json"), str(folder / "merges.txt"))
    other = tokenizers.Tokenizer(model)
    other.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    added = json.loads((folder / "added_tokens.json").read_text(encoding="utf-8"))
    assert added == tokenizer.special_tokens
    other.add_special_tokens(list(added))
    assert_equal_ids(tokenizer, other, [*make_texts(200, seed=5), "a<SEP>b"])
    assert (folder / "merges.txt").read_text(encoding="utf-8").startswith("#version: 0.2\n")


def test_gpt2_folder__holds_clashes_and_no_stale_special_tokens(tmp_path: Path) -> None:
    """Truth: both ids of "a", one in each file; the old added_tokens.json is gone afterwards."""
    tokenizer = make_tokenizer("gpt2", specials=("a", "<s>"))
    tokenizer.save(tmp_path)
    vocab = json.loads((tmp_path / "vocab.json").read_text(encoding="utf-8"))
    added = json.loads((tmp_path / "added_tokens.json").read_text(encoding="utf-8"))
    assert (vocab["a"], added["a"], added["<s>"]) == (97, 256, 257)
    make_tokenizer("gpt2", specials=()).save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["merges.txt", "vocab.json"]


def test_gpt2_folder__refuses_a_merge_that_readers_skip(tmp_path: Path) -> None:
    """Truth: tokenizers skips every line that begins with "#version"."""
    tokens = dict(enumerate([b"#version", b":", b"#version:"]))
    with pytest.raises(ArgumentError, match="merge 0, '#version :', looks like its version line"):
        Tokenizer(tokens, [(b"#version", b":")]).save(tmp_path / "folder")


# The pickles, and all formats


def test_pickles__hold_the_vocabulary_and_the_merges(tmp_path: Path) -> None:
    """Truth: Python's pickle module; one input, so one file, whatever objects are shared."""
    tokenizer = make_tokenizer("gpt2")
    tokenizer.save(tmp_path / "owt.pkl")
    save_pickles(tokenizer, tmp_path / "v.pkl", tmp_path / "m.pkl")
    for name, other, expected in [
        ("owt_vocab.pkl", "v.pkl", tokenizer.vocab),
        ("owt_merges.pkl", "m.pkl", tokenizer.merges),
    ]:
        data = (tmp_path / name).read_bytes()
        assert pickle.loads(data) == expected
        assert (tmp_path / other).read_bytes() == data
    assert list(tokenizer.vocab) == sorted(tokenizer.vocab)


@pytest.mark.parametrize("name", ["x.json", "x.tiktoken", "x.pkl", "x"])
def test_save__writes_the_same_bytes_every_time(name: str, tmp_path: Path) -> None:
    """Truth: by definition; the second tokenizer is rebuilt from the dictionaries of the first."""
    specials = ("<|endoftext|>", "<|e|>")
    first = make_tokenizer("llama3", specials=specials)
    rebuilt = Tokenizer(
        dict(reversed(first.vocab.items())), first.merges, list(specials), pattern="llama3"
    )
    digests = []
    for folder, tokenizer in [(tmp_path / "1", first), (tmp_path / "2", rebuilt)]:
        tokenizer.save(folder / name)
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        digests.append([(p.name, hashlib.sha256(p.read_bytes()).hexdigest()) for p in files])
    assert digests[0] == digests[1]
    assert digests[0]


def test_save__explains_unknown_suffixes(tmp_path: Path) -> None:
    """Truth: the message, which lists the formats."""
    tokenizer = make_tokenizer("gpt2", specials=())
    for name in ("x.txt", "x.model", "x.1"):
        with pytest.raises(ArgumentError, match=r"no format has the suffix.*\.json.*\.tiktoken"):
            tokenizer.save(tmp_path / name)
    tokenizer.save(f"{tmp_path}/v1.5/")
    assert (tmp_path / "v1.5" / "vocab.json").is_file()


def test_byte_alphabet__is_that_of_gpt2() -> None:
    """Truth: the alphabet of tokenizers, and known letters."""
    assert sorted(LETTERS) == sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    assert spell_bytes(b" a\n\xff\xad\x00") == "\u0120a\u010a\u00ff\u0143\u0100"


def test_tiktoken__writes_base64_and_rank(tmp_path: Path) -> None:
    """Truth: the format by hand: ids of special tokens are left out."""
    make_tokenizer("gpt2", specials=("<s>",)).save(tmp_path / "x.tiktoken")
    lines = (tmp_path / "x.tiktoken").read_bytes().splitlines()
    assert lines[97] == base64.b64encode(b"a") + b" 97"
    assert [int(line.split()[1]) for line in lines] == [*range(256), *range(257, 257 + 120)]
