"""The site of `make docs`: it builds without a warning, nothing in it is dead or from elsewhere, every name is told."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

import cajole
from waiting import PATIENCE

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
NAMES = [name for name in cajole.__all__ if name != "__version__"]
# what a page loads by itself, by tag and attribute
LOADED = {("script", "src"), ("img", "src"), ("source", "srcset"), ("link", "href"), ("iframe", "src")}


class Page(HTMLParser):
    """Links, what is loaded, and what can be linked to, of one HTML file."""

    def __init__(self, path: Path):
        super().__init__()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.ids: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            if (tag, name) in LOADED and value:
                self.loaded.add(value)
            elif tag == "a" and name == "href" and value:
                self.links.add(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as `make docs` does it, but elsewhere."""
    pytest.importorskip("material", reason="the site is built by mkdocs-material; install cajole[docs]")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    told = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert told.returncode == 0, told.stdout + told.stderr
    assert "WARNING" not in told.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in sorted(site.resolve().rglob("*.html")) if path.name != "404.html"}


def is_outside(target: str) -> bool:
    return target.startswith(("http:", "https:", "mailto:", "data:", "//"))


def test_every_page_is_built_identity(site: Path) -> None:
    for page in DOCS.rglob("*.md"):
        assert (site / page.relative_to(DOCS).with_suffix(".html")).is_file(), page.name
    for beside in ("benchmarks/RESULTS.html", "CHANGELOG.html", "SECURITY.html", "examples/index.html"):
        assert (site / beside).is_file()


def test_nothing_is_dead_identity(site: Path, pages: dict[Path, Page]) -> None:
    """Links lead to files and to places in them; pictures, styles and scripts are there."""
    dead = []
    for path, page in pages.items():
        for target in page.links | page.loaded:
            if is_outside(target):
                continue
            name, _, place = unquote(target).partition("#")
            there = (path.parent / name.partition("?")[0]).resolve() if name else path.resolve()
            there = there / "index.html" if there.is_dir() else there
            known = pages.get(there)
            if not there.is_file() or (place and known is not None and place not in known.ids | {"__toc_top"}):
                dead.append(f"{path.relative_to(site.resolve())}: {target}")
    assert not dead
    assert sum(len(page.links) for page in pages.values()) > 1000


def test_nothing_comes_from_elsewhere_identity(site: Path, pages: dict[Path, Page]) -> None:
    """No font, script, style or picture is loaded from another computer."""
    loaded = set().union(*(page.loaded for page in pages.values()))
    assert {target for target in loaded if is_outside(target) and not target.startswith("data:")} == set()
    for style in site.rglob("*.css"):
        assert re.findall(r"url\(['\"]?(?:https?:)?//[^)]*", style.read_text(encoding="utf-8")) == [], style.name


def test_every_public_name_is_in_the_reference_identity(pages: dict[Path, Page]) -> None:
    """Each exported name stands once in docs/api, with its public members."""
    entries = [
        name
        for page in (DOCS / "api").glob("*.md")
        for name in re.findall(r"^::: cajole\.(\w+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert sorted(entries) == sorted(NAMES)
    told = set().union(*(page.ids for path, page in pages.items() if path.parent.name == "api"))
    assert {f"cajole.{name}" for name in NAMES} <= told
    assert {"cajole.Editor.drag", "cajole.BodySolid.stiffness", "cajole.Controller.run"} <= told


def test_every_public_name_is_explained_identity(site: Path) -> None:
    """No heading of the reference stands without words below its signature."""
    for path in (site / "api").glob("*.html"):
        text = path.read_text(encoding="utf-8")
        entries = re.split(r'<h[34] id="cajole\.', text)[1:]
        bare = [entry.split('"')[0] for entry in entries if not re.search(r"<p>\S", entry)]
        assert not bare, path.name


def gallery() -> dict[str, Any]:
    """The names that docs/gallery/items.py defines."""
    return runpy.run_path(str(DOCS / "gallery" / "items.py"))


def test_gallery_is_as_its_code_makes_it_identity() -> None:
    """The page is what the code writes; every entry has a still and a loop, small enough to load at once."""
    made = gallery()
    assert (DOCS / "gallery.md").read_text(encoding="utf-8") == made["page"]()
    for name in made["ITEMS"]:
        for suffix in (".jpg", ".webp"):
            assert 2_000 < (DOCS / "gallery" / f"{name}{suffix}").stat().st_size < 400_000, name + suffix


def test_gallery_shows_every_scene_identity() -> None:
    from cajole.scenes import flow_scenes
    from cajole.scenes.edit_scenes import list_edit_scene_names
    from cajole.scenes.enrich_scenes import list_enrich_scene_names
    from cajole.scenes.reroute_scenes import list_reroute_scene_names

    shown = set(gallery()["ITEMS"])
    known = {
        *list_edit_scene_names(),
        *list_enrich_scene_names(),
        *list_reroute_scene_names(),
        *flow_scenes.FLOW_SCENE_DESCRIPTIONS,
    }
    assert known <= shown
