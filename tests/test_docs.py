"""README, pages, changelog and help texts: what they say can be done, can be done."""

import argparse
import importlib.util
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import numbpe
from numbpe import cli

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted((ROOT / "docs").glob("*.md"))


def find_marked_command(name: str) -> str:
    match = re.search(rf"<!-- command:{name} -->\n```\n(.*)\n```\n", README)
    assert match, f"README.md has no command:{name} of one line"
    return match[1]


def find_code_blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def find_examples(text: str) -> list[list[str]]:
    """Return the arguments of each ``numbpe ...`` command in a text, in pipes too."""
    lines = re.findall(r"(?:^|\$|\|) *(?=numbpe )(.+)$", text, re.MULTILINE)
    commands = [shlex.split(command) for line in lines for command in re.split(r" \| ", line)]
    return [command[1:] for command in commands if command[0] == "numbpe"]


def list_sub_commands() -> dict[str, argparse.ArgumentParser]:
    for action in cli.make_parser()._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    raise AssertionError("the command line has no sub-commands")


def test_version__is_the_same_everywhere_and_has_a_changelog_entry() -> None:
    """Truth: pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert numbpe.__version__ == project["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## {re.escape(numbpe.__version__)}\b", changelog, re.MULTILINE)


def test_readme__links_and_map_lead_to_files() -> None:
    """Truth: the files of the repository."""
    links = re.findall(r"\]\((?!https?:|#)([^)]+)\)", README)
    folders = re.findall(r"^\| `((?:src|kernels|scripts|tests)/[^`]*)`", README, re.MULTILINE)
    assert links
    assert folders
    missing = [path for path in [*links, *folders] if not (ROOT / path).exists()]
    assert missing == []


@pytest.mark.parametrize("name", ["train", "test"])
def test_readme_commands__name_what_is_in_a_fresh_clone(name: str) -> None:
    """Truth: the files of the repository and the extras of pyproject.toml."""
    command = find_marked_command(name)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for extra in re.findall(r"\.\[(\w+)\]", command):
        assert extra in project["optional-dependencies"]
    for path in re.findall(r"(?<= )(?:scripts|data|tests)/[\w./]+", command):
        assert (ROOT / path).is_file()
    environments = {part.split("/")[0] for part in re.findall(r"\.venv[\w/.-]*", command)}
    assert len(environments) == 1


def test_readme_main_command__trains_on_the_sample_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Truth: the README; a vocabulary of the size that the command asks for."""
    monkeypatch.chdir(ROOT)
    arguments = shlex.split(find_marked_command("train").split("scripts/train.py", 1)[1])
    assert cli.main(["train", *arguments, "--output", str(tmp_path), "--json", "--quiet"]) == 0
    assert '"vocab_size": 4000' in capsys.readouterr().out
    written = sorted(path.name for path in tmp_path.iterdir())
    assert written == ["austen.json", "austen_merges.pkl", "austen_vocab.pkl"]


def test_readme_command_lines__are_understood() -> None:
    """Truth: the parser of the command line."""
    examples = [
        example for block in find_code_blocks("console") for example in find_examples(block)
    ]
    assert len(examples) >= 3
    for example in examples:
        cli.make_parser().parse_args(example)


def test_readme_snippets__run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Truth: the snippets' own assertions."""
    (tmp_path / "data").symlink_to(ROOT / "data", target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    snippets = find_code_blocks("python")
    assert snippets
    for snippet in snippets:
        code = compile(snippet, "README.md", "exec")
        exec(code, {"__name__": "readme"})  # noqa: S102 - the README is our own


@pytest.mark.parametrize("name", list_sub_commands())
def test_sub_commands__have_help_with_examples_that_are_understood(name: str) -> None:
    """Truth: the habit that every --help shows how; the parser itself reads the examples."""
    parser = list_sub_commands()[name]
    assert f"numbpe {name}" in README
    assert parser.description
    examples = find_examples(parser.epilog or "")
    assert any(example[0] == name for example in examples)
    for example in examples:
        cli.make_parser().parse_args(example)
    bare = [action.dest for action in parser._actions if not action.help]
    assert bare == []


def test_readme__names_no_sub_command_that_does_not_exist() -> None:
    """Truth: the parser of the command line."""
    named = {
        example[0] for block in find_code_blocks("console") for example in find_examples(block)
    }
    assert named <= set(list_sub_commands())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages__snippets_run_from_top_to_bottom(page: Path, tmp_path: Path) -> None:
    """Truth: the snippets' own assertions, and what stands below a command.

    What a page marks by ``<!-- needs: package -->`` is left out where that is not installed.
    """
    (tmp_path / "data").symlink_to(ROOT / "data", target_is_directory=True)
    (tmp_path / "artifacts").mkdir()
    runner = ROOT / "tests" / "run_page.py"
    done = subprocess.run(
        [sys.executable, "-W", "error", str(runner), str(page)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    text = page.read_text("utf-8")
    n_blocks = len(re.findall(r"^```(?:python|console)$", text, re.MULTILINE))
    n_marked = text.count("<!-- needs: ")
    n_run, n_left_out = map(int, re.findall(r"\d+", done.stdout.splitlines()[-1]))
    assert n_run + n_left_out == n_blocks
    assert n_left_out <= n_marked


def test_pages__hold_no_commands_that_are_not_run() -> None:
    """Truth: the blocks that the test above runs; pictures and links lead to files and headings."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        languages = set(re.findall(r"^```(\S+)\n.*?^```", text, re.MULTILINE | re.DOTALL))
        assert languages <= {"python", "console", "sh", "{toctree}", "{eval-rst}"}, page.name
        assert not any(find_examples(block) for block in find_code_blocks("sh", text)), page.name
        links = re.findall(r"\]\((?!https?:|#)([^)#]+)", text)
        assert [link for link in links if not (page.parent / link).is_file()] == []
        listed = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
        assert page.stem == "index" or f"\n{page.stem}\n" in listed
    assert "](docs/index.md)" in README


def test_pictures__are_what_the_script_draws() -> None:
    """Truth: docs/draw_pictures.py, which takes the merges from numbpe.reference."""
    drawn = runpy.run_path(str(ROOT / "docs" / "draw_pictures.py"))["draw_all"]()
    assert len(drawn) >= 3
    stale = [path.name for path, text in drawn.items() if path.read_text(encoding="utf-8") != text]
    assert stale == [], "run docs/draw_pictures.py"


def test_pages__are_built_without_a_warning(tmp_path: Path) -> None:
    """Truth: Sphinx, which is asked to take warnings as errors."""
    for name in ("sphinx", "myst_parser", "furo"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed; pip install -e '.[docs]'")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", str(ROOT / "docs")]
    done = subprocess.run(
        [*command, str(tmp_path)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    performance = (tmp_path / "performance.html").read_text(encoding="utf-8")
    for figure in re.findall(r"^\| numbpe \| ([\d.]+) ", README, re.MULTILINE):
        assert figure in performance
