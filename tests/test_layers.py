"""The layers of the house: scripts -> cli -> numbpe -> numbpe_kernels, and who may use what."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LIBRARY_FILES = sorted((ROOT / "src" / "numbpe").rglob("*.py"))
KERNEL_FILES = sorted((ROOT / "kernels" / "numbpe_kernels").rglob("*.py"))
SCRIPT_FILES = sorted((ROOT / "scripts").glob("*.py"))

# What these rooms of the kernels import besides NumPy and each other: only what compiles names numba.
KERNEL_IMPORTS = {
    name: set(packages.split())
    for name, packages in {
        "_code_store.py": "contextlib functools hashlib importlib itertools llvmlite os pathlib pickle "
        "platform shutil sys tempfile warnings",
        "_compiler.py": "functools numba",
        "_entry_points.py": "ctypes hashlib llvmlite numba sys",
        "_jit.py": "functools os threading",
        "_llvm_linking.py": "functools llvmlite",
        "_machine_code.py": "ctypes",
        "_object_files.py": "ctypes mmap struct sys",
        "memory_intrinsics.py": "llvmlite numba",
        "packed_rows_intrinsics.py": "llvmlite numba",
        "utf8_writing_intrinsics.py": "llvmlite numba",
        "views.py": "ctypes",
        "views_intrinsics.py": "numba",
    }.items()
}

# What the console command is made of: nothing else may import these.
COMMAND_LINE = {
    "numbpe.cli",
    "numbpe.audit_command",
    "numbpe.report_command",
    "numbpe.step_command",
    "numbpe.train_command",
    "numbpe.train_checks",
    "numbpe.train_options",
    "numbpe.train_plan",
    "numbpe.combinatorial_command",
    "numbpe.combinatorial_rows_command",
    "numbpe.command_options",
    "numbpe.convert_command",
    "numbpe.decode_command",
    "numbpe.encode_command",
    "numbpe.inspect_command",
    "numbpe.outputs",
    "numbpe.summary",
    "numbpe.__main__",
}


def describe(path: Path) -> str:
    return str(path.relative_to(ROOT))


def name_module(path: Path) -> str:
    base = ROOT / "src" if (ROOT / "src") in path.parents else ROOT / "kernels"
    parts = path.relative_to(base).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def walk_code(node: ast.AST, *, into_functions: bool = True) -> Iterator[ast.AST]:
    """Yield the nodes below one, but not what only type checkers see."""
    for child in ast.iter_child_nodes(node):
        if is_type_checking(child):
            continue
        if not into_functions and isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        yield child
        yield from walk_code(child, into_functions=into_functions)


def find_imports(path: Path, *, into_functions: bool = True) -> set[str]:
    """Return the dotted names of all that a file imports; of ``from a import b`` both a and a.b."""
    names = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in walk_code(tree, into_functions=into_functions):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{describe(path)}:{node.lineno}: write imports in full"
            names.add(str(node.module))
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def find_packages(path: Path) -> set[str]:
    return {name.split(".")[0] for name in find_imports(path)}


@pytest.mark.parametrize("path", KERNEL_FILES, ids=describe)
def test_kernels__import_nothing_but_numpy_and_each_other(path: Path) -> None:
    """Truth: the contract in numbpe_kernels/__init__.py."""
    allowed = {"numpy", "numbpe_kernels", "typing", "collections"}
    assert find_packages(path) <= allowed | KERNEL_IMPORTS.get(path.name, set())


@pytest.mark.parametrize("path", LIBRARY_FILES, ids=describe)
def test_library__does_not_name_numba_and_shows_progress_in_one_place(path: Path) -> None:
    """Truth: the layout; only rooms of the kernels name numba, only progress.py names tqdm."""
    banned = {"numba", "llvmlite"}
    if path.name != "progress.py":
        banned.add("tqdm")
    assert not find_packages(path) & banned


@pytest.mark.parametrize("path", LIBRARY_FILES, ids=describe)
def test_library__knows_nothing_of_the_command_line(path: Path) -> None:
    """Truth: the layout; imports point from the command line down, never up."""
    if name_module(path) not in COMMAND_LINE:
        assert not find_imports(path) & COMMAND_LINE
    assert "scripts" not in find_packages(path)


@pytest.mark.parametrize("path", LIBRARY_FILES, ids=describe)
def test_library__prints_nothing(path: Path) -> None:
    """Truth: the layout; cli.py alone prints."""
    if path.name == "cli.py":
        return
    lines = [
        node.lineno
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    ]
    assert lines == [], f"print() in {describe(path)}"


def test_modules__import_each_other_in_no_circle() -> None:
    """Truth: the layout; what a module imports when it is imported lies below it."""
    paths = {name_module(path): path for path in [*LIBRARY_FILES, *KERNEL_FILES]}
    below = {
        name: (find_imports(path, into_functions=False) & paths.keys()) - {name, "numbpe"}
        for name, path in paths.items()
    }
    try:
        TopologicalSorter(below).prepare()
    except CycleError as error:
        pytest.fail(f"modules import each other: {' -> '.join(error.args[1])}")


@pytest.mark.parametrize("path", SCRIPT_FILES, ids=describe)
def test_scripts_over_the_command_line__are_a_few_lines(path: Path) -> None:
    """Truth: the layout; a script that runs a sub-command adds nothing of its own."""
    if "numbpe.cli" in find_imports(path):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 12


@pytest.mark.parametrize(
    "code",
    [
        "import numbpe",
        "import numbpe.cli; numbpe.cli.main(['train', '--help'])",
        "import numbpe.cli; numbpe.cli.main(['encode', '--help'])",
    ],
)
def test_import__is_quick_since_it_leaves_the_heavy_packages_alone(code: str) -> None:
    """Truth: numba alone takes half a second to import, pyarrow and tqdm a tenth each."""
    code += "\nimport sys; print(sorted({'numba', 'pyarrow', 'tqdm', 'regex'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "[]"
