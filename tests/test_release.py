"""What is released: wheel and sdist are built, and the wheel works where nothing of the repository is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from cajole.mesh import box_tets, write_mesh
from waiting import PATIENCE

ROOT = Path(__file__).parents[1]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
STATIC = "cajole/studio/static/"


def run(command: list[str | Path], folder: Path, **environment: str) -> str:
    """What a command said; it must end well."""
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(
        [str(word) for word in command], cwd=folder, env=clean | environment, capture_output=True, text=True,
        timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with wheel and sdist."""
    pytest.importorskip("hatchling", reason="hatchling builds the package; install cajole[dev]")
    if not (ROOT / "src" / STATIC / "index.html").is_file():
        pytest.skip("the studio's page is not built; python hatch_build.py builds it")
    folder = tmp_path_factory.mktemp("released")
    run([sys.executable, "-m", "hatchling", "build", "-d", folder], ROOT)
    return folder


@pytest.fixture(scope="module")
def wheel(released: Path) -> Path:
    (path,) = released.glob("*.whl")
    return path


def environment(folder: Path, package: Path, *options: str) -> Path:
    """The scripts of a new environment in `folder` into which pip has put `package`, a wheel or an sdist."""
    home = folder / "environment"
    venv.create(home, with_pip=False)
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    (packages,) = home.glob("Lib/site-packages" if os.name == "nt" else "lib/python*/site-packages")
    (packages / "needed.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index"]
    # its own version, whatever the path above has of that name
    run([*pip, "--ignore-installed", *options, package], folder, PIP_DISABLE_PIP_VERSION_CHECK="1")
    return python.parent


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts of an environment that has the wheel, and beside it only what it depends on.

    Packages that it depends on are those of the tests, found by a path that leads nowhere else: of editable installs
    among them, as the repository itself may be one, nothing is seen.
    """
    return environment(tmp_path_factory.mktemp("empty"), wheel)


def test_version_is_the_newest_of_the_changelog_identity(wheel: Path) -> None:
    newest = re.search(r"^## .*?(\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest is not None
    assert newest[1] == VERSION
    assert wheel.name == f"cajole-{VERSION}-py3-none-any.whl"


def test_wheel_holds_what_it_should_identity(wheel: Path) -> None:
    """Types, licences, the built page and its view; no sources of the page, no tests."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        notices = archive.read(f"{STATIC}THIRD-PARTY.txt").decode()
        viewer = archive.read(f"{STATIC}viewer.js").decode()
    assert "cajole/py.typed" in names
    assert any(re.fullmatch(r"cajole-.*\.dist-info/licenses/LICENSE", name) for name in names)
    assert {f"{STATIC}{name}" for name in ("index.html", "studio.js", "studio.css", "viewer.js", "viewer.css")} <= names
    for package in ("three", "uplot"):
        assert re.search(rf"^{package} \d+\.\d+\.\d+ \(MIT\)$", notices, re.MULTILINE), package
    assert notices.count("Permission is hereby granted") == 2
    assert re.search(r"^three \d+\.\d+\.\d+ \(MIT\)$", viewer, re.MULTILINE)  # it travels alone, in HTML files
    assert "Permission is hereby granted" in viewer
    assert "cajole/direct/steering/runtime/steer.js" in names
    assert not [name for name in names if "/web/" in name or name.startswith("tests") or name.endswith(".pyc")]


def test_sdist_installs_the_same_identity(released: Path, wheel: Path, tmp_path: Path) -> None:
    """pip builds it in an empty environment, without Node and the network, and what it installs is the wheel's."""
    (path,) = released.glob("*.tar.gz")
    scripts = environment(tmp_path, path, "--no-build-isolation")
    assert run([scripts / "cajole", "--version"], tmp_path) == f"cajole {VERSION}\n"
    (package,) = scripts.parent.rglob("site-packages/cajole")
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if name.startswith("cajole/")}
        assert names == {
            file.relative_to(package.parent).as_posix()
            for file in package.rglob("*")
            if file.is_file() and "__pycache__" not in file.parts
        }
        changed = [name for name in names if archive.read(name) != (package.parent / name).read_bytes()]
    assert not changed


def test_sdist_holds_what_it_should_identity(released: Path) -> None:
    """It holds sources of the page, tests and pages, and the built page, so that no Node is needed for it."""
    (path,) = released.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert path.name == f"cajole-{VERSION}.tar.gz"
    assert {"pyproject.toml", "hatch_build.py", "LICENSE", "CHANGELOG.md", "README.md", "docs/index.md"} <= names
    assert {"src/cajole/studio/web/src/viewer.ts", f"src/{STATIC}index.html", "tests/test_release.py"} <= names
    assert not [name for name in names if "node_modules" in name]


def test_sdist_holds_every_file_of_the_repository_identity(released: Path) -> None:
    """Whatever Makefile and tests read is in it: all that Git tracks, and so a test suite that runs where it lies."""
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    (path,) = released.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"Makefile", "CONTRIBUTING.md", "pyproject.toml", ".ci/run", "scripts/blender_env.py"} <= names
    if tracked.returncode:
        pytest.skip("this is not a Git repository, so there is no list of its files")
    # a file that is tracked but was deleted cannot be packed
    assert not {name for name in tracked.stdout.splitlines() if (ROOT / name).exists()} - names


# --- other machines

# pip reads markers for the machine it runs on, so only what has none is tried: the package without extras
PLATFORMS = ("win_amd64", "manylinux2014_aarch64", "macosx_12_0_arm64", "manylinux2014_x86_64")


@pytest.fixture(scope="module")
def plain_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel without the studio's page, which takes no part in what the package needs."""
    pytest.importorskip("hatchling", reason="hatchling builds the package; install cajole[dev]")
    folder = tmp_path_factory.mktemp("plain")
    run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], ROOT, CAJOLE_WITHOUT_STUDIO="1")
    (path,) = folder.glob("*.whl")
    return path


def resolve(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """What pip would install; nothing is."""
    pip = [sys.executable, "-m", "pip", "install", "--dry-run", "--disable-pip-version-check", "--retries", "1"]
    command = [str(word) for word in (*pip, "--only-binary=:all:", "--target", folder / "target", *words)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture(scope="module")
def package_index(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skips a test where pip cannot reach a package index: not even what is installed here is found."""
    if resolve(tmp_path_factory.mktemp("index"), "--no-deps", "threadpoolctl").returncode:
        pytest.skip("pip reaches no package index, so that requirements cannot be resolved")


@pytest.mark.usefixtures("package_index")
@pytest.mark.parametrize("platform", PLATFORMS)
def test_wheel_resolves_on_other_machines_identity(platform: str, plain_wheel: Path, tmp_path: Path) -> None:
    """All that the package requires has wheels for the platform."""
    done = resolve(tmp_path, "--platform", platform, "--python-version", "3.12", plain_wheel)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Would install" in done.stdout
    assert f"cajole-{VERSION}" in done.stdout


def test_wheel_works_alone_claim(installed: Path, tmp_path: Path) -> None:
    """In an empty folder: no repository on the path, commands answer, a motion and a page of it are written."""
    path = run(
        [installed / "python", "-c", "import cajole, sys; print(cajole.__file__, *sys.path, sep='\\n')"], tmp_path
    )
    home, *places = path.splitlines()
    assert Path(home).is_relative_to(installed.parent)
    assert not [place for place in places if place and Path(place).is_relative_to(ROOT / "src")]
    cajole = installed / "cajole"
    assert run([cajole, "--version"], tmp_path) == f"cajole {VERSION}\n"
    write_mesh(box_tets(3, 1, 1), tmp_path / "beam.veg")
    words = ["simulate", "beam.veg", "--fixed", "x<1%", "--gravity", "9.81", "--frames", "4"]
    run([cajole, *words, "-o", "beam.npz", "-o", "beam.html"], tmp_path, CAJOLE_CACHE=str(tmp_path / "cache"))
    assert '"frames": 4' in run([cajole, "info", "beam.html", "--json"], tmp_path)
    assert "format       NPZ" in run([cajole, "info", "beam.npz"], tmp_path)
    run(
        [cajole, "demo", "--scene", "twist", "--workers", "1", "-o", "shown"],
        tmp_path,
        CAJOLE_CACHE=str(tmp_path / "cache"),
    )
    assert "twist.glb" in (tmp_path / "shown" / "index.html").read_text(encoding="utf-8")
