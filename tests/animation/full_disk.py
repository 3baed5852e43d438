"""Writes every format over an old file with too little room; run by test_animation_files in a process of its own.

Usage: python full_disk.py folder. A limit on the size of files makes the system refuse to write, as a full disk does.
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

from animation_cases import waved

from cajole.animation import Animation
from cajole.errors import FileError
from cajole.mesh import grid_triangles

NAMES = ("a.npz", "a.usda", "a.usdc", "a.glb", "a.pc2", "a.mdd", "a_####.obj")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def outcome(animation: Animation, folder: Path, name: str) -> list[str | bool]:
    """The error that came, what it said, and whether the old files are as they were."""
    before = contents(folder)
    try:
        animation.write(folder / name)
        said = ["nothing", ""]
    except FileError as error:
        said = ["FileError", str(error)]
    except BaseException as error:
        said = [type(error).__name__, str(error)]
    return [*said, contents(folder) == before]


def main(folder: Path) -> None:
    mesh = grid_triangles(20, 20)
    small, large = Animation(mesh, waved(mesh.vertices, 2)), Animation(mesh, waved(mesh.vertices, 60))
    for name in NAMES:
        small.write(folder / name.split(".")[1] / name)
    # less than any of the files will need, and more than their headers
    resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, resource.RLIM_INFINITY))
    print(json.dumps({name: outcome(large, folder / name.split(".")[1], name) for name in NAMES}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
