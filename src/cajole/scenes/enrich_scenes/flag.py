"""The flag of Figure 2, Bergou 2007: a fine cloth must follow an approved coarse preview into a tree."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array, IndexArray
from cajole.body import EARTH_GRAVITY, BodyShell, MaterialShell
from cajole.direct.enriching import enrich, regions_painted
from cajole.dynamics import InitialState
from cajole.mesh import MeshTri, grid_triangles
from cajole.pictures import Prop
from cajole.progress import ProgressCallback, report_progress
from cajole.scenes.edit_scenes.edit_scene import load_or_compute_positions
from cajole.scenes.enrich_scenes.enrich_scene import EnrichScene, ShellVariant
from cajole.scenes.tube import build_tube, join_meshes, resample_spline


@cache
def build_tree_mesh() -> MeshTri:
    """Closed meshes of trunk, branch and twig from below z = 0 upwards, with few triangles since the cloth collides
    with them.
    """
    trunk_points = ((0.06, 1.05, -0.1), (0.02, 1.02, 0.7), (0.0, 0.98, 1.5), (0.05, 1.06, 2.3), (0.02, 1.02, 2.9))
    trunk_radii = (0.20, 0.165, 0.145, 0.10, 0.05)
    twig_radii = (0.036, 0.026, 0.012)
    twig_points = ((0.0, -0.28, 1.70), (-0.05, -0.36, 1.86), (-0.04, -0.40, 1.98))
    branch_radii = (0.100, 0.072, 0.062, 0.050, 0.022)
    # [m] along y, a little upwards: from the trunk to the tip, and how thick it is there
    branch_points = ((0.0, 0.98, 1.50), (0.01, 0.45, 1.63), (-0.01, 0.0, 1.66), (0.02, -0.45, 1.74), (0.0, -0.72, 1.80))
    limbs = (
        (trunk_points, trunk_radii, 14, 12),
        (branch_points, branch_radii, 18, 12),
        (twig_points, twig_radii, 6, 8),
    )
    return join_meshes(
        [build_tube(*resample_spline(points, thick, rings), sides) for points, thick, rings, sides in limbs]
    )


# cells along and across: 35 vertices for the preview, 1625 for the cloth, as in §5.1 of Bergou 2007
PREVIEW_CELLS, CLOTH_CELLS = (6, 4), (64, 24)
LENGTH, WIDTH = 1.5, 0.75
FPS, FRAMES = 30.0, 76
DAMPING = (0.6, 0.01)
# where the middle of the cloth begins [m], its velocity [m/s] and how fast it turns about y [rad/s]
START_POSITION, START_VELOCITY, START_SPIN = (-1.75, -0.03, 1.89), (4.1, 0.0, 2.7), -1.4
# how the cloth billows at first: depth [m] and how many waves along it and across it
BILLOW_DEPTH, BILLOW_WAVES = 0.10, (0.9, 0.6)
# what preview and cloth have in common, whatever their meshes: steps [s], friction, how near surfaces come [m]
ENRICH_OPTIONS: dict[str, Any] = {"dt": 1 / 120, "gravity": EARTH_GRAVITY, "friction": 0.22, "distance": 0.004}


def build_cloth_mesh(cells: tuple[int, int]) -> MeshTri:
    """Mesh of the cloth, upright in the plane of y and z, centred at the origin, facing +x."""
    flat = grid_triangles(*cells, size=(LENGTH, WIDTH))
    along, across = flat.vertices[:, 0] - LENGTH / 2, flat.vertices[:, 1] - WIDTH / 2
    return MeshTri(np.column_stack([np.zeros(len(along)), across, -along]), flat.triangles)


def label_quarters(cells: tuple[int, int]) -> IndexArray:
    """Region labels (triangles,) of the four quarters: upper left, upper right, lower left, lower right."""
    i, j = np.indices(cells).reshape(2, -1)
    return np.repeat(2 * (2 * i >= cells[0]) + (2 * j >= cells[1]), 2)


def build_initial_state(mesh: MeshTri) -> InitialState:
    """Initial displacement and velocity: billowed, flying towards the branch."""
    # (n,) [m] how far the cloth is out of its plane
    _, y, z = mesh.vertices.T
    bulge = np.asarray(
        BILLOW_DEPTH * np.sin(2 * np.pi * (BILLOW_WAVES[0] * z / LENGTH + BILLOW_WAVES[1] * y / WIDTH) + 0.4)
    )
    displacement = np.column_stack([bulge, np.zeros((len(bulge), 2))]) + START_POSITION
    turning = np.column_stack([START_SPIN * mesh.vertices[:, 2], np.zeros_like(bulge), -START_SPIN * bulge])
    return InitialState(displacement, turning + START_VELOCITY)


def build_cotton_shell(mesh: MeshTri) -> BodyShell:
    """Shell of the preview and of the result."""
    cotton_material = MaterialShell(young=1.2e5, poisson=0.25, thickness=1e-3, density=220.0)
    return BodyShell(mesh, cotton_material, damping=DAMPING)


def simulate_preview(mesh: MeshTri, progress: ProgressCallback | None = None) -> Array:
    """Positions (frames, n, 3) [m] of a coarse cloth that flies into the tree without tracking."""
    start, labels = build_initial_state(mesh), label_quarters(PREVIEW_CELLS)
    still = Animation(mesh, (mesh.vertices + np.asarray(start.displacement, dtype=float))[None], FPS)
    own = regions_painted(mesh, labels, mesh, labels)
    film = enrich(
        still,
        build_cotton_shell(mesh),
        own,
        start=start,
        frames=FRAMES,
        tracked=False,
        progress=progress,
        collisions="fast",
        colliders=(build_tree_mesh(),),
        **ENRICH_OPTIONS,
    ).animation
    return np.asarray(film.positions)


BARK_COLOR, FLAG_COLOR = (0.44, 0.33, 0.25), (0.74, 0.14, 0.20)


def build_flag_scene(progress: ProgressCallback | None = None) -> EnrichScene:
    """The scene with four painted regions, the quarters of the cloth."""
    return build_flag_scene_with_cells(CLOTH_CELLS, progress)


def build_flag_scene_with_cells(cells: tuple[int, int], progress: ProgressCallback | None = None) -> EnrichScene:
    """The same scene with the given numbers of cells along and across the cloth."""
    camera = {
        "azimuth": -60.0,
        "elevation": 5.0,
        "fov": 28.0,
        "size": (720, 720),
        "background": (0.80, 0.84, 0.88),
        "floor": (0.66, 0.70, 0.56),
        "floor_height": 0.0,
    }
    coarse, fine = build_cloth_mesh(PREVIEW_CELLS), build_cloth_mesh(cells)
    path = _load_preview(coarse, progress)
    report_progress(progress, 1.0, "the preview is ready")
    return EnrichScene(
        name="flag",
        title="Flag on a branch",
        description="A cloth of 35 vertices flies along and is caught by a branch; "
        f"one of {len(fine.vertices)} does the same.",
        guide=Animation(coarse, path, fps=FPS, name="flag"),
        regions=regions_painted(coarse, label_quarters(PREVIEW_CELLS), fine, label_quarters(cells)),
        variants={"cotton": ShellVariant("the preview's own", FLAG_COLOR, partial(build_cotton_shell, fine))},
        enrich_options={**ENRICH_OPTIONS, "start": build_initial_state(fine)},
        colliders=(build_tree_mesh(),),
        props=(Prop("tree", build_tree_mesh(), BARK_COLOR),),
        camera=camera,
        frames_shown=(0, 8, 12, 15, 18, 24, 36, 60, 75),
    )


def _load_preview(mesh: MeshTri, progress: ProgressCallback | None) -> Array:
    """Load the preview (frames, n, 3) [m], simulated at first use."""
    # goes up when collisions answer otherwise: previews kept before are made anew
    cache_version = 2
    values = (
        FPS, FRAMES, START_POSITION, START_VELOCITY, START_SPIN, BILLOW_DEPTH, BILLOW_WAVES, ENRICH_OPTIONS
    )  # fmt: skip
    return load_or_compute_positions(
        lambda: simulate_preview(mesh, progress),
        build_cotton_shell(mesh).compute_content_hash(),
        build_tree_mesh().content_hash,
        repr(values),
        cache_version,
    )
