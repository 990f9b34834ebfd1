"""PyTorch is optional: numbpe does without, and says what to type where it is needed."""

import subprocess
import sys

import pytest


def run_code(code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize("name", ["FactoredEmbedding", "LanguageModel"])
def test_import__without_torch_says_what_to_install(name: str) -> None:
    """Truth: the name of the extra in pyproject.toml."""
    done = run_code(f"import sys; sys.modules['torch'] = None\nfrom numbpe.torch import {name}")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ModuleNotFoundError: cannot import numbpe.torch: PyTorch is not")
    assert "pip install 'numbpe[torch]'" in last


def test_import__of_numbpe_leaves_torch_alone() -> None:
    """Truth: sys.modules after every public name of numbpe was used."""
    code = (
        "import sys, numbpe\n"
        "for name in numbpe.__all__: getattr(numbpe, name)\n"
        "print('torch' in sys.modules, 'numbpe.torch' in sys.modules)"
    )
    done = run_code(code)
    assert done.stdout == "False False\n", done.stderr
