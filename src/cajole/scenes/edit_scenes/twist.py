"""A beam at rest, twisted by two full turns in its middle frame through many small drags of four corners."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.spatial.transform import Rotation

from cajole.animation import Animation
from cajole.arrays import Array, IndexArray
from cajole.body import BodySolid, MaterialStVK
from cajole.checks import require_positive
from cajole.mesh import Embedding, MeshTet, MeshTri, Skin, box_tets
from cajole.progress import ProgressCallback, report_progress
from cajole.scenes.edit_scenes.edit_scene import EditScene, VertexDrag

# 75 cubes, 208 vertices, eight of them held: the beam of Table 1, Barbič 2012, with its 600 degrees of freedom
CELL_COUNTS, CELL_SIZE = (25, 3, 1), 0.12
FRAMES, FPS, MODES = 360, 60.0, 500
TWIST_FRAME, TWIST_ANGLE, DRAG_STEP = 180, 720.0, 15.0
MATERIAL, DAMPING = MaterialStVK(young=1e8, poisson=0.3, density=1000.0), (0.2, 0.003)
# of the energy: slowed down ten times and damped, so that the twist is wound up and let go over a hundred frames
EDIT_TIME_STEP, EDIT_DAMPING = 1 / 600, (4.0, 0.04)
TEAL, PALE = (0.16, 0.55, 0.58), (0.90, 0.88, 0.80)


def build_twist_scene(progress: ProgressCallback | None = None) -> EditScene:
    """The beam of Table 1: 360 frames at rest, 48 drags of 15 degrees at frame 180."""
    camera = {
        "azimuth": -52.0,
        "elevation": 16.0,
        "fov": 26.0,
        "size": (960, 480),
        "background": (0.86, 0.84, 0.82),
        "floor": (0.87, 0.85, 0.83),
        "floor_height": -0.5,
    }
    size = CELL_SIZE * np.array(CELL_COUNTS)
    mesh = box_tets(*CELL_COUNTS, size=size, origin=(0.0, *(-size[1:] / 2)))
    body = BodySolid(mesh, MATERIAL, fixed=np.flatnonzero(mesh.vertices[:, 0] == 0.0), damping=DAMPING)
    still = np.broadcast_to(mesh.vertices, (FRAMES, *mesh.vertices.shape))
    report_progress(progress, 1.0, "the beam is ready")
    return EditScene(
        name="twist",
        title="Twisted beam",
        description="A beam at rest; four corners of its free end are turned by 720 degrees at one frame.",
        animation=Animation(mesh, still, fps=FPS, skin=_build_striped_skin(mesh), name="twist"),
        body=body,
        modes=MODES,
        drags=tuple(generate_twist_drags(mesh, TWIST_FRAME)),
        edit_options={"h": EDIT_TIME_STEP, "damping": EDIT_DAMPING},
        camera=camera,
        frames_shown=(90, 130, 155, TWIST_FRAME, 230),
    )


def generate_twist_drags(
    mesh: MeshTet, frame: int, *, total_angle: float = TWIST_ANGLE, angle_step: float = DRAG_STEP
) -> Iterator[VertexDrag]:
    """Generate drags that rotate the far end of a beam along x about its axis by `angle_step` each.

    Each target is one small step ahead of the current shape, so that the solver always follows the shorter rotation.
    """
    corners = find_end_corners(mesh)
    x, axis = mesh.vertices[corners], mesh.vertices[corners].mean(axis=0)
    steps = max(
        round(
            require_positive(total_angle, "total_angle (degrees)")
            / require_positive(angle_step, "angle_step (degrees)")
        ),
        1,
    )
    for angle in np.linspace(0.0, total_angle, steps + 1)[1:]:
        yield VertexDrag(corners, frame, axis + Rotation.from_euler("x", angle, degrees=True).apply(x - axis))


def find_end_corners(mesh: MeshTet) -> IndexArray:
    """The four outermost vertices in y and z at the far end of a beam along x."""
    low, high = mesh.bounds
    places = [(high[0], y, z) for y in (low[1], high[1]) for z in (low[2], high[2])]
    return np.array([np.linalg.norm(mesh.vertices - place, axis=1).argmin() for place in places], dtype=np.int64)


def measure_twist(mesh: MeshTet, positions: Array) -> Array:
    """Rotation angle [degrees] of each section of a beam along x, unwrapped from the fixed end."""
    sections = np.unique(mesh.vertices[:, 0].round(9))
    angles = []
    for x in sections:
        at = np.abs(mesh.vertices[:, 0] - x) < 1e-6
        here, there = mesh.vertices[at, 1:], positions[at, 1:]
        (a, b), (c, d) = (here - here.mean(axis=0)).T @ (there - there.mean(axis=0))
        angles.append(np.arctan2(b - c, a + d))
    return np.degrees(np.unwrap(angles))


def _build_striped_skin(mesh: MeshTet) -> Skin:
    """Four smooth sides with a colour band per cube, which shows the twist, and two ends.

    Along the beam the skin is a cubic through the vertices: cells rotate by up to 50 degrees each, and straight edges
    would hide the twist. Each side has vertices of its own, so that the beam's edges stay sharp.
    """
    # into how many pieces the skin divides a cube along the beam
    skin_subdivisions = 10
    _, ny, nz = (n + 1 for n in CELL_COUNTS)
    lines = {(j, k): j * nz + k for j in range(ny) for k in range(nz)}
    sides = [[lines[j, 1] for j in range(ny)], [lines[j, 0] for j in reversed(range(ny))]]
    sides += [[lines[0, 0], lines[0, 1]], [lines[ny - 1, 1], lines[ny - 1, 0]]]
    # points that divide each of `cells` cells: the four sections (k, 4) around each, and their weights (k, 4)
    cells = CELL_COUNTS[0]
    at = np.arange(cells * skin_subdivisions + 1)
    cell = np.minimum(at // skin_subdivisions, cells - 1)
    t = at / skin_subdivisions - cell
    w = 0.5 * np.stack([-t + 2 * t**2 - t**3, 2 - 5 * t**2 + 3 * t**3, t + 4 * t**2 - 3 * t**3, t**3 - t**2], axis=1)
    first, last = cell == 0, cell == cells - 1
    w[first] += w[first, :1] * [-1.0, 2.0, -1.0, 0.0]
    w[last] += w[last, 3:] * [0.0, -1.0, 2.0, -1.0]
    sections, weights = np.clip(cell[:, None] + np.arange(-1, 3), 0, cells), w
    corners, blend, triangles, start = [], [], [], 0
    for side in sides:
        corners += [sections * ny * nz + line for line in side]
        blend += [weights] * len(side)
        triangles.append(start + _build_strip_triangles(len(side), len(weights)))
        start += len(side) * len(weights)
    for section, turn in ((0, 1), (CELL_COUNTS[0], -1)):
        ends = section * ny * nz + np.arange(ny * nz)
        corners.append(np.repeat(ends[:, None], 4, axis=1))
        blend.append(np.tile([1.0, 0.0, 0.0, 0.0], (len(ends), 1)))
        triangles.append(start + _build_strip_triangles(ny, nz)[:, ::turn])
        start += len(ends)
    # four vertices in a row carry a point, not the corners of a tet: no tet is named
    embedding = Embedding(np.zeros(start, dtype=np.int64), np.vstack(blend), np.vstack(corners), len(mesh.vertices))
    surface = MeshTri(embedding.apply(mesh.vertices), np.vstack(triangles))
    pale = (surface.vertices[:, 0] / CELL_SIZE + 1e-6) % 2.0 >= 1.0
    zero = np.zeros(start, dtype=np.int64)
    return Skin(surface, np.where(pale[:, None], PALE, TEAL), ("beam",), zero, np.zeros(start), embedding)


def _build_strip_triangles(lines: int, points: int) -> IndexArray:
    """Triangles between consecutive lines of points."""
    i, j = (a.ravel() for a in np.indices((lines - 1, points - 1)))
    a, b = i * points + j, (i + 1) * points + j
    return np.concatenate([np.column_stack([a, a + 1, b + 1]), np.column_stack([a, b + 1, b])])
