"""What `cajole simulate` lets a body bump into, and the pose that it is let go from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cajole.body import BodySolid
from cajole.cli.key_parser import load_pose
from cajole.dynamics import Ground, Obstacle, ObstacleMesh
from cajole.errors import InputError
from cajole.mesh import MeshTet, MeshTri, read_mesh
from cajole.mesh.files import READERS
from cajole.mesh.line import require_surface
from cajole.scenes import SceneBody

GROUND_KEYWORD = "ground"


def require_obstacles(texts: list[str]) -> None:
    """Raise InputError for what is neither the ground nor a mesh file."""
    for text in texts:
        if text != GROUND_KEYWORD and Path(text).suffix.lower() not in READERS:
            raise InputError(f'--obstacle {text!r} must be "{GROUND_KEYWORD}" or a mesh file ({" ".join(READERS)})')


def load_obstacles(texts: list[str]) -> list[Obstacle]:
    """The plane z = 0, and closed meshes in files."""
    return [Ground() if text == GROUND_KEYWORD else ObstacleMesh(_read_obstacle_mesh(text)) for text in texts]


def _read_obstacle_mesh(text: str) -> MeshTet | MeshTri:
    return require_surface(read_mesh(text), f"the obstacle {text}")


def load_start_pose(text: str | None, scene_body: SceneBody, body: BodySolid) -> NDArray[np.float64] | None:
    """The displacement (n, 3) [m] of "FILE" or "FILE#FRAME"; None when nothing is said."""
    if text is None:
        return None
    file, mark, place = text.rpartition("#")
    framed = bool(mark) and place.isdecimal()
    return load_pose(Path(file if framed else text), int(place) if framed else None, scene_body, body)
