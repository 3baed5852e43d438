"""The Python blocks of README and docs run; links between pages lead somewhere; commands shown exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted(DOCS.rglob("*.md"))]
BLOCK = re.compile(r"(<!-- slow -->\n)?```python\n(.*?)```", re.DOTALL)
LINK = re.compile(r"(?:\]\(|(?:src|srcset|href)=\")([^)#\"]+?)(?:#[^)\"]*)?[)\"]")
PROGRAM = re.compile(r"python ((?:examples|docs|benchmarks)/[\w./-]+\.py)")
COMMAND = re.compile(r"^ {4}cajole (.+?)(?:\s+#.*)?$|<code>cajole ([^<]+)</code>", re.MULTILINE)


def named(page):
    """A page as it is called in reports."""
    return str(page.relative_to(ROOT))


def blocks(page):
    """The code of a page in order; blocks marked as slow are left out."""
    return [code for slow, code in BLOCK.findall(page.read_text(encoding="utf-8")) if not slow]


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=named)
def test_code_of_page_claim(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # the blocks of a page build on each other, as a reader would type them
    names = {"__name__": page.stem}
    for code in blocks(page):
        exec(compile(code, str(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere_identity(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert target.startswith("http") or (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_commands_and_options_exist_identity(page):
    import typer

    from cajole.cli.app import app

    commands = typer.main.get_command(app).commands
    for plain, inline in COMMAND.findall(re.sub("</?span>", "", page.read_text(encoding="utf-8"))):
        line = plain or inline
        name, *words = line.split()
        if name.startswith("-"):
            continue
        assert name in commands, line
        known = {option for parameter in commands[name].params for option in parameter.opts}
        assert {word for word in words if re.fullmatch(r"--[a-z][a-z-]*|-[a-z]", word)} <= known | {"--help"}, line


def test_every_page_is_in_the_index_identity():
    """docs/index.md lists every page; a page in a folder may be listed in the index of that folder instead."""
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    for page in DOCS.rglob("*.md"):
        name = page.relative_to(DOCS).as_posix()
        own = page.with_name("index.md")
        listed = f"({name})" in index or (own.is_file() and f"({page.name})" in own.read_text(encoding="utf-8"))
        assert name == "index.md" or listed, name


def test_programs_named_exist_identity():
    """`python examples/...` and `python docs/...` on any page are files of the repository."""
    for page in PAGES:
        for program in PROGRAM.findall(re.sub("</?span>", "", page.read_text(encoding="utf-8"))):
            assert (ROOT / program).is_file(), (page.name, program)
