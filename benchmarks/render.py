"""Write the tables of results/*.json into README.md and the pages beside this file.

``python benchmarks/render.py [--check]``
"""

import argparse
import json
import sys
from pathlib import Path

from plot import plot_throughput
from records import Record
from render_combinatorial import render_page, render_summary
from render_encoding import render_encoding
from render_scale import render_scale, render_scale_summary
from render_training import render_training

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
RESULTS = ROOT / "benchmarks" / "results"
PLOT = RESULTS / "encoding.svg"
BLOCKS = {"benchmark": RESULTS / "training.json", "benchmark-encoding": RESULTS / "encoding.json"}
"""What stands between which marks of the README."""
COMBINATORIAL = RESULTS / "combinatorial.json"
COMBINATORIAL_PAGE = ROOT / "benchmarks" / "combinatorial.md"
SCALE = RESULTS / "scale.json"
SCALE_PAGE = ROOT / "benchmarks" / "scale.md"
WHOLE_PAGES = {"combinatorial": render_page, "scale": render_scale}
"""What renders the results of benchmarks that have a page of their own."""


def main() -> int:
    """Update the README, print the tables of another file, or only check; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if they differ")
    parser.add_argument("--results", type=Path, metavar="FILE", help="print the tables of a file")
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="write the plot of that file, too"
    )
    arguments = parser.parse_args()
    if arguments.results is not None:
        results = load(arguments.results)
        if render := WHOLE_PAGES.get(results["benchmark"]):
            print(render(results), end="")
            return 0
        print(render_results(results), end="")
        if arguments.plot is not None:
            arguments.plot.write_text(plot_throughput(keep_measured(results)), encoding="utf-8")
        return 0
    if not arguments.check:
        update_pages()
        return 0
    stale = [path.name for path, text in make_files().items() if read_text(path) != text]
    if stale:
        names = " and ".join(stale)
        print(f"{names} differ from the results; run benchmarks/render.py", file=sys.stderr)
    return int(bool(stale))


def update_pages() -> None:
    """Put the tables into README and pages, and write the plot."""
    for path, text in make_files().items():
        path.write_text(text, encoding="utf-8")


def make_files() -> dict[Path, str]:
    """Return README and pages with the tables of the results, and the plot if there are any."""
    readme = README.read_text(encoding="utf-8")
    files = {}
    for name, path in BLOCKS.items():
        results = load(path) if path.exists() else None
        readme = replace_block(readme, name, "" if results is None else render_results(results))
        if name == "benchmark-encoding" and results is not None:
            files[PLOT] = plot_throughput(keep_measured(results))
    if COMBINATORIAL.exists():
        results = load(COMBINATORIAL)
        readme = replace_block(readme, "benchmark-combinatorial", render_summary(results))
        page = COMBINATORIAL_PAGE.read_text(encoding="utf-8")
        files[COMBINATORIAL_PAGE] = replace_block(page, "combinatorial", render_page(results))
    if SCALE.exists():
        results = load(SCALE)
        readme = replace_block(readme, "benchmark-scale", render_scale_summary(results))
        page = SCALE_PAGE.read_text(encoding="utf-8")
        files[SCALE_PAGE] = replace_block(page, "scale", render_scale(results))
    return {README: readme, **files}


def replace_block(text: str, name: str, content: str) -> str:
    """Return a text with other content between the marks of a name."""
    begin, end = f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->\n"
    before, _, rest = text.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise SystemExit(f"error: there is no {begin.strip()} ... {end.strip()}")
    return before + begin + content + end + after


def read_text(path: Path) -> str | None:
    """Return the text of a file; None if there is none."""
    return path.read_text(encoding="utf-8") if path.exists() else None


def load(path: Path) -> Record:
    """Return the results in a file."""
    results: Record = json.loads(path.read_text(encoding="utf-8"))
    return results


def keep_measured(results: Record) -> Record:
    """Return the cells that have rounds."""
    return {name: cell for name, cell in results["cells"].items() if cell["rounds"]}


def render_results(results: Record) -> str:
    """Return all tables, as Markdown."""
    cells = keep_measured(results)
    if not cells:
        return ""
    render = render_encoding if results["benchmark"] == "encoding" else render_training
    return render(results["machine"], cells)


if __name__ == "__main__":
    sys.exit(main())
