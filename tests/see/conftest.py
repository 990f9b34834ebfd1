"""What the tests of audit, report and stepper share."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest

import numbpe
from numbpe import cli
from numbpe.combinatorial.definition import CombinatorialVocabulary
from numbpe.combinatorial.tokenizer import CombinatorialTokenizer
from numbpe.tokenizer import Tokenizer

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

SAMPLE = Path(__file__).resolve().parents[2] / "data" / "austen.txt"

Run: TypeAlias = Callable[..., int]


@pytest.fixture(scope="session")
def tokenizer_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer.json of 1,000 tokens, trained on the shipped corpus."""
    path = tmp_path_factory.mktemp("see") / "austen.json"
    numbpe.train(SAMPLE, 1000, progress=False).save(path)
    return path


@pytest.fixture(scope="session")
def tokenizer(tokenizer_path: Path) -> Tokenizer:
    """The tokenizer of :func:`tokenizer_path`."""
    return numbpe.load(tokenizer_path)


@pytest.fixture(scope="session")
def tables() -> CombinatorialTokenizer:
    """Small tables of Combinatorial BPE, made by hand."""
    merges = (("t", "h"), ("th", "e"), ("e", "n"), ("en", "d"), ("i", "t"), ("i", "s"))
    vocabulary = CombinatorialVocabulary(
        prefixes=("", " ", "\n", "<"),
        suffixes=("", ",", "."),
        alphabet=tuple("abcdefghijklmnopqrstuvwxyz 1234"),
        merges=merges,
        special_tokens=("<|endoftext|>",),
    )
    return CombinatorialTokenizer(vocabulary)


@pytest.fixture
def run() -> Run:
    """Run a command of ``numbpe`` in this process; return its exit code."""
    return lambda *arguments: cli.main([*map(str, arguments)])


@pytest.fixture(scope="session")
def browser() -> Iterator["Chrome"]:
    """A headless Chromium of Debian's; the test is skipped where there is none."""
    selenium = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if (chromium is None or driver is None) and os.environ.get("NUMBPE_REQUIRE_BROWSER"):
        pytest.fail("no Chromium, although NUMBPE_REQUIRE_BROWSER asks for one")
    if chromium is None or driver is None:
        pytest.skip("no Chromium: install the packages chromium and chromium-driver")
    options = selenium.ChromeOptions()
    options.binary_location = chromium
    # Without the last ones Chromium asks its maker's servers, from a test that needs no network.
    for name in [
        "headless",
        "no-sandbox",
        "disable-gpu",
        "disable-dev-shm-usage",
        "disable-quic",
        "no-first-run",
        "disable-background-networking",
        "disable-component-update",
        "disable-sync",
    ]:
        options.add_argument(f"--{name}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = selenium.Chrome(options=options, service=selenium.ChromeService(driver))
    chrome.set_page_load_timeout(60)
    chrome.set_script_timeout(60)
    yield chrome
    chrome.quit()


@pytest.fixture
def open_page(browser: "Chrome", tmp_path: Path) -> Iterator[Callable[[str], "Chrome"]]:
    """Open a page, given as HTML, as a file; afterwards the console must have no message."""

    def open_html(page: str) -> "Chrome":
        path = tmp_path / "page.html"
        path.write_text(page, encoding="utf-8")
        browser.get(path.as_uri())
        return browser

    browser.get_log("browser")
    yield open_html
    assert browser.get_log("browser") == []
    loaded = browser.execute_script("return performance.getEntriesByType('resource').length")
    assert loaded == 0, "the page fetched something"
