"""``numbpe step``: the file it writes, the page it serves, and what it refuses."""

import re
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from numbpe.definition import AddedToken, Lowercase, TokenizerDefinition
from numbpe.errors import ArgumentError
from numbpe.see.pages import load_script, pack
from numbpe.see.serving import PageServer
from numbpe.see.stepping import build_step_page, describe_standard
from numbpe.tokenizer import Tokenizer

Run = Callable[..., int]


def test_command__writes_one_file(tokenizer_path: Path, run: Run, tmp_path: Path) -> None:
    """Truth: a page of its own: no address in it leads elsewhere."""
    output = tmp_path / "new" / "step.html"
    assert run("step", tokenizer_path, "--output", output, "--text", "<b>&", "--quiet") == 0
    page = output.read_text(encoding="utf-8")
    assert "&lt;b&gt;&amp;</textarea>" in page
    assert page.count('<script type="text/plain" data-model>') == 3
    assert re.findall(r"(?:src|href|action)\s*=", page.partition("<script")[0]) == []
    assert "://" not in re.sub(r"<script type=\"text/plain\".*?</script>", "", page)
    assert "default-src 'none'" in page


def test_server__gives_the_page_to_this_machine_alone() -> None:
    """Truth: 127.0.0.1, one path, and no answer to a name that leads here from elsewhere."""
    with PageServer("<p>\u00e9</p>") as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            assert server.server_address[0] == "127.0.0.1"
            with urllib.request.urlopen(server.url, timeout=10) as answer:
                assert answer.read().decode("utf-8") == "<p>\u00e9</p>"
            other_host = urllib.request.Request(server.url, headers={"Host": "elsewhere.example"})
            for request in (f"{server.url}other", other_host):
                with pytest.raises(urllib.error.HTTPError, match="404"):
                    urllib.request.urlopen(request, timeout=10)
            with pytest.raises(ArgumentError, match="cannot serve on port"):
                PageServer("", server.server_port)
        finally:
            server.shutdown()
            thread.join()


def test_pack__holds_nothing_that_html_could_mistake() -> None:
    """Truth: the alphabet of base64."""
    assert re.fullmatch("[A-Za-z0-9+/=]+", pack({"</script>": "<!--\ud800"}))


def test_script__is_one_module_without_imports() -> None:
    """Truth: a module that is written into a page has no files beside it."""
    script = load_script("engine.js", "stepper.js")
    assert not re.search(r"^(import|export)\b", script, re.MULTILINE)
    assert "class StandardEngine" in script
    assert "class Panel" in script


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"normalizer": (Lowercase(),)}, "Lowercase"),
        ({"added_tokens": (AddedToken("<x>", 256, lstrip=True),)}, "depends on what stands beside"),
    ],
)
def test_describe__refuses_what_the_page_cannot_do(
    changes: dict[str, object], part: str, tokenizer: Tokenizer
) -> None:
    """Truth: the docstring: exact or refused."""
    definition = TokenizerDefinition(tokenizer.vocabulary, **changes)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=part):
        describe_standard(Tokenizer.from_definition(definition), "it")


def test_page__has_a_limit(tokenizer: Tokenizer) -> None:
    """Truth: the docstring of pack_models; the message says what to type."""
    with pytest.raises(ArgumentError, match="more than 1 kB.*--limit"):
        build_step_page([describe_standard(tokenizer, "it")], text="", limit=1000)


@pytest.mark.parametrize(
    ("arguments", "content", "code", "part"),
    [
        (["--rows", "299"], b"text", 2, "--rows must be 300 or more"),
        ([], b"", 1, "it is empty"),
        ([], b" \n", 2, "the paragraph is empty"),
        ([], "caf\u00e9".encode("latin-1"), 1, "is not UTF-8"),
        (["--port", "80000"], b"text", 2, "--port must be from 0 to 65535"),
        (["--output", "x.html", "--port", "1"], b"text", 2, "leave one of them out"),
    ],
)
def test_bad_input__is_one_line(
    arguments: list[str],
    content: bytes,
    code: int,
    part: str,
    run: Run,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Truth: the habit that an error says what was found and what is allowed."""
    paragraph = tmp_path / "paragraph.txt"
    paragraph.write_bytes(content)
    assert run("step", "--paragraph", paragraph, *arguments) == code
    (line,) = capsys.readouterr().err.splitlines()
    assert part in line
