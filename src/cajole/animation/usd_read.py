"""Reading USD: any Mesh or TetMesh whose points, or whose transforms, move."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.animation.animation import Animation
from cajole.animation.reading import AnyMesh, file_size, guarded
from cajole.animation.shown import PLAIN_GLOSS, srgb_from_linear
from cajole.errors import FileError, MeshError
from cajole.mesh import Embedding, MeshLine, MeshTet, MeshTri, Skin, repaired
from cajole.mesh.topology import fans
from cajole.parsers.child import run_in_child
from cajole.parsers.usd import USD, parse_usd
from cajole.progress import Progress, report
from cajole.storage import are_reads_confined, register_input


def read_usd(
    path: Path,
    *,
    mesh: AnyMesh | None = None,
    fps: float | None = None,
    prim: str | None = None,
    trusted: bool = False,
    progress: Progress | None = None,
) -> Animation:
    """Read the TetMesh or Mesh called `prim` (a path or a name); None: the only one, or the only one that moves.

    Bones, blend shapes, transforms of ancestors, metersPerUnit and upAxis are applied. The points' default value is the
    rest shape (else the first frame is). Samples at uneven times are read at every time code; where the stage plays on
    before or after them, the motion rests. The file is parsed in a child process, since USD can crash on a damaged file
    or never return; `trusted` saves starting it for files known to be whole.
    """
    USD.require()
    with guarded(path):
        file_size(path)
        confined = are_reads_confined()
        if trusted:
            found = parse_usd(
                path, prim, mesh is None, confined, report=lambda f: report(progress, f, f"reading {path.name}")
            )
        else:
            found = run_in_child(parse_usd, path, prim, mesh is None, confined, progress=progress)
        for layer in found["layers"]:
            register_input(layer)
        positions = found["positions"]
        rest = _rest(path, found, positions[0]) if mesh is None else mesh
        report(progress, 1.0, f"reading {path.name}")
        return Animation(
            rest,
            positions,
            found["fps"] if fps is None else fps,
            velocities=found.get("velocities"),
            skin=_skin(path, found, rest) if mesh is None else None,
            start_frame=int(found["start_frame"]),
            name=str(found["name"]),
        )


def _rest(path: Path, found: Mapping[str, Any], first: NDArray[np.floating[Any]]) -> AnyMesh:
    """The mesh in its default pose where that is a mesh, else as it is in the first frame."""
    for name in ("rest", "pose"):
        points = found.get(name)
        if points is None or len(points) != len(first):
            continue
        try:
            return _mesh(path, found, points)
        except MeshError:
            pass  # other programs leave anything in the default; the first frame is then the best rest shape there is
    return _mesh(path, found, np.asarray(first, dtype=np.float64))


def _mesh(path: Path, found: Mapping[str, Any], vertices: NDArray[np.float64]) -> AnyMesh:
    if "tets" in found:
        return MeshTet(vertices, found["tets"])
    if "lines" in found:
        return MeshLine(vertices, found["lines"])
    counts, corners = found["counts"], found["corners"]
    if counts.size and (counts.min() < 3 or counts.sum() != corners.size):
        raise FileError(
            f"{path}: {found['prim']} announces faces of {counts.sum()} corners, three or more each, "
            f"and gives {corners.size}; export it again"
        )
    triangles = fans(counts, corners)
    return repaired(vertices, triangles[:, ::-1] if found["left_handed"] else triangles)


def _skin(path: Path, found: Mapping[str, Any], rest: AnyMesh) -> Skin | None:
    """The skin that hangs in the mesh, or the mesh's own colours."""
    if "embedding_tets" not in found:
        return _dressed(found, rest, None) if isinstance(rest, MeshTri) else None
    skin = {name.removeprefix("skin_"): value for name, value in found.items() if name.startswith("skin_")}
    surface = _rest(path, skin, skin["pose"])
    embedding = Embedding(
        found["embedding_tets"], found["embedding_weights"], found["embedding_corners"], len(rest.vertices)
    )
    return _dressed(skin, surface, embedding) if isinstance(surface, MeshTri) else None


def _dressed(found: Mapping[str, Any], surface: MeshTri, embedding: Embedding | None) -> Skin | None:
    n = len(surface.vertices)
    colors = found.get("colors")
    if colors is None or len(colors) not in (1, n):
        return None  # colours by face or by corner have no place on vertices
    return Skin(
        surface,
        np.broadcast_to(srgb_from_linear(colors), (n, 3)),
        tuple(str(part) for part in found.get("parts", ["surface"])),
        found.get("labels", np.zeros(n, dtype=np.int64)),
        found.get("gloss", np.full(n, PLAIN_GLOSS)),
        embedding,
    )
