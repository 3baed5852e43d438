"""Run the tests with the lowest and with the newest versions of the packages that pyproject.toml allows.

    python scripts/check_dependency_bounds.py                      both, all tests but those in a browser and in Blender
    python scripts/check_dependency_bounds.py --only lowest tests/linalg tests/mesh

uv resolves both sets of versions: of direct requirements the lowest or the newest, of all others the newest. It is
installed, like the packages, into environments under --folder, which a second run uses again. A package index is
needed. Deprecation warnings are no errors in the lowest set: there they are about other packages' packages.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = ("fast", "contact", "usd", "images", "viz", "studio", "docs", "dev")
RESOLUTION = {"lowest": "lowest-direct", "newest": "highest"}
WARNINGS = {"lowest": ("-W", "ignore::DeprecationWarning", "-W", "ignore::PendingDeprecationWarning"), "newest": ()}
TESTS = ("tests", "--ignore=tests/e2e", "--ignore=tests/blender")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=tuple(RESOLUTION), help="one of the two sets of versions")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "cajole-bounds")
    parser.add_argument("--install-only", action="store_true", help="make the environments and run no tests")
    parser.add_argument("tests", nargs="*", default=TESTS, help="arguments of pytest; all but e2e and Blender")
    asked, others = parser.parse_known_args()
    failed = []
    for name in [asked.only] if asked.only else RESOLUTION:
        python = make_environment(name, asked.folder)
        if not asked.install_only and run_tests(name, python, asked.folder, [*asked.tests, *others]):
            failed.append(name)
    print(f"failed: {', '.join(failed)}" if failed else "done")
    return 1 if failed else 0


def make_environment(name: str, folder: Path) -> Path:
    """The Python of an environment that has the `name` versions of everything, and not the package itself."""
    uv = scripts_of(folder / "uv") / "uv"
    if not uv.exists():
        venv.create(folder / "uv", with_pip=True)
        run([scripts_of(folder / "uv") / "python", "-m", "pip", "install", "--quiet", "uv"])
    pins, home = folder / f"{name}.txt", folder / name
    extras = [word for extra in EXTRAS for word in ("--extra", extra)]
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    compile_pins = [uv, "pip", "compile", "--quiet", "--upgrade", "--python-version", version, *extras]
    run([*compile_pins, "--resolution", RESOLUTION[name], "--output-file", pins, ROOT / "pyproject.toml"])
    if not home.exists():
        run([uv, "venv", "--quiet", "--seed", "--python", sys.executable, home])
    python = scripts_of(home) / "python"
    run([uv, "pip", "install", "--quiet", "--python", python, "--only-binary", ":all:", "--requirement", pins])
    return python


def run_tests(name: str, python: Path, folder: Path, tests: list[str]) -> int:
    """The exit code of pytest. Compiled kernels are kept apart: those of another numba would be replaced in turn."""
    print(f"--- {name} versions", flush=True)
    own = {"PYTHONPATH": str(ROOT / "src"), "NUMBA_CACHE_DIR": str(folder / f"kernels-{name}")}
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *WARNINGS[name], *tests]
    return subprocess.run([str(word) for word in command], cwd=ROOT, env=os.environ | own, check=False).returncode


def scripts_of(home: Path) -> Path:
    return home / ("Scripts" if os.name == "nt" else "bin")


def run(command: list[str | Path]) -> None:
    done = subprocess.run([str(word) for word in command], check=False)
    if done.returncode:
        raise SystemExit(f"failed: {' '.join(str(word) for word in command[:4])} …")


if __name__ == "__main__":
    raise SystemExit(main())
