"""Habits of this code base that a program can check: sizes, docstrings, annotations."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

ROOT = Path(__file__).resolve().parent.parent
LIBRARY_FILES = sorted((ROOT / "src").rglob("*.py"))
KERNEL_FILES = sorted((ROOT / "kernels").rglob("*.py"))
SCRIPT_FILES = sorted((ROOT / "scripts").glob("*.py"))
TEST_FILES = sorted((ROOT / "tests").rglob("test_*.py"))
ALL_FILES = [*LIBRARY_FILES, *KERNEL_FILES, *SCRIPT_FILES, *TEST_FILES]

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60

# A shape and a type, as in "(n + 1,) int64".
SHAPE = re.compile(r"\([^()]*,[^()]*\)\s+u?int\d+")
# A docstring that leaves its arguments to that of another function.
REFERENCE = re.compile(r"\b(as (for|in|of|before)|see)\b", re.IGNORECASE)
EFFECT = re.compile(r"\b(reads?|writes?|written|touched|touches|in place)\b", re.IGNORECASE)

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


def describe(path: Path) -> str:
    return str(path.relative_to(ROOT))


def iterate_functions(path: Path) -> Iterator[tuple[str, Function]]:
    """Yield the functions of a file and of its classes, with dotted names."""

    def walk(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield prefix + child.name, child
                yield from walk(child, f"{prefix}{child.name}.<locals>.")
            elif isinstance(child, ast.ClassDef):
                yield from walk(child, f"{prefix}{child.name}.")
            else:
                yield from walk(child, prefix)

    yield from walk(ast.parse(path.read_text(encoding="utf-8")), "")


def count_code_lines(function: Function) -> int:
    """Return the lines from ``def`` to the end, without the docstring."""
    n_lines = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function) is not None:
        n_lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return n_lines


def list_arguments(function: Function) -> list[ast.arg]:
    arguments = function.args
    listed = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    listed += [argument for argument in (arguments.vararg, arguments.kwarg) if argument]
    return [argument for argument in listed if argument.arg not in ("self", "cls")]


def is_public(name: str) -> bool:
    return not any(part.startswith(("_", "<")) for part in name.split("."))


def is_stub(function: Function) -> bool:
    """Return whether a function only declares a signature, as in a Protocol."""
    return ast.unparse(function.body[-1]) == "..."


def is_kernel(function: Function) -> bool:
    names = {ast.unparse(decorator) for decorator in function.decorator_list}
    return not names.isdisjoint({"njit", "njit_inline"})


@pytest.mark.parametrize("path", ALL_FILES, ids=describe)
def test_files__are_short(path: Path) -> None:
    """Truth: the limit of 400 lines a file."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_FILE_LINES


@pytest.mark.parametrize("path", ALL_FILES, ids=describe)
def test_functions__are_short(path: Path) -> None:
    """Truth: the limit of 60 lines a function, its docstring apart."""
    too_long = {
        name: n_lines
        for name, function in iterate_functions(path)
        if (n_lines := count_code_lines(function)) > MAX_FUNCTION_LINES
    }
    assert too_long == {}


@pytest.mark.parametrize("path", [*LIBRARY_FILES, *KERNEL_FILES, *SCRIPT_FILES], ids=describe)
def test_public_functions__are_annotated_and_documented(path: Path) -> None:
    """Truth: the habit that a public name says what it takes and what it gives."""
    faults = []
    for name, function in iterate_functions(path):
        if not is_public(name) or is_stub(function):
            continue
        if ast.get_docstring(function) is None:
            faults.append(f"{name}: no docstring")
        bare = [argument.arg for argument in list_arguments(function) if not argument.annotation]
        if bare or function.returns is None:
            faults.append(f"{name}: not annotated: {', '.join([*bare, 'or the result'])}")
    assert faults == []


@pytest.mark.parametrize("path", [*LIBRARY_FILES, *KERNEL_FILES], ids=describe)
def test_modules__say_what_they_are_for(path: Path) -> None:
    """Truth: the habit that every module and every public class has a docstring."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), "the module has no docstring"
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    bare = [node.name for node in classes if is_public(node.name) and not ast.get_docstring(node)]
    assert bare == []


@pytest.mark.parametrize("path", KERNEL_FILES, ids=describe)
def test_kernels__state_shapes_and_effects(path: Path) -> None:
    """Truth: the contract of kernels; they check nothing, so their docstrings must say all."""
    faults = []
    for name, function in iterate_functions(path):
        if not is_kernel(function):
            continue
        text = ast.get_docstring(function)
        if text is None:
            faults.append(f"{name}: no docstring")
            continue
        arguments = list_arguments(function)
        arrays = [
            a.arg for a in arguments if a.annotation and "NDArray" in ast.unparse(a.annotation)
        ]
        if not is_public(name) or not arrays:
            continue
        if not REFERENCE.search(text):
            unnamed = [a for a in arrays if not re.search(rf"\b{a}\b", text)]
            faults += [f"{name}: says nothing of {a}" for a in unnamed]
            if not SHAPE.search(text):
                faults.append(f"{name}: states no shape such as '(n,) int64'")
        if not EFFECT.search(text):
            faults.append(f"{name}: does not say what it reads or writes")
    assert faults == []


@pytest.mark.parametrize("path", KERNEL_FILES, ids=describe)
def test_kernels__neither_raise_nor_assert(path: Path) -> None:
    """Truth: the contract of kernels; they return a status, and the caller words the error."""
    faults = [
        f"{name}:{node.lineno}"
        for name, function in iterate_functions(path)
        if is_kernel(function)
        for node in ast.walk(function)
        if isinstance(node, (ast.Raise, ast.Assert, ast.Try))
    ]
    assert faults == []


@pytest.mark.parametrize("path", TEST_FILES, ids=describe)
def test_tests__name_their_source_of_truth(path: Path) -> None:
    """Truth: the habit that a test says where its expected value comes from."""
    faults = [
        name
        for name, function in iterate_functions(path)
        if name.split(".")[-1].startswith("test_")
        and not (ast.get_docstring(function) or "").startswith("Truth:")
    ]
    assert faults == []
