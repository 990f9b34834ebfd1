"""``numbpe report``: its figures, its samples, its page in a real browser, and bad input."""

import base64
import json
import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from numbpe.combinatorial.tokenizer import CombinatorialTokenizer
from numbpe.see.pages import escape
from numbpe.see.report_figures import collect_figures
from numbpe.see.subjects import as_subject
from numbpe.see.texts import NamedText, read_texts
from numbpe.see.token_kinds import find_token_kind
from numbpe.tokenizer import Tokenizer

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

    OpenPage = Callable[[str], Chrome]

Run = Callable[..., int]

ATTACK = '"><script>window.wasRun=1</script><img src=x onerror="window.wasRun=1">'
TEXT = "It is a truth, universally acknowledged: 1,234 caf\u00e9s.\r\n\tThe END \u0928\u092e <b>&\n"


DESCRIBE_PRINT = """
const isShown = (e) => e.checkVisibility();
const list = (selector) => [...document.querySelectorAll(selector)].filter(isShown);
const controls = list("button, input, select, textarea, nav, summary").map((e) => e.outerHTML);
const cutOff = list(".chart, .scroll, .sample").filter((e) => getComputedStyle(e).overflowX !== "visible");
const body = getComputedStyle(document.body);
return [controls, cutOff.map((e) => e.className), [body.backgroundColor, body.color]];
"""


def make_text(name: str, text: str) -> NamedText:
    return NamedText(name, text, len(text.encode()), is_sample=False)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (" the", "Latin"),
        ("caf\u00e9", "Latin"),
        ("a1", "Latin"),
        (" \u0434\u0430", "Cyrillic"),
        ("\u4e2d\u6587", "Han"),
        ("\u0928\u092e\u0938\u094d\u0924\u0947", "Devanagari"),
        ("\u0915\u094d\u0937" * 40 + "a", "several scripts"),
        ("\u1200\u1201", "other scripts"),
        ("12,3", "digits"),
        ("\u0967", "digits"),
        (" \n\t", "white space"),
        ("\u3000", "white space"),
        (" ();", "signs"),
        ("\U0001f600", "signs"),
        (b"\xe4\xb8", "parts of characters"),
    ],
)
def test_find_token_kind__names_the_script(content: str | bytes, expected: str) -> None:
    """Truth: the scripts of Unicode, by hand."""
    assert find_token_kind(content.encode() if isinstance(content, str) else content) == expected


def test_figures__are_those_of_encoding(tokenizer: Tokenizer) -> None:
    """Truth: Tokenizer.encode, counted here."""
    texts = [make_text("one", TEXT * 3), make_text("two", "the end")]
    figures = collect_figures(as_subject(tokenizer, "it"), texts, 4096)
    for one, text in zip(figures.texts, texts, strict=True):
        ids = tokenizer.encode(text.text).tolist()
        n_bytes = len(text.text.encode())
        assert one.n_tokens == len(ids)
        assert one.ratios == (
            n_bytes / len(ids),
            len(text.text) / len(ids),
            len(text.text.split()) / len(ids),
        )
        parts = [i for i in ids if find_token_kind(tokenizer.token_bytes(i)).startswith("parts")]
        assert one.n_fallback == len(parts)
    used = Counter(i for text in texts for i in tokenizer.encode(text.text).tolist())
    assert figures.sorted_counts.tolist() == sorted(used.values(), reverse=True)
    lengths = Counter(min(24, len(tokenizer.token_bytes(i))) for i in figures.audit.ordinary_ids)
    assert {i: n for i, n in enumerate(figures.lengths.tolist()) if n} == dict(lengths)
    assert figures.digit_rows[1] >= 10
    longest = max(len(tokenizer.token_bytes(i)) for i in figures.audit.ordinary_ids)
    assert len(tokenizer.token_bytes(figures.list_longest()[0])) == longest
    assert not set(figures.list_wasteful()) & used.keys()


def test_figures__of_cores_are_those_of_rows(tables: CombinatorialTokenizer) -> None:
    """Truth: CombinatorialTokenizer.encode, counted here; what a row stands for by its decoding."""
    text = TEXT + "<|endoftext|>"
    subject = as_subject(tables, "it")
    figures = collect_figures(subject, [make_text("one", text)], 4096)
    rows = tables.encode(text).tolist()
    used = Counter(core for _, _, core, _ in rows)
    (one,) = figures.texts
    assert one.n_tokens == len(rows)
    assert one.n_fallback == sum(n for core, n in used.items() if core < 256) > 0
    assert figures.sorted_counts.tolist() == sorted(used.values(), reverse=True)
    assert figures.audit.n_rows == sum(tables.sizes.values())
    tokens = subject.list_tokens(text)
    assert [token.label for token in tokens] == [f"({', '.join(map(str, row))})" for row in rows]
    assert [token.content for token in tokens] == [tables.token_bytes(row) for row in rows]


@pytest.mark.parametrize("line_length", [40, 10_000_000])
def test_samples__are_small_and_whole(line_length: int, tmp_path: Path) -> None:
    """Truth: property: a sample has whole lines, or characters, of the file, up to the limit."""
    texts = {"a": "\u4e2d\u6587caf\u00e9 " * 120_000, "b": "short line\n" * 1000}
    files = {}
    for name, text in texts.items():
        characters = [text[i : i + line_length] for i in range(0, len(text), line_length)]
        files[name] = tmp_path / name
        files[name].write_text("\n".join(characters) + "\n", encoding="utf-8", newline="")
    whole = read_texts(files, 10_000_000)
    assert [text.is_sample for text in whole] == [False, False]
    limit = 900_000
    samples = read_texts(files, limit)
    assert [sample.is_sample for sample in samples] == [True, True]
    assert sum(sample.n_text_bytes for sample in samples) <= limit
    assert sum(sample.n_text_bytes for sample in samples) > 0.9 * limit
    assert read_texts(files, limit) == samples
    for sample, text in zip(samples, whole, strict=True):
        assert sample.n_bytes == text.n_text_bytes
        if line_length < 100:
            lines = sample.text.splitlines(keepends=True)
            assert set(lines) <= set(text.text.splitlines(keepends=True))
        assert "\ufffd" not in sample.text


@pytest.fixture
def report_page(tokenizer: Tokenizer, tables: CombinatorialTokenizer) -> str:
    """A report on both kinds in which names, texts and tokens all hold markup."""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: numbpe[report]")
    from numbpe.see.report import build_report

    special = {ATTACK: 2000, "$x^2$": 2001}
    other = Tokenizer(tokenizer.vocab, tokenizer.merges, special, "o200k")
    texts = [make_text(ATTACK, TEXT + ATTACK), make_text("price $5 to $6", "the end " * 20)]
    tokenizers = {"first": tokenizer, ATTACK: other, f"tables{ATTACK}": tables}
    return build_report(tokenizers, texts).html


def test_report__is_one_page_of_its_own(
    report_page: str, tokenizer: Tokenizer, tables: CombinatorialTokenizer
) -> None:
    """Truth: HTML: names are unique, links lead to what is there, nothing is fetched."""
    ids = re.findall(r'\bid="([^"]*)"', report_page)
    assert len(ids) == len(set(ids)) > 20
    targets = re.findall(r'(?:href="#|url\(#)([^")]+)', report_page)
    assert set(targets) <= set(ids)
    assert not re.findall(r'(?:src|href)="(?!#)', report_page)
    assert "#0101" not in report_page
    assert "var(--series-1)" in report_page
    text = TEXT + ATTACK
    ratio = len(text.encode()) / tokenizer.count(text)
    assert f">{ratio:.3f}</td>" in report_page
    assert escape(ATTACK) in report_page
    assert f">{len(text.encode()) / tables.count(text):.3f}</td>" in report_page
    first = tables.encode(text)[0].tolist()
    assert f'title="row ({", ".join(map(str, first))}): ' in report_page


@pytest.mark.parametrize("keeps_policy", [True, False])
def test_report__runs_nothing_that_it_shows(
    keeps_policy: bool,
    report_page: str,
    tokenizer: Tokenizer,
    tables: CombinatorialTokenizer,
    open_page: "OpenPage",
) -> None:
    """Truth: nothing sets the variable, with the policy and without; the stepper's ids are Python's."""
    from selenium.webdriver.common.by import By

    page = report_page
    if not keeps_policy:
        page, n_found = re.subn('<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
        assert n_found == 1
    chrome = open_page(page)
    field = "return document.getElementById('panel-1-ids')?.value ?? null"
    from selenium.webdriver.support.wait import WebDriverWait

    shown = WebDriverWait(chrome, 60).until(lambda found: found.execute_script(field))
    text = chrome.find_element(By.ID, "text").get_attribute("value")
    assert json.loads(shown) == tokenizer.encode(text).tolist()
    rows = chrome.find_element(By.ID, "panel-2-ids").get_attribute("value")
    assert json.loads(rows) == tables.encode(text).tolist()
    assert chrome.execute_script("return typeof window.wasRun") == "undefined"
    for width in (360, 1280):
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
        chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        wide = chrome.execute_script("return document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, width
    chrome.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_report__prints_well(report_page: str, open_page: "OpenPage") -> None:
    """Truth: what paper is: no controls, nothing that scrolls and so is cut off, black on white."""
    chrome = open_page(report_page)
    prefers_dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    media = {"media": "print", "features": prefers_dark}
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    try:
        shown, cut_off, colors = chrome.execute_script(DESCRIBE_PRINT)
    finally:
        chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    assert shown == []
    assert cut_off == []
    assert colors == ["rgb(255, 255, 255)", "rgb(0, 0, 0)"]
    pages = base64.b64decode(chrome.print_page()).count(b"/Type /Page\n")
    assert 3 <= pages <= 12


def test_command__takes_both_kinds(
    tokenizer_path: Path, tables: CombinatorialTokenizer, run: Run, tmp_path: Path
) -> None:
    """Truth: the encodings of both tokenizers, whose files are told apart by what they hold."""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: numbpe[report]")
    path, text, output = (tmp_path / name for name in ("tables.json", "text.txt", "report.html"))
    tables.save(path)
    text.write_text("the end, it is", encoding="utf-8")
    assert run("report", tokenizer_path, path, "--text", f"it={text}", "--output", output) == 0
    page = output.read_text(encoding="utf-8")
    assert "A token of tables.json is a row of four indices" in page
    assert f">{14 / tables.count('the end, it is'):.3f}</td>" in page


def test_command__samples_and_says_so(
    tokenizer_path: Path, run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Truth: the texts are larger than --sample: the page and the summary say it."""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: numbpe[report]")
    text = tmp_path / "text.txt"
    text.write_text("the end of it all\n" * 2000, encoding="utf-8")
    output = tmp_path / "report.html"
    command = ["report", tokenizer_path, "--text", f"it={text}", "--output", output]
    assert run(*command, "--sample", "10kB", "--json", "--limit", "1000") == 0
    captured = capsys.readouterr()
    figures = json.loads(captured.out)
    assert figures["is_sampled"] is True
    assert "--limit" in figures["remarks"][0]
    assert "sampled" in captured.err
    page = output.read_text(encoding="utf-8")
    assert 'id="sampled"' in page
    assert "there is no stepper" in page


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        (["--text", "GOOD"], 2, "give a name and a file"),
        (["--text", "a=GOOD", "--text", "a=GOOD"], 2, "two texts are called 'a'"),
        (["--text", "a=MISSING"], 1, "there is no such file"),
        (["--text", "a=EMPTY"], 1, "it is empty"),
        (["--text", "a=LATIN"], 1, "is not UTF-8"),
        (["--text", "a=GOOD", "--width", "0"], 2, "--width must be 1 or more"),
        (["NOTES", "--text", "a=GOOD"], 1, "notes.json"),
        (["TABLES", "--text", "a=GOOD"], 1, "tables.json"),
    ],
)
def test_bad_input__is_one_line(
    arguments: list[str],
    code: int,
    part: str,
    tokenizer_path: Path,
    run: Run,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Truth: the habit that an error says what was found and what is allowed; no page is left."""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: numbpe[report]")
    contents = {"GOOD": b"text", "EMPTY": b"", "LATIN": b"caf\xe9", "NOTES": b'{"a": 1}'}
    contents["TABLES"] = (
        b'{"type": "combinatorial", "prefixes": [" "], "suffixes": [""], "alphabet": [], "merges": []}'
    )
    for name, content in contents.items():
        (tmp_path / f"{name.lower()}.json").write_bytes(content)
    filled = [
        re.sub("[A-Z]+", lambda match: str(tmp_path / f"{match[0].lower()}.json"), argument)
        for argument in arguments
    ]
    output = tmp_path / "report.html"
    assert run("report", tokenizer_path, *filled, "--output", output) == code
    (line,) = capsys.readouterr().err.splitlines()
    assert part in line
    assert not output.exists()


def test_missing_matplotlib__is_named(
    tokenizer_path: Path,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Truth: the extra of pyproject.toml."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert run("report", tokenizer_path, "--text", "a=b", "--output", "c") == 2
    assert "numbpe[report]" in capsys.readouterr().err
