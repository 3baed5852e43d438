"""Reading GLB: meshes with morph targets, whoever wrote them, and static meshes as one frame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from cajole.animation.animation import Animation
from cajole.animation.reading import AnyMesh, file_size, guarded
from cajole.animation.seams import joined
from cajole.animation.shown import painted, srgb_from_linear
from cajole.mesh import MeshLine, MeshTri, Skin, repaired
from cajole.parsers.child import run_in_child
from cajole.parsers.glb import parse_glb
from cajole.progress import Progress, report


def read_glb(
    path: Path,
    *,
    mesh: AnyMesh | None = None,
    fps: float | None = None,
    prim: str | None = None,
    progress: Progress | None = None,
) -> Animation:
    """Read the mesh of the node called `prim` (None: the only one, or the only one with morph targets) and its motion.

    The first frame is the rest shape unless `mesh` is given. Transforms of nodes are applied where they stand still;
    bones and moving nodes are refused, for their motion would be lost. Vertices that other programs doubled at hard
    edges and seams are one again. The file is parsed in a child process. Raises FileError.
    """
    with guarded(path):
        file_size(path)
        found = run_in_child(parse_glb, path, prim, mesh is None, progress=progress)
        positions, skin = found["positions"], None
        if mesh is None:
            mesh, positions, skin = _surface(found)
        report(progress, 1.0, f"reading {path.name}")
        return Animation(
            mesh,
            positions,
            found["fps"] if fps is None else fps,
            skin=skin,
            start_frame=int(found["start_frame"]),
            name=str(found["name"]),
        )


def _surface(found: dict[str, Any]) -> tuple[MeshTri | MeshLine, Any, Skin | None]:
    """The mesh of what was found, positions of its vertices, and its skin where it has colours."""
    positions = found["positions"]
    if "lines" in found:
        return MeshLine(positions[0], found["lines"]), positions, None
    triangles = found["triangles"]
    kept = np.arange(positions.shape[1])
    if not found["own"]:
        kept, triangles = joined(found["stored"], positions, triangles)
        positions = positions[:, kept]
    mesh = repaired(positions[0], triangles)
    colors = found.get("colors")
    return mesh, positions, None if colors is None else painted(mesh, srgb_from_linear(colors[kept]))
