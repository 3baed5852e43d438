"""What the site has beside the pages of docs/: the reference, and files of the repository that pages link to."""

from __future__ import annotations

import ast
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

from reference import reference  # noqa: E402  it stands beside this file

ENTRY = re.compile(r"^::: cajole\.(\w+)$", re.MULTILINE)
LINK = re.compile(r"(\]\()([^)#\s]+)(#[^)]*)?\)")
BESIDE = ("CHANGELOG.md", "SECURITY.md", "benchmarks/RESULTS.md")


def on_files(files: Files, config: Any) -> Files:
    """Files of the repository become pages of the site."""
    for name in BESIDE:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    files.append(File.generated(config, "examples/index.md", content=examples()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Entries of the reference are written out, and links that leave docs/ lead to pages of the site."""
    written = ENTRY.sub(lambda found: reference(found[1]), markdown)
    return LINK.sub(lambda found: found[1] + _within(found[2], page.file.src_uri) + (found[3] or "") + ")", written)


def _within(target: str, source: str) -> str:
    """A link to ../examples or ../benchmarks/RESULTS.md as the site has it; all others as they are."""
    if ":" in target:
        return target
    folder = posixpath.dirname(source)
    place = posixpath.normpath(posixpath.join(folder, target))
    if not place.startswith("../"):
        return target
    inside = place.removeprefix("../")
    return posixpath.relpath("examples/index.md" if inside == "examples" else inside, folder or ".")


def examples() -> str:
    """Every short program with what it says of itself."""
    parts = ["# Examples", "Short programs; each checks one number of its own, and the tests run them all."]
    for path in sorted((ROOT / "examples").glob("*.py")):
        code = path.read_text(encoding="utf-8")
        told = (ast.get_docstring(ast.parse(code)) or "").split("\n")[0]
        parts.append(
            f"## {path.stem.replace('_', ' ')}\n\n{told}\n\n    python examples/{path.name}\n\n```python\n{code}```"
        )
    return "\n\n".join(parts) + "\n"
