"""The page's sources: what they may load, where colours are written, and that a built page says whose code is in it."""

from __future__ import annotations

import importlib.util
import json
import os
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
WEB = ROOT / "src" / "cajole" / "studio" / "web"
EXACT = re.compile(r"\d+\.\d+\.\d+")
COLOUR = re.compile(r"#[0-9a-fA-F]{3,8}\b|\brgba?\(|\bhsla?\(")


@pytest.fixture
def builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_packages_are_pinned_and_no_host_is_named() -> None:
    wanted = json.loads((WEB / "package.json").read_text())
    assert set(wanted["dependencies"]) == {"three", "uplot"}
    for name, version in {**wanted["dependencies"], **wanted["devDependencies"]}.items():
        assert EXACT.fullmatch(version), f"{name} {version}"
    lock = (WEB / "package-lock.json").read_text()
    assert "://" not in lock
    for name, package in json.loads(lock)["packages"].items():
        assert not name or package["integrity"].startswith("sha512-"), name


def test_the_page_loads_only_what_its_server_has() -> None:
    assert re.findall(r"(?:src|href)=\"(?!/static/)", (WEB / "index.html").read_text()) == []
    for path in [*WEB.glob("src/**/*.ts"), *WEB.glob("src/**/*.css")]:
        found = re.findall(r"https?://(?!www\.w3\.org/2000/svg)[\w.]+", path.read_text())
        assert found == [], path.name


def test_colours_are_tokens() -> None:
    for path in WEB.glob("src/**/*.css"):
        for line in path.read_text().splitlines():
            assert line.lstrip().startswith(("--", "/*")) or not COLOUR.search(line), f"{path.name}: {line.strip()}"
    for path in WEB.glob("src/**/*.ts"):
        code = re.sub(r"/\*.*?\*/|//[^\n]*", "", path.read_text(), flags=re.DOTALL)
        assert COLOUR.findall(code) == [], path.name


def test_a_page_is_built_again_only_when_a_source_is_newer(builder: ModuleType, tmp_path: Path) -> None:
    builder.WEB, builder.STATIC = tmp_path / "web", tmp_path / "static"
    (builder.WEB / "src").mkdir(parents=True)
    for name in ("package-lock.json", "build.mjs", "index.html", "icon.svg", "src/main.ts"):
        (builder.WEB / name).write_text("")
    assert not builder.fresh()
    builder.STATIC.mkdir()
    (builder.STATIC / "index.html").write_text("")
    assert builder.fresh()
    os.utime(builder.WEB / "src" / "main.ts", (2e9, 2e9))
    assert not builder.fresh()


def test_a_failing_step_says_what_it_could_not_do_bad_input(builder: ModuleType) -> None:
    with pytest.raises(SystemExit, match="could not bundle") as failure:
        builder.run([*builder.node(), "-e", "console.error('no such source'); process.exit(3)"], "could not bundle")
    assert "no such source" in str(failure.value)
