"""docs/architecture.md is true: its rooms are the folders, its layers those that the linter holds, its files exist."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "cajole"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
MADE = {"__pycache__", "node_modules", "static"}
NAMED = re.compile(r"`([^`]+)`")


def rooms_in(table: str) -> list[list[str]]:
    """The names in the first column of a table, a list for each row."""
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    return [NAMED.findall(row) for row in rows]


def layers_on_page() -> list[list[str]]:
    return rooms_in(PAGE.split("<!-- layers -->")[1].split("<!-- /layers -->")[0])


def inner_on_page() -> list[str]:
    return [name for row in rooms_in(PAGE.split("Subpackages:")[1].split("## ")[0]) for name in row]


def folders() -> set[str]:
    """Folders of the source that hold files, relative to it; what tools put there is none of it, a page is one."""
    files = (path for path in SOURCE.rglob("*") if path.is_file() and not MADE & set(path.parts))
    found = {path.parent.relative_to(SOURCE).as_posix() for path in files} - {"."}
    return {"studio/web" if name.startswith("studio/web/") else name for name in found}


def test_every_folder_is_on_the_page_and_every_room_is_there_identity():
    top = {name for row in layers_on_page() for name in row}
    assert {name for name in top if (SOURCE / name).is_dir()} | set(inner_on_page()) == folders()
    assert {name for name in top if not (SOURCE / name).is_dir()} == {
        path.stem for path in SOURCE.glob("*.py") if not path.stem.startswith("__")
    }


def test_the_layers_are_those_of_the_linter_agreement():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = settings["tool"]["importlinter"]["contracts"]
    held = [[name.strip().removeprefix("cajole.") for name in layer.split("|")] for layer in contract["layers"]]
    assert layers_on_page() == held


def test_every_place_to_change_something_exists_identity():
    places = [
        name
        for line in PAGE.split("## Where to change something")[1].splitlines()
        if line.startswith("|")
        for name in NAMED.findall(line.split("|")[2])
        if "/" in name or name.endswith(".py")
    ]
    assert len(places) > 15
    for place in places:
        assert (SOURCE / place).exists(), place


def test_tables_that_take_a_line_exist_identity():
    """`READERS`, `FORMATS` and `_NAMES_BY_MODULE` stand where the page says."""
    for table, place in (
        ("READERS", "mesh/files.py"),
        ("FORMATS", "animation/files.py"),
        ("_NAMES_BY_MODULE", "__init__.py"),
    ):
        assert f"`{table}`" in PAGE
        assert re.search(rf"^{table}\b.*=", (SOURCE / place).read_text(encoding="utf-8"), re.MULTILINE), table


def test_every_file_and_name_of_the_papers_page_exists_identity():
    page = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    files = {path.name for path in SOURCE.rglob("*.py")} | {path.name for path in (ROOT / "benchmarks").glob("*.py")}
    code = "\n".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    for text in NAMED.findall(page):
        for file in re.findall(r"[\w/]+\.py\b", text):
            assert file.split("/")[-1] in files, text
            assert "/" not in file or (SOURCE / file).exists() or (ROOT / file).exists(), text
        for name in re.findall(r"::([\w.]+)", text):
            assert all(re.search(rf"\b{part}\b", code) for part in name.split(".")), text


# --- optional packages

# in pyproject.toml under an extra, by the name they are imported by; what needs one says so with MissingExtra
OPTIONAL = {
    "mkl", "ipctk", "pytetwild", "pyvista", "pxr", "distributed", "dask", "cloudpickle", "mitsuba", "mitsuba_oidn",
    "drjit", "matplotlib", "PIL", "imageio", "imageio_ffmpeg", "starlette", "uvicorn", "websockets", "skimage",
    "pymetis",
}  # fmt: skip
# always installed, but slow to load and seldom needed
SELDOM = {"meshio"}
# part of every type checker, never imported when the program runs
TYPES_ONLY = {"typing_extensions"}
SOURCES = sorted(SOURCE.rglob("*.py"))


def imported_at_once(tree: ast.Module) -> set[str]:
    """Packages that a module imports while it is loaded, not inside a function nor only for type checks."""
    found: set[str] = set()
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").split(".")[0])
        elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            waiting += node.orelse
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_optional_packages_are_imported_where_they_are_used_identity(path):
    names = imported_at_once(ast.parse(path.read_text(encoding="utf-8")))
    assert not names & (OPTIONAL | SELDOM | TYPES_ONLY), (
        f"import {names & (OPTIONAL | SELDOM)} inside the function that needs it"
    )
    if "studio" not in path.relative_to(SOURCE).parts:
        assert "msgspec" not in names, "only the studio defines messages; its command calls require_packages first"
    if "cli" not in path.relative_to(SOURCE).parts:
        assert not names & {"typer", "rich"}, "only the command line speaks to a terminal"


def test_only_known_packages_are_imported_identity():
    """What is imported at all is of Python, required, or known as optional: an extra that is new is noticed here."""
    # llvmlite comes with numba
    required = {"numpy", "scipy", "numba", "llvmlite", "threadpoolctl", "typer", "rich", "msgspec", "cajole"}
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            tops = {name.split(".")[0] for name in names}
            assert tops <= required | OPTIONAL | SELDOM | TYPES_ONLY | set(sys.stdlib_module_names), (path, tops)
