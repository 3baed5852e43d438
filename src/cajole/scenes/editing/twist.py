"""A beam at rest, twisted by two full turns at its middle frame: a long way, in small drags of four corners."""

from __future__ import annotations

from collections.abc import Iterator
from math import radians, sqrt

import numpy as np
from scipy.spatial.transform import Rotation

from cajole.animation import Animation
from cajole.body import BodySolid, MaterialStVK
from cajole.checks import positive
from cajole.errors import InputError
from cajole.mesh import MeshTet, Skin, box_tets, embed, subdivide
from cajole.progress import Progress, report
from cajole.scenes.editing.staging import EditScene, Move
from cajole.scenes.sdf import Floats, Ints

# 75 cubes, 208 vertices, eight of them held: the beam of Table 1, Barbič 2012, with its 600 degrees of freedom
CELLS, CUBE = (25, 3, 1), 0.12
FRAMES, FPS, MODES = 360, 60.0, 500
TWISTED, TURNS, STEP = 180, 720.0, 15.0
MATERIAL, DAMPING = MaterialStVK(young=1e8, poisson=0.3, density=1000.0), (0.2, 0.003)
TEAL, PALE = (0.16, 0.55, 0.58), (0.90, 0.88, 0.80)
# how often each edge of the skin is halved, so that stripes have sharp borders
FINER = 3
CAMERA = {
    "azimuth": -52.0,
    "elevation": 16.0,
    "fov": 26.0,
    "size": (960, 480),
    "background": (0.86, 0.84, 0.82),
    "floor": (0.87, 0.85, 0.83),
    "floor_height": -0.5,
}


def twist(progress: Progress | None = None) -> EditScene:
    """The beam of Table 1: 360 frames of rest, 48 drags of 15 degrees at frame 180."""
    size = CUBE * np.array(CELLS)
    mesh = box_tets(*CELLS, size=size, origin=(0.0, *(-size[1:] / 2)))
    body = BodySolid(mesh, MATERIAL, fixed=np.flatnonzero(mesh.vertices[:, 0] == 0.0), damping=DAMPING)
    still = np.broadcast_to(mesh.vertices, (FRAMES, *mesh.vertices.shape))
    report(progress, 1.0, "the beam is ready")
    return EditScene(
        name="twist",
        title="Twisted beam",
        description="A beam at rest; four corners of its free end are turned by 720 degrees at one frame.",
        animation=Animation(mesh, still, fps=FPS, skin=_striped(mesh), name="twist"),
        body=body,
        modes=MODES,
        moves=tuple(twist_moves(mesh, TWISTED)),
        camera=CAMERA,
        frames_shown=(60, 105, 140, TWISTED, 240),
    )


def twist_moves(mesh: MeshTet, frame: int, *, degrees: float = TURNS, step: float = STEP) -> Iterator[Move]:
    """Drags that turn the end of a straight beam about x, which is held where x is least, a step at a time.

    The end comes nearer as it turns, as far as keeps the mean stretch along the beam zero: a fibre at distance ρ from
    the axis has the Green strain ½ (s² + (θρ/L)² - 1), s the share of the length L that is left.
    Raises InputError for a turn so large that nothing of the length would be left.
    """
    corners = end_corners(mesh)
    x = mesh.vertices[corners]
    length = float(np.ptp(mesh.vertices[:, 0]))
    width, height = np.ptp(mesh.vertices[:, 1:], axis=0)
    spread = float(width**2 + height**2) / 12.0 / length**2
    if spread * radians(positive(degrees, "degrees")) ** 2 >= 1.0:
        raise InputError(f"degrees is {degrees:g}, more than this beam is long: it would shrink to nothing")
    for angle in np.linspace(0.0, degrees, max(round(degrees / positive(step, "step (degrees)")), 1) + 1)[1:]:
        left = sqrt(1.0 - spread * radians(angle) ** 2)
        turned = Rotation.from_euler("x", angle, degrees=True).apply(x)
        yield Move(corners, frame, turned - [(1.0 - left) * length, 0.0, 0.0])


def end_corners(mesh: MeshTet) -> Ints:
    """The four vertices at the far end of a beam along x that lie farthest out in y and z."""
    low, high = mesh.bounds
    places = [(high[0], y, z) for y in (low[1], high[1]) for z in (low[2], high[2])]
    return np.array([np.linalg.norm(mesh.vertices - place, axis=1).argmin() for place in places], dtype=np.int64)


def turned_by(mesh: MeshTet, positions: Floats) -> Floats:
    """By how many degrees each section of a beam along x is turned, followed along the beam, from the held end."""
    sections = np.unique(mesh.vertices[:, 0].round(9))
    angles = []
    for x in sections:
        at = np.abs(mesh.vertices[:, 0] - x) < 1e-6
        here, there = mesh.vertices[at, 1:], positions[at, 1:]
        (a, b), (c, d) = (here - here.mean(axis=0)).T @ (there - there.mean(axis=0))
        angles.append(np.arctan2(b - c, a + d))
    return np.degrees(np.unwrap(angles))


def _striped(mesh: MeshTet) -> Skin:
    """The surface, with a pale band every other cube, so that turning is seen."""
    # a beam one cube thick has no vertex inside, so that all of them are of the skin
    surface, _ = subdivide(mesh.surface, levels=FINER)
    pale = (surface.vertices[:, 0] / CUBE) % 2.0 >= 1.0
    colors = np.where(pale[:, None], PALE, TEAL)
    n = len(surface.vertices)
    return Skin(surface, colors, ("beam",), np.zeros(n, dtype=np.int64), np.zeros(n), embed(surface, mesh))
