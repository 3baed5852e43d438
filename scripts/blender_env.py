"""Blender as a Python module, in an environment of its own, for tests/blender.

    python scripts/blender_env.py        makes .venv-blender, or finds it made

bpy has wheels for one Python version each, and is a few hundred megabytes: it is no dependency of the package. The
environment is made once and kept; $CAJOLE_BLENDER names another place for it, which several copies may share. Where bpy
cannot be had this says why and ends well: the tests are then skipped, and say so too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# the long-term release with wheels for each Python that there is one for
BPY = {"3.11": "4.5.15", "3.13": "5.2.3"}
# holds the path of the environment's Python, once that has imported bpy
READY = ".ready"
# bpy opens no window, but is linked with what would
LIBRARIES = "libxi6 libxrender1 libxfixes3 libxxf86vm1 libxkbcommon0 libsm6 libice6 libgl1 libegl1"
VERSION = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"


class Unavailable(Exception):
    """bpy cannot be had here, for this reason."""


def folder() -> Path:
    """Where the environment is."""
    chosen = os.environ.get("CAJOLE_BLENDER")
    return Path(chosen) if chosen else ROOT / ".venv-blender"


def pythons() -> list[str]:
    """Interpreters to look at: this one first."""
    others = (shutil.which(f"python{version}") for version in BPY)
    return [sys.executable, *(path for path in others if path)]


def suitable() -> tuple[str, str]:
    """A Python that bpy has wheels for, and the version of bpy for it. Raises Unavailable."""
    for python in pythons():
        asked = subprocess.run([python, "-c", VERSION], capture_output=True, text=True, check=False)
        version = asked.stdout.strip()
        if asked.returncode == 0 and version in BPY:
            return python, BPY[version]
    raise Unavailable(f"bpy needs Python {' or '.join(BPY)}, with venv; none is on the path")


def make(place: Path) -> str:
    """The environment at `place`, made anew; the version of Blender in it. Raises Unavailable."""
    python, version = suitable()
    shutil.rmtree(place, ignore_errors=True)
    run([python, "-m", "venv", str(place)], "the environment could not be made")
    own = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    pip = [str(own), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
    run([*pip, f"bpy=={version}"], f"bpy {version} could not be installed")
    remedy = f"on Debian: apt-get install {LIBRARIES}"
    found = run([str(own), "-c", "import bpy; print(bpy.app.version_string)"], f"bpy cannot be imported ({remedy})")
    (place / READY).write_text(f"{own.absolute()}\n", encoding="utf-8")
    return found.split("\n")[0]


def run(command: list[str], trouble: str) -> str:
    """What a command prints. Raises Unavailable with the last line of its complaint."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()] or [f"exit code {done.returncode}"]
        raise Unavailable(f"{trouble}: {lines[-1].strip()}")
    return done.stdout.strip()


def main() -> None:
    """Make the environment unless it is there."""
    place = folder()
    if (place / READY).is_file():
        return
    try:
        print(f"Blender {make(place)} is in {place}")
    except Unavailable as reason:
        shutil.rmtree(place, ignore_errors=True)
        print(f"no Blender, so exchange with it is not tested: {reason}")


if __name__ == "__main__":
    main()
