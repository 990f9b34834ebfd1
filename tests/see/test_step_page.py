"""The stepper in a real browser: what it encodes, how it steps, and that text runs nothing."""

import itertools
import json
import lzma
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import numbpe
from numbpe.combinatorial.definition import CombinatorialVocabulary
from numbpe.combinatorial.formats import read_vocabulary
from numbpe.combinatorial.reference import ReferenceTokenizer
from numbpe.combinatorial.training import train_combinatorial
from numbpe.definition import AddedToken, Normalization, Prepend, Replace, TokenizerDefinition
from numbpe.see.small_tables import PARAGRAPH, train_small_tables
from numbpe.see.stepping import build_step_page, describe_combinatorial, describe_standard
from numbpe.tokenizer import Tokenizer

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

    OpenPage = Callable[[str], Chrome]

TEXTS = [
    "",
    "Hello, world",
    "na\u00efve caf\u00e9 \U0001f600\U0001f44d\U0001f3fd \U0001f469\u200d\U0001f469\u200d\U0001f467",
    "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e, \u0939\u093f\u0902\u0926\u0940",
    "one\r\ntwo\r\n\r\n\tthree \r\n",
    "<|endoftext|>the<|endoftext|><|endoftext|> end <|endof",
    "it's IT'S foo'r 12345 3.14 ...//  \n  \n x\n\n",
    "\u4e2d\u6587\u5206\u8bcd\u5f88\u6709\u8da3\u3002\u65e5\u672c\u8a9e\u3082",
    "\u0130 \u01c5 \u00df \u1e9e \u03c2 \u03a3 \u212a \ufb01 e\u0301 \u1e9b\u0323",
    "\u2028\u3000\u00a0x \x01\x7f\ufeff",
    "getUserName HTTPServer NASA McC userIDs THE END",
]
LONG_TEXTS = [
    (
        "The quick brown fox \U0001f600 jumps; \u0928\u092e\u0938\u094d\u0924\u0947 \u4e16\u754c\n"
        * 300
    )[:10_000],
    "a" * 10_000,
]

TYPE_IN = """
const [texts, done] = arguments;
const [field, crlf] = ["text", "crlf"].map((id) => document.getElementById(id));
const panels = [...document.querySelectorAll(".panel")];
const found = [];
const type = () => {
  if (found.length === texts.length) return done(found);
  const text = texts[found.length];
  crlf.checked = text.includes("\\r\\n");
  field.value = text.replaceAll("\\r\\n", "\\n");
  field.dispatchEvent(new Event("input"));
  wait();
};
const wait = () => {
  if (panels.some((panel) => panel.dataset.state !== "ready")) return setTimeout(wait, 1);
  found.push(panels.map((panel) => JSON.parse(panel.querySelector(".ids").value)));
  type();
};
type();
"""
KEYS = {
    "Home": "\ue011",
    "End": "\ue010",
    "ArrowLeft": "\ue012",
    "ArrowRight": "\ue014",
    "PageDown": "\ue00f",
}
"""The code points by which WebDriver sends the keys that buttons name."""

CHOOSE = """
const select = document.getElementById(`panel-${arguments[0]}-table`);
select.value = arguments[1];
select.dispatchEvent(new Event("change"));
"""


def wait_until_ready(chrome: "Chrome") -> None:
    script = """
    const done = arguments[0];
    const wait = () => document.getElementById("stepper").dataset.state ? done() : setTimeout(wait, 10);
    wait();"""
    chrome.execute_async_script(script)


def encode_in_page(chrome: "Chrome", texts: Sequence[str]) -> list[list[Any]]:
    """Type each text and return the ids, or rows, of every panel, for each text."""
    return chrome.execute_async_script(TYPE_IN, list(texts))


def can_be_typed(text: str) -> bool:
    """Tell whether a text field, with line ends of one kind, can hold a text."""
    rest = text.replace("\r\n", "")
    return "\r" not in rest and not (len(rest) < len(text) and "\n" in rest)


def open_models(
    open_page: "OpenPage", models: Sequence[dict[str, Any]], text: str = ""
) -> "Chrome":
    chrome = open_page(build_step_page(models, text=text))
    wait_until_ready(chrome)
    return chrome


def change(tokenizer: Tokenizer, **changes: Any) -> Tokenizer:
    """Return a tokenizer of the same vocabulary that does something else with text."""
    vocabulary = tokenizer.vocabulary
    added = tuple(AddedToken(name, i) for name, i in tokenizer.special_tokens.items())
    definition = TokenizerDefinition(vocabulary, **{"added_tokens": added} | changes)
    return Tokenizer.from_definition(definition)


def list_tokenizers(tokenizer: Tokenizer) -> dict[str, Tokenizer]:
    """Return tokenizers that take every way through the script."""
    special = tokenizer.special_tokens
    found = {
        name: Tokenizer(tokenizer.vocab, tokenizer.merges, special, name)
        for name in (
            "gpt2",
            "r50k",
            "cl100k",
            "o200k",
            "deepseek_v3",
            "qwen3.5",
            "kimi_k2",
            "bloom",
        )
    }
    rules = tokenizer.definition.rules
    by_result = type(rules)(merge_order="result", ignore_merges=True)
    found["by result, whole pieces"] = change(tokenizer, rules=by_result)
    found["NFC, marked"] = change(
        tokenizer,
        normalizer=(Normalization("NFC"), Prepend("x"), Replace("the", "THE")),
        added_tokens=(
            AddedToken("<|endoftext|>", special["<|endoftext|>"]),
            AddedToken("THE", tokenizer.token_id(b"."), special=False, normalized=True),
        ),
    )
    return found


def test_page__encodes_as_numbpe_does(tokenizer: Tokenizer, open_page: "OpenPage") -> None:
    """Truth: Tokenizer.encode, for patterns with look-ahead, possessive repeats, classes and splits."""
    tokenizers = list_tokenizers(tokenizer)
    chrome = open_models(open_page, [describe_standard(t, name) for name, t in tokenizers.items()])
    for number, (name, one) in enumerate(tokenizers.items()):
        chrome.execute_script(CHOOSE, 1, number)
        texts = TEXTS + (LONG_TEXTS if name in ("gpt2", "o200k") else [])
        for text, (ids,) in zip(texts, encode_in_page(chrome, texts), strict=True):
            assert ids == one.encode(text).tolist(), (name, text[:60])


def test_page__encodes_with_real_vocabularies(
    shared_data: Path, open_page: "OpenPage", tmp_path: Path
) -> None:
    """Truth: Tokenizer.encode with GPT-2 and with Llama 2, whose symbols are characters."""
    tokenizers = {}
    for name in ("gpt2", "llama2"):
        path = tmp_path / "tokenizer.json"
        packed = shared_data / "tokenizers" / f"{name}.json.xz"
        path.write_bytes(lzma.decompress(packed.read_bytes()))
        tokenizers[name] = numbpe.load(path)
    chrome = open_models(open_page, [describe_standard(t, name) for name, t in tokenizers.items()])
    for number, one in enumerate(tokenizers.values()):
        chrome.execute_script(CHOOSE, 1, number)
        texts = [*TEXTS, LONG_TEXTS[0]]
        for text, (ids,) in zip(texts, encode_in_page(chrome, texts), strict=True):
            assert ids == one.encode(text).tolist(), text[:60]


def make_tables(**options: Any) -> CombinatorialVocabulary:
    merges = [("t", "h"), ("th", "e"), ("e", "n"), ("en", "d"), ("e", "r"), ("\u4e2d", "\u6587")]
    return CombinatorialVocabulary(
        prefixes=("", " ", "<", '"', ' "'),
        suffixes=("",) if options.get("punct_to_next") else ("", ",", ".", "..", "'"),
        alphabet=tuple("abdehnrst\u00e9\u4e2d\u6587\u03c3 "),
        merges=tuple(merges),
        **options,
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"split_camel": True, "fold_han": True},
        {"punct_to_next": True},
        {"fold_case": False},
    ],
)
def test_page__encodes_tuples_as_the_specification_does(
    options: dict[str, bool], open_page: "OpenPage"
) -> None:
    """Truth: numbpe.combinatorial.reference."""
    vocabulary = make_tables(**options)
    reference = ReferenceTokenizer(vocabulary)
    chrome = open_models(open_page, [describe_combinatorial(vocabulary, "tables")])
    texts = [*TEXTS, LONG_TEXTS[0]]
    for text, (rows,) in zip(texts, encode_in_page(chrome, texts), strict=True):
        assert rows == [list(row) for row in reference.encode(text)], text[:60]


def test_page__encodes_with_real_tables(shared_data: Path, open_page: "OpenPage") -> None:
    """Truth: the encodings that the reference implementation of Combinatorial BPE made."""
    names = ("default", "camel", "han", "nofold", "noaffix")
    folder = shared_data / "combinatorial"
    models = []
    for name in names:
        vocabulary = read_vocabulary(folder / f"{name}.json")
        assert isinstance(vocabulary, CombinatorialVocabulary)
        models.append(describe_combinatorial(vocabulary, name))
    chrome = open_models(open_page, models)
    n_compared = 0
    for number, name in enumerate(names):
        chrome.execute_script(CHOOSE, 1, number)
        encodings = json.loads((folder / f"{name}.enc.json").read_text(encoding="utf-8"))
        pairs = [
            (text, rows) for text, rows in encodings if can_be_typed(text) and len(text) < 5000
        ]
        found = encode_in_page(chrome, [text for text, _ in pairs])
        for (text, rows), (actual,) in zip(pairs, found, strict=True):
            assert actual == rows, (name, text[:60])
        n_compared += len(pairs)
    assert n_compared > 100


def test_small_tables__stand_beside_each_other(open_page: "OpenPage") -> None:
    """Truth: equal rows, as trained by Python; ids and rows by its encoders."""
    text = "The dog and THE cat weren't there.\nThe END"
    standard = numbpe.train([PARAGRAPH], 330, special_tokens=(), progress=False)
    tables = train_combinatorial(
        [PARAGRAPH], 330, min_char_freq=1, min_affix_freq=2, progress=False
    )
    chrome = open_models(open_page, train_small_tables())
    rows = [list(row) for row in ReferenceTokenizer(tables).encode(text)]
    assert encode_in_page(chrome, [text]) == [[standard.encode(text).tolist(), rows]]
    spent = chrome.execute_script(
        "return [...document.querySelectorAll('.figures div:first-child dd')].map((e) => e.textContent)"
    )
    assert spent == ["330", "330"]


def test_keys__step_through_the_merges(tokenizer: Tokenizer, open_page: "OpenPage") -> None:
    """Truth: the merges of each piece by hand: lowest rank, then leftmost."""
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    chrome = open_models(open_page, [describe_standard(tokenizer, "austen")])
    chrome.find_element(By.ID, "text").send_keys(" there")
    # From the text field the next stops are the line ends, the table and the first button.
    for _ in range(3):
        chrome.switch_to.active_element.send_keys(Keys.TAB)
    assert chrome.switch_to.active_element.get_attribute("id") == "panel-1-first"
    assert chrome.switch_to.active_element.accessible_name == "First"
    merges = tokenizer.merges
    symbols = [bytes([byte]) for byte in b" there"]
    n_merges = 0
    status = chrome.find_element(By.ID, "panel-1-status")
    assert status.get_attribute("aria-live") == "polite"
    while True:
        pairs = list(itertools.pairwise(symbols))
        known = [merges.index(pair) for pair in pairs if pair in merges]
        shown = [e.text for e in chrome.find_elements(By.CSS_SELECTOR, "#panel-1 .symbol b")]
        assert shown == [symbol.decode().replace(" ", "\u00b7") for symbol in symbols]
        if not known:
            break
        rank = min(known)
        assert f"rank {rank};" in status.text
        assert chrome.find_element(By.CSS_SELECTOR, "#panel-1 .rank.lowest").text == str(rank)
        place = pairs.index(merges[rank])
        symbols[place : place + 2] = [b"".join(merges[rank])]
        n_merges += 1
        chrome.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    assert n_merges >= 2
    assert "no two neighbours" in status.text
    chrome.switch_to.active_element.send_keys(Keys.END)
    assert status.text.startswith("Done")
    # The focus stays where it was, so that the keys go on working.
    chrome.switch_to.active_element.send_keys(Keys.HOME)
    assert status.text.startswith("Step 1 of")


def test_fields__have_names(tokenizer: Tokenizer, open_page: "OpenPage") -> None:
    """Truth: the names that Chromium's accessibility tree gives; none may be empty."""
    from selenium.webdriver.common.by import By

    models = [
        describe_standard(tokenizer, "austen"),
        describe_combinatorial(make_tables(), "tables"),
    ]
    chrome = open_models(open_page, models, "the end")
    fields = chrome.find_elements(By.CSS_SELECTOR, "input, select, textarea, button, section, ol")
    assert len(fields) > 20
    assert [field.get_attribute("outerHTML") for field in fields if not field.accessible_name] == []


def test_focus__goes_down_the_page(tokenizer: Tokenizer, open_page: "OpenPage") -> None:
    """Truth: the order in which things are seen, by hand; keys that buttons name do what these do."""
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    models = [
        describe_standard(tokenizer, "austen"),
        describe_combinatorial(make_tables(), "tables"),
    ]
    chrome = open_models(open_page, models, "the end")
    chrome.find_element(By.ID, "text").click()
    parts = ("table", "first", "back", "next", "piece", "last", "play", "slider", "ids")
    expected = ["crlf", *(f"panel-{panel}-{part}" for panel in (1, 2) for part in parts)]
    reached = []
    for _ in expected:
        chrome.switch_to.active_element.send_keys(Keys.TAB)
        reached.append(chrome.switch_to.active_element.get_attribute("id"))
    assert reached == expected
    for panel in (1, 2):
        status = chrome.find_element(By.ID, f"panel-{panel}-status")
        assert status.aria_role == "status"
        told = {}
        for part in ("first", "back", "next", "piece", "last"):
            button = chrome.find_element(By.ID, f"panel-{panel}-{part}")
            key = KEYS[button.get_attribute("aria-keyshortcuts")]
            button.send_keys(Keys.HOME, Keys.ARROW_RIGHT)
            button.click()
            told[part] = status.text
            button.send_keys(Keys.HOME, Keys.ARROW_RIGHT)
            button.send_keys(key)
            assert status.text == told[part]
        # From the second step the first one is both the first and the one before.
        assert told["first"] == told["back"]
        assert len(set(told.values())) == 4


@pytest.mark.parametrize("keeps_policy", [True, False])
def test_markup__is_shown_and_not_run(keeps_policy: bool, open_page: "OpenPage") -> None:
    """Truth: nothing sets the variable, also without the policy that forbids it; the text is shown."""
    from selenium.webdriver.common.by import By

    attack = "<script>window.wasRun=1</script>"
    image = '<img src=x onerror="window.wasRun=1">'
    vocab = {byte: bytes([byte]) for byte in range(256)} | {256: b"<s"}
    tokenizer = Tokenizer(vocab, [(b"<", b"s")], {attack: 257, image: 258, "</textarea>": 259})
    models = [describe_standard(tokenizer, f"{attack}{image}")]
    text = f"{attack}</textarea>{attack}</script>{image}"
    page = build_step_page(models, text=text, notes=[attack])
    if not keeps_policy:
        page, n_found = re.subn('<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
        assert n_found == 1
    chrome = open_page(page)
    wait_until_ready(chrome)
    assert chrome.execute_script("return typeof window.wasRun") == "undefined"
    assert chrome.find_element(By.ID, "text").get_attribute("value") == text
    chip = chrome.find_element(By.CSS_SELECTOR, "#panel-1-tokens li")
    assert attack in chip.text
    assert encode_in_page(chrome, [text]) == [[tokenizer.encode(text).tolist()]]


@pytest.mark.parametrize("width", [360, 1280])
def test_page__fits_the_screen(width: int, tokenizer: Tokenizer, open_page: "OpenPage") -> None:
    """Truth: a page without sideways scrolling on a phone and on a desktop."""
    models = [
        describe_standard(tokenizer, "austen" * 20),
        describe_combinatorial(make_tables(), "tables"),
    ]
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
    chrome = open_models(open_page, models, "the end " * 40 + "x" * 300)
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        wide = chrome.execute_script("return document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0
    finally:
        chrome.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
