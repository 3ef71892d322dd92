"""The architecture is a test: imports go down only, modules say what they are for and export what exists, tests mirror.

``make lint`` runs the import rules too; they stand here so that a change which breaks them fails with the tests.
"""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import FIRST

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "reknit"
MODULES = sorted(SOURCE.rglob("*.py"))

UNTESTED = {
    "__main__.py": "one line that calls the command, which tests/cli runs",
    "client/errors.py": "names of exceptions; who raises them is tested",
    "core/io.py": "values without behaviour: the door that everything here is tested through",
    "core/links/options.py": "values; what each option does is tested in test_link.py",
    "core/overlay/events.py": "values; the broker acts on each of them in test_swaplink.py and test_overlay.py",
    "core/overlay/options.py": "values; what each option does is tested in test_join.py, test_overlay.py, test_path.py",
    "core/overlay/strategy.py": "the shape of a strategy; each of them is tested",
    "core/overlay/tables.py": "the shape of a conversation; tests/core/routing/test_edits.py has what is behind it",
    "lab/experiment.py": "values; each experiment is one",
    "live/errors.py": "names of exceptions; who raises them is tested",
    "model/block.py": "the inside of the matching index: tests/model/test_index.py holds both to the scan",
    "model/errors.py": "an exception's name",
    "model/selector/syntax.py": "values: the tree that the parser makes and everything else reads",
    "trace/records.py": "values; test_columns.py writes and reads each kind",
    "wire/messages.py": "values; test_codec.py has each of them",
}
"""Modules without a test file at the mirrored place, and why. Keep it short."""


def _name(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _is_empty(path: Path) -> bool:
    return not path.read_text().strip()


def test_imports_go_down_only() -> None:
    """In a process of its own: the linter silences every logger of the one that it runs in."""
    lint = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(cache_dir=None))"
    done = subprocess.run([sys.executable, "-c", lint], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_a_module_says_what_it_is_for(path: Path) -> None:
    if path.name == "__init__.py" and _is_empty(path):
        return
    assert ast.get_docstring(ast.parse(path.read_text())), f"{path} has no docstring"


@pytest.mark.parametrize(
    "path", [path for path in MODULES if path.name not in ("__init__.py", "__main__.py")], ids=_name
)
def test_what_a_module_exports_exists(path: Path) -> None:
    module = importlib.import_module(_name(path))
    exported = getattr(module, "__all__", None)
    assert exported is not None, f"{path} has no __all__"
    assert len(set(exported)) == len(exported)
    missing = [name for name in exported if not hasattr(module, name)]
    assert not missing


def _is_public(path: Path) -> bool:
    """A private module is tested through the one that owns it."""
    return not any(part.startswith("_") and part != "__main__.py" for part in path.relative_to(SOURCE).parts)


@pytest.mark.parametrize("path", [path for path in MODULES if _is_public(path)], ids=_name)
def test_the_tests_mirror_the_tree(path: Path) -> None:
    place = path.relative_to(SOURCE)
    test = ROOT / "tests" / place.parent / f"test_{path.stem}.py"
    if place.as_posix() in UNTESTED:
        assert not test.exists(), f"{place} is tested: take it off the list"
    else:
        assert test.exists(), f"{place} has no {test.relative_to(ROOT)}"


def test_the_list_of_untested_modules_is_short_and_true() -> None:
    assert len(UNTESTED) <= 15
    assert [place for place in UNTESTED if not (SOURCE / place).exists()] == []


OUTSIDE = {"time", "datetime", "secrets", "uuid", "asyncio", "socket", "threading"}
"""Clocks, chance, and whatever waits: the shells have them, and nobody below."""

CORE = [
    path
    for path in MODULES
    if path.relative_to(SOURCE).parts[0] in ("model", "wire", "core", "community", "mqtt", "sim")
]


@pytest.mark.parametrize("path", CORE, ids=_name)
def test_the_core_has_no_clock_and_no_chance_of_its_own(path: Path) -> None:
    """``now`` and a seeded generator are arguments."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            assert not {alias.name.partition(".")[0] for alias in node.names} & OUTSIDE
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            assert node.module.partition(".")[0] not in OUTSIDE
            assert node.module != "random" or {alias.name for alias in node.names} == {"Random"}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "random":
            assert node.attr == "Random", f"{path}:{node.lineno} uses the global generator"


FUNCTION_LINES_MAX = 70
MODULE_LINES_MAX = 450


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_functions_and_modules_stay_small(path: Path) -> None:
    text = path.read_text()
    assert text.count("\n") <= MODULE_LINES_MAX
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= FUNCTION_LINES_MAX, f"{node.name} has {length} lines"


def test_there_is_no_utils() -> None:
    assert [path for path in MODULES if re.search(r"util|helper|misc|common", path.stem)] == []


def test_what_is_to_begin_first_is_there() -> None:
    assert [name for name in FIRST if not (ROOT / name).exists()] == []
    assert len(set(FIRST)) == len(FIRST)
