"""How Sphinx builds these pages: ``sphinx-build -W docs build/docs``.

Before it reads them, the tables of the benchmarks are rendered from ``benchmarks/results/*.json``,
and the sections of the README that belong here are cut out of it, so that both are written once.
They go to ``_generated``, from where the pages include them.
"""

import json
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
GENERATED = DOCS / "_generated"
BENCHMARKS = ROOT / "benchmarks"
RESULTS = BENCHMARKS / "results"
README_SECTIONS = (
    "What can be read",
    "Combinatorial BPE",
    "What is guaranteed",
    "Recipes",
    "Where others differ",
    "Words",
    "Map of the code",
    "Developing",
)

project = "numbpe"
author = "the authors of numbpe"
release = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
exclude_patterns = ["_generated"]
html_theme = "furo"
html_title = f"numbpe {release}"
html_copy_source = False
html_show_copyright = False
myst_heading_anchors = 3
# The pages are built without PyTorch, which is large, and alike where it is installed.
autodoc_mock_imports = ["torch"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True}
python_use_unqualified_type_names = True
napoleon_numpy_docstring = False


def read_readme_section(title: str) -> str:
    """Return the text below a heading of the README, to the next heading of that level."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    match = re.search(
        rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", readme, re.MULTILINE | re.DOTALL
    )
    if match is None:
        raise ValueError(f"README.md has no section {title!r}; name those that there are")
    return match[1]


def replace_links(text: str) -> str:
    """Return Markdown whose links to files of the repository are their names."""
    return re.sub(r"(?<!!)\[([^\]]+)\]\((?!https?:)[^)]*\)", r"\1", text)


def load_renderer() -> ModuleType:
    """Return ``benchmarks/render.py``, whose neighbours it imports by their bare names."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import render
    finally:
        sys.path.remove(str(BENCHMARKS))
    return render


def render_tables() -> dict[str, str]:
    """Return the tables of all results, by the names of their files, and the plot."""
    render = load_renderer()
    results = {
        name: json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("training", "encoding", "combinatorial", "scale")
    }
    encoding = render.render_results(results["encoding"])
    return {
        "training.md": render.render_results(results["training"]),
        "encoding.md": encoding.replace(
            "(benchmarks/results/encoding.svg)", "(_generated/encoding.svg)"
        ),
        "combinatorial.md": render.render_page(results["combinatorial"]),
        "scale.md": render.render_scale(results["scale"]),
        "combinatorial_summary.md": render.render_summary(results["combinatorial"]),
        "encoding.svg": render.plot_throughput(render.keep_measured(results["encoding"])),
    }


def write_generated() -> None:
    """Write what the pages include; files that are so already are left alone."""
    contents = render_tables()
    for title in README_SECTIONS:
        contents[f"{title.lower().replace(' ', '_')}.md"] = read_readme_section(title)
    GENERATED.mkdir(exist_ok=True)
    for name, content in contents.items():
        text = replace_links(content) if name.endswith(".md") else content
        path = GENERATED / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


ARGUMENT = re.compile(r"([a-z_][\w, ]*?) ?: (?=\S)")


def list_arguments(lines: list[str]) -> list[str]:
    """Return a docstring whose paragraphs of "name : meaning" have become lists.

    A meaning that takes several lines is indented, and belongs to the name above it.
    """
    result: list[str] = []
    block: list[str] = []
    for line in [*lines, ""]:
        if line.strip():
            block.append(line)
            continue
        heads = [part for part in block if not part.startswith(" ")]
        if heads and all(map(ARGUMENT.match, heads)) and heads[0] == block[0]:
            block = [
                f"  {part.strip()}"
                if part.startswith(" ")
                else ARGUMENT.sub(r"* **\1**: ", part, count=1)
                for part in block
            ]
        result += [*block, ""]
        block = []
    return result


def process_docstring(
    _app: Any, _what: str, _name: str, _object: Any, _options: Any, lines: list[str]
) -> None:
    """Let Sphinx read arguments as they are written in this code base."""
    lines[:] = list_arguments(lines)


def process_signature(
    _app: Any, what: str, _name: str, documented: Any, _options: Any, signature: str, returned: str
) -> tuple[str, str]:
    """Return the arguments of a class, which would be those of what stands for PyTorch's class."""
    if what == "class" and signature == "(*args: Any, **kwargs: Any)":
        from sphinx.util.inspect import signature as read_signature
        from sphinx.util.inspect import stringify_signature

        found = read_signature(documented.__init__, bound_method=True)
        signature = stringify_signature(
            found, show_return_annotation=False, unqualified_typehints=True
        )
    return signature, returned


def setup(app: Any) -> None:
    """Connect to Sphinx, before napoleon reads the docstrings."""
    write_generated()
    app.connect("autodoc-process-docstring", process_docstring, priority=400)
    app.connect("autodoc-process-signature", process_signature)
