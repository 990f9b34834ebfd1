"""Files as they come: every form, and damaged ones."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import tiktoken

import numbpe
from numbpe.errors import ArgumentError, DataError, FormatError, NumbpeError
from numbpe.formats.tiktoken_reading import KNOWN_ENCODINGS
from numbpe.named_patterns import NAMED_PATTERNS
from numbpe.sample_texts import SAMPLE_TEXTS

BYTES = {byte: bytes([byte]) for byte in range(256)}
TEXTS = (*SAMPLE_TEXTS[:60], *SAMPLE_TEXTS[60::10])
MODEL = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}
BOM = b"\xef\xbb\xbf"


def make_tokenizer(**options: Any) -> numbpe.Tokenizer:
    return numbpe.train(list(TEXTS), 600, progress=False, **options)


def write_json(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def write_ranks(path: Path, ranks: dict[bytes, int]) -> Path:
    path.write_bytes(b"".join(base64.b64encode(t) + b" %d\n" % rank for t, rank in ranks.items()))
    return path


# Every form


@pytest.mark.parametrize("recipe", ["cs336", "tiktoken"])
@pytest.mark.parametrize("name", ["x.json", "x.pkl", "x", "x.tiktoken"])
def test_load__gives_back_what_was_saved(name: str, recipe: str, tmp_path: Path) -> None:
    """Truth: the tokenizer that was saved; all its tokens, merges, special tokens and ids."""
    tokenizer = make_tokenizer(special_tokens=["<|e|>", "<s>"], pattern="cl100k", recipe=recipe)
    tokenizer.save(tmp_path / name)
    options: dict[str, Any] = {}
    if name != "x.json":
        options["pattern"] = "cl100k"
    if name in ("x.pkl", "x.tiktoken"):
        options["special_tokens"] = tokenizer.special_tokens
    loaded = numbpe.load(tmp_path / name, **options)
    assert loaded.vocab == tokenizer.vocab
    assert loaded.special_tokens == tokenizer.special_tokens
    if name != "x.tiktoken":
        assert loaded.merges == tokenizer.merges
        assert loaded.pattern.split(b"it's \n x1234\n ") == tokenizer.pattern.split(
            b"it's \n x1234\n "
        )
    for text in (*TEXTS, "a<s><|e|>b"):
        assert loaded.encode(text).tolist() == tokenizer.encode(text).tolist(), repr(text)


def test_load__finds_the_files_of_a_folder_by_any_of_them(tmp_path: Path) -> None:
    """Truth: one tokenizer, by the folder, by either file, and by names with something added."""
    tokenizer = make_tokenizer()
    tokenizer.save(tmp_path / "x")
    tokenizer.save(tmp_path / "owt.pkl")
    for old, new in (("vocab.json", "my_vocab.json"), ("merges.txt", "my_merges.txt")):
        (tmp_path / new).write_bytes((tmp_path / "x" / old).read_bytes())
    special = {"special_tokens": tokenizer.special_tokens}
    for path, options in [
        ("x", {}),
        ("x/vocab.json", {}),
        ("x/merges.txt", {}),
        ("my_vocab.json", special),
        ("my_merges.txt", special),
        ("owt.pkl", special),
        ("owt_vocab.pkl", special),
        ("owt_merges.pkl", special),
    ]:
        loaded = numbpe.load(tmp_path / path, **options)
        assert (loaded.vocab, loaded.merges) == (tokenizer.vocab, tokenizer.merges)
        assert loaded.special_tokens == tokenizer.special_tokens


def test_load__takes_a_byte_order_mark(tmp_path: Path) -> None:
    """Truth: case 52: the same files without it."""
    tokenizer = make_tokenizer()
    for name in ("x.json", "x.tiktoken", "x"):
        tokenizer.save(tmp_path / name)
    for path in [*tmp_path.glob("x.*"), *(tmp_path / "x").iterdir()]:
        path.write_bytes(BOM + path.read_bytes())
    for name in ("x.json", "x.tiktoken", "x"):
        options = {} if name == "x.json" else {"pattern": "gpt2"}
        assert numbpe.load(tmp_path / name, **options).encode("the fox").tolist() == (
            tokenizer.encode("the fox").tolist()
        )


def test_load__merges_rank_files_as_tiktoken_does(tmp_path: Path) -> None:
    """Truth: tiktoken, with tokens that no merge reaches, holes, and two ways to one token."""
    made = [b"th", b"he", b"the", b"xyz", b" the", b"aa", b"aaa", b"quick", b"  ", b"   ", b"\n\n"]
    ranks = {bytes([byte]): 255 - byte for byte in range(256)}
    ranks |= {token: 300 + 2 * i for i, token in enumerate(made)}
    path = write_ranks(tmp_path / "mine.tiktoken", ranks)
    special = {"<|endoftext|>": 500, "<s>": 257}
    ours = numbpe.load(path, pattern="cl100k", special_tokens=special)
    other = tiktoken.Encoding(
        "x", pat_str=NAMED_PATTERNS["cl100k"][0], mergeable_ranks=ranks, special_tokens=special
    )
    for text in (*TEXTS, "aaaaaaa xyz quick\n\n\n <s>", "aaaa the    the<|endoftext|>"):
        assert ours.encode(text).tolist() == other.encode(text, allowed_special="all"), repr(text)
    assert ours.vocab_size == len(ranks) + 2


def test_load__knows_the_encodings_of_openai(tmp_path: Path) -> None:
    """Truth: tiktoken_ext.openai_public, its source: names, patterns and special tokens."""
    import tiktoken_ext.openai_public as public

    assert KNOWN_ENCODINGS.keys() == public.ENCODING_CONSTRUCTORS.keys()
    for name, (pattern, special) in KNOWN_ENCODINGS.items():
        original = read_constructor(public, name)
        assert NAMED_PATTERNS[pattern][0] == original["pat_str"]
        expected = dict(original["special_tokens"])
        expected.pop("<|reserved_200018|>", None)  # has the id of <|endofprompt|>
        assert special == expected
    path = write_ranks(tmp_path / "cl100k_base.tiktoken", {BYTES[byte]: byte for byte in BYTES})
    ours = numbpe.load(path)
    assert ours.encode("<|endoftext|>").tolist() == [100_257]
    assert ours.vocabulary.pattern_name == "cl100k"


def read_constructor(public: Any, name: str) -> dict[str, Any]:
    """Call a constructor of tiktoken without its downloads."""
    loaders = {
        key: getattr(public, key) for key in dir(public) if key.startswith(("load_", "data_"))
    }
    try:
        for key in loaders:
            setattr(public, key, lambda *_, **__: {})
        return public.ENCODING_CONSTRUCTORS[name]()  # type: ignore[no-any-return]
    finally:
        for key, loader in loaders.items():
            setattr(public, key, loader)


def test_load__reads_what_transformers_writes_beside(tmp_path: Path) -> None:
    """Truth: the fields as transformers documents them, and LlamaTokenizerFast's template."""
    write_json(
        tmp_path / "tokenizer.json",
        {"model": MODEL, "added_tokens": [{"id": 3, "content": "<s>", "special": True}]},
    )
    config = {
        "added_tokens_decoder": {
            "3": {"content": "<s>", "special": True, "rstrip": True},
            "4": {"content": "</s>", "special": True},
            "7": {"content": "<tool>", "special": False, "normalized": False},
        },
        "bos_token": "<s>",
        "eos_token": {"content": "</s>"},
        "add_bos_token": True,
        "add_eos_token": True,
        "tokenizer_class": "PreTrainedTokenizerFast",
    }
    write_json(tmp_path / "tokenizer_config.json", config)
    tokenizer = numbpe.load(tmp_path)
    assert tokenizer.encode("<s> ab<tool>a</s>").tolist() == [3, 2, 7, 0, 4]
    assert tokenizer.definition.roles == {"bos_token": 3, "eos_token": 4}
    assert tokenizer.special_tokens == {"<s>": 3, "</s>": 4}
    assert tokenizer.encode("a", add_special_tokens=True).tolist() == [0]
    write_json(tmp_path / "tokenizer_config.json", config | {"tokenizer_class": "LlamaTokenizer"})
    ids = numbpe.load(tmp_path / "tokenizer.json").encode("a", add_special_tokens=True)
    assert ids.tolist() == [3, 0, 4]


def test_load__finds_special_tokens_of_a_folder(tmp_path: Path) -> None:
    """Truth: case 64: added_tokens.json, special_tokens_map.json and the argument."""
    write_json(tmp_path / "vocab.json", MODEL["vocab"] | {"<s>": 3})
    (tmp_path / "merges.txt").write_bytes(b"#version: 0.2\r\na b\r\n")
    assert numbpe.load(tmp_path).special_tokens == {}
    write_json(tmp_path / "special_tokens_map.json", {"bos_token": "<s>"})
    assert numbpe.load(tmp_path).special_tokens == {"<s>": 3}
    write_json(tmp_path / "added_tokens.json", {"<SEP>": 9})
    assert numbpe.load(tmp_path).encode("a<SEP>b<s>").tolist() == [0, 9, 1, 3]
    assert numbpe.load(tmp_path, special_tokens=["<x>"]).special_tokens == {"<x>": 4}


# Damaged files


JSON_FAULTS = [
    (b"", "the file is empty"),
    (BOM, "the file is empty"),
    (json.dumps({"model": MODEL}).encode()[:-20], "the JSON ends in the middle, at line 1, column"),
    (b'{"model": {"type": "BP', "the JSON ends in the middle"),
    (b"{'model': 1}", "this is not JSON: Expecting property name .* at line 1, column 2"),
    (b"[1, 2]", "where an object must be"),
    (b'{"model": "\xff"}', "byte 11 is 0xff, which is no UTF-8"),
    (b"{}", "this is no tokenizer.json: 'model' is missing"),
    (
        b'{"model": {"type": "BPE", "merges": []}}',
        "at model: 'vocab' is missing; it must be an object",
    ),
    (
        b'{"model": {"type": "BPE", "vocab": {}}}',
        "at model: 'merges' is missing; it must be a list",
    ),
    (
        b'{"model": {"type": "BPE", "vocab": {}, "merges": 3}}',
        "at model.merges: this must be a list",
    ),
]


@pytest.mark.parametrize("data, message", JSON_FAULTS)
def test_load__says_what_is_wrong_with_json(data: bytes, message: str, tmp_path: Path) -> None:
    """Truth: the message, with the place in the file."""
    path = tmp_path / "tokenizer.json"
    path.write_bytes(data)
    with pytest.raises(FormatError, match=f"cannot read .*tokenizer.json.*{message}"):
        numbpe.load(path)


MODEL_FAULTS: list[tuple[dict[str, Any], list[Any], str]] = [
    (
        {"merges": ["aa bb"], "vocab": {"aa": 0, "bb": 1}},
        [],
        r"merge 0, \['aa', 'bb'\].*'aabb' is not",
    ),
    ({"merges": ["a b", "c b"]}, [], r"merge 1, \['c', 'b'\].*'c' is not in the vocabulary"),
    ({"merges": ["a b", "ab"]}, [], "merge 1 is 'ab'; a merge is two tokens"),
    ({"merges": [["a", "b", "c"]]}, [], "merge 0 is .*a merge is two tokens"),
    ({"merges": [["a", 1]]}, [], "a merge is two tokens"),
    ({"merges": [None]}, [], "merge 0 is None"),
    ({"vocab": {"a": -1}}, [], "the token 'a' has the id -1; ids are integers from 0"),
    ({"vocab": {"a": 1 << 32}}, [], "the token 'a' has the id 4294967296"),
    ({"vocab": {"a": (1 << 32) - 1}}, [], "the token 'a' has the id 4294967295"),
    ({"vocab": {"a": 1 << 31}}, [], "the token 'a' has the id 2147483648"),
    ({"vocab": {"a": 1 << 70}}, [], "the token 'a' has the id"),
    ({"vocab": {"a": 1.0}}, [], "the token 'a' has the id 1.0"),
    ({"vocab": {"a": True}}, [], "the token 'a' has the id True"),
    ({"vocab": {"a": "0"}}, [], "the token 'a' has the id '0'"),
    ({"vocab": {"a": 0, "b": 0}}, [], r"the tokens \['a', 'b'\] have one id, 0"),
    ({"vocab": {"": 0}}, [], "the token 0 has no letters"),
    ({"vocab": {"\ud800": 0}}, [], "holds an unpaired surrogate"),
    (
        {},
        [{"id": 5, "content": "<s>"}, {"id": 5, "content": "<t>"}],
        "'<s>', id 5, and '<t>', id 5",
    ),
    ({}, [{"id": 5, "content": "<s>"}, {"id": 6, "content": "<s>"}], "cannot be told apart"),
    ({}, [{"id": 1, "content": "<s>"}], "'<s>' has the id 1, which is that of the token 'b'"),
    ({}, [{"id": 5, "content": "a"}], "'a' has the id 5, but in the vocabulary it has the id 0"),
    ({}, [{"id": 1 << 32, "content": "<s>"}], "the id 4294967296 is out of range"),
    ({}, [{"content": "<s>"}], r"added_tokens\[0\]: 'id' is missing"),
    ({}, [{"id": 5, "content": ""}], r"added_tokens\[0\].*is empty"),
    ({}, ["<s>"], r"added_tokens\[0\]: this must be an object"),
]


@pytest.mark.parametrize("model, added, message", MODEL_FAULTS)
def test_load__refuses_models_that_contradict_themselves(
    model: dict[str, Any], added: list[Any], message: str, tmp_path: Path
) -> None:
    """Truth: cases 67, 84 and 92, and the message, which names the merge or the token."""
    faulty = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": []} | model
    path = write_json(tmp_path / "x.json", {"model": faulty, "added_tokens": added})
    with pytest.raises(FormatError, match=message):
        numbpe.load(path)


@pytest.mark.parametrize(
    "line, message",
    [
        (b"!!! 1", "line 3, b'!!! 1': the token is not base64"),
        (b"YQ 1", "line 3, .*the token is not base64"),
        (b"YQ==", "line 3, b'YQ==': .*not 1 fields"),
        (b"YQ== 0 0", "line 3, .*not 3 fields"),
        (b"", "line 3, b'': .*not 0 fields"),
        (b"eHg= one", "line 3, .*the rank must be a number from 0"),
        (b"eHg= -1", "the rank must be a number"),
        (b"eHg= 4294967296", "the rank must be a number from 0 to 16,777,215"),
        (b"YQ== 9", "line 3, .*the token stands in line 1 already"),
        (b"eHg= 1", "line 3, .*the rank stands in line 2 already"),
    ],
)
def test_load__names_the_damaged_line_of_a_rank_file(
    line: bytes, message: str, tmp_path: Path
) -> None:
    """Truth: case 86; tiktoken 0.14 takes some of these."""
    path = tmp_path / "x.tiktoken"
    path.write_bytes(b"YQ== 0\nYg== 1\n" + line + b"\nYw== 2\n")
    with pytest.raises(FormatError, match=message):
        numbpe.load(path, pattern="gpt2")


def test_load__takes_a_blank_last_line_and_knows_a_web_page(tmp_path: Path) -> None:
    """Truth: case 86."""
    path = tmp_path / "x.tiktoken"
    for end in (b"", b"\n", b"\r\n"):
        path.write_bytes(b"YQ== 0\nYg== 1" + end)
        assert numbpe.load(path, pattern="gpt2").vocab == {0: b"a", 1: b"b"}
    path.write_bytes(b"<!DOCTYPE html>\n<html>404</html>\n")
    with pytest.raises(FormatError, match="a web page"):
        numbpe.load(path, pattern="gpt2")
    path.write_bytes(b"\n\x0e\n\x05<unk>\x15\0\0\0\0")
    with pytest.raises(FormatError, match="a binary file"):
        numbpe.load(path)
    path.rename(tmp_path / "tokenizer.model")
    with pytest.raises(FormatError, match="a SentencePiece model, which numbpe does not read"):
        numbpe.load(tmp_path / "tokenizer.model")


def test_load__says_that_a_byte_without_a_token_cannot_be_encoded(tmp_path: Path) -> None:
    """Truth: the contract: loading is allowed, encoding raises."""
    tokenizer = numbpe.load(write_ranks(tmp_path / "x.tiktoken", {b"a": 0}), pattern="gpt2")
    assert tokenizer.encode("aa").tolist() == [0, 0]
    with pytest.raises(DataError, match="no token"):
        tokenizer.encode("ab")


@pytest.mark.parametrize(
    "merges, message",
    [
        (b"#version: 0.2\na b\nab\n", "line 3 is 'ab'; a merge is two tokens"),
        (b"a b c\n", "line 1 is 'a b c'"),
        (b"a b\n\na b\n", "line 2 is ''"),
        (b"a \xff\n", "line 1 holds the byte 0xff"),
        (b"", "the file is empty"),
        (b"a c\n", "'c' is not in the vocabulary"),
    ],
)
def test_load__names_the_damaged_line_of_merges(
    merges: bytes, message: str, tmp_path: Path
) -> None:
    """Truth: the message."""
    write_json(tmp_path / "vocab.json", MODEL["vocab"])
    (tmp_path / "merges.txt").write_bytes(merges)
    with pytest.raises(FormatError, match=f"merges.txt.*{message}"):
        numbpe.load(tmp_path)


def test_load__explains_paths_that_lead_nowhere(tmp_path: Path) -> None:
    """Truth: the message, which says what to give."""
    (tmp_path / "some.txt").touch()
    with pytest.raises(FormatError, match=r"must hold tokenizer.json, or both .*'some.txt'"):
        numbpe.load(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"no such file; give a tokenizer.json"):
        numbpe.load(tmp_path / "tokenizer.json")
    with pytest.raises(FileNotFoundError, match="NAME.pkl stands for"):
        numbpe.load(tmp_path / "x.pkl")
    (tmp_path / "x_vocab.pkl").touch()
    with pytest.raises(FileNotFoundError, match="must lie beside x_vocab.pkl"):
        numbpe.load(tmp_path / "x_vocab.pkl")
    write_json(tmp_path / "vocab.json", {})
    with pytest.raises(FileNotFoundError, match="must lie beside vocab.json"):
        numbpe.load(tmp_path / "vocab.json")
    for path in (None, 3, b"x"):
        with pytest.raises(ArgumentError, match="path must be a str or a Path"):
            numbpe.load(path)  # type: ignore[arg-type]


def test_load__checks_arguments_that_do_not_fit_the_file(tmp_path: Path) -> None:
    """Truth: the message."""
    path = write_json(tmp_path / "x.json", {"model": MODEL})
    for options in ({"pattern": "gpt2"}, {"special_tokens": ["<s>"]}):
        with pytest.raises(ArgumentError, match="a tokenizer.json holds its own"):
            numbpe.load(path, **options)  # type: ignore[arg-type]
    ranks = write_ranks(tmp_path / "mine.tiktoken", {BYTES[byte]: byte for byte in BYTES})
    with pytest.raises(ArgumentError, match=r'holds no pattern.*pattern="cl100k"'):
        numbpe.load(ranks)
    for special, message in [
        ({"<s>": 97}, "cannot have the id 97: that is the token b'a'"),
        ({"<s>": -1}, "gives '<s>' the id -1"),
        ({"<s>": "x"}, "gives '<s>' the id 'x'"),
        ("<s>", "must be a list of str"),
    ]:
        with pytest.raises(NumbpeError, match=message):
            numbpe.load(ranks, pattern="gpt2", special_tokens=special)  # type: ignore[arg-type]
