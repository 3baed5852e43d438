"""The box of Figure 8, Bergou 2007: one motion of eight vertices, materials varied along three axes."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.spatial.transform import Rotation

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import EARTH_GRAVITY, BodyShell, MaterialShell, Plasticity
from cajole.body.rayleigh import ShellDamping
from cajole.direct.enriching import regions_subdivided
from cajole.dynamics import Ground
from cajole.mesh import MeshTri
from cajole.progress import ProgressCallback, report_progress
from cajole.scenes.enrich_scenes.enrich_scene import EnrichScene, ShellVariant

SIDE_LENGTH, HEIGHT = 0.6, 0.8
FPS, DURATION = 30.0, 4.6
# then it goes across at full speed, and at this time [s] it stands [m], upright
STOP_TIME, LID_SPEED = 3.40, 0.80


def build_box_mesh() -> MeshTri:
    """Mesh of eight corners and twelve triangles that stands on z = 0."""
    # of the eight corners
    box_triangles = (
        (0, 2, 1), (1, 2, 3), (4, 5, 6), (5, 7, 6), (0, 1, 4), (1, 5, 4),
        (2, 6, 3), (3, 6, 7), (0, 4, 2), (2, 4, 6), (1, 3, 5), (3, 7, 5),
    )  # fmt: skip
    x, y, z = np.indices((2, 2, 2)).reshape(3, -1)[::-1]
    return MeshTri(np.column_stack([x - 0.5, y - 0.5, z]) * [SIDE_LENGTH, SIDE_LENGTH, HEIGHT], box_triangles)


def compute_lid_motion(mesh: MeshTri) -> Array:
    """Positions (frames, 8, 3) [m]: the bottom is fixed, the lid moves rigidly."""
    # [s], then what the lid does: turn [degrees], height as a share, to the side [m], tilt to that side [degrees]
    lid_keys = (
        (0.00, 0, 1.00, 0.00, 0),
        (0.20, 0, 1.00, 0.00, 0),
        (0.35, -8, 1.02, 0.00, 0),
        (0.90, 112, 0.86, 0.00, 0),
        (1.20, 112, 0.86, 0.00, 0),
        (1.65, 0, 1.00, 0.00, 0),
        (1.85, 0, 1.04, 0.00, 0),
        (2.20, 0, 0.50, 0.00, 0),
        (2.40, 0, 0.50, 0.00, 0),
        (2.65, 0, 1.12, 0.00, 0),
        (2.85, 0, 1.00, -0.20, -14),
        (3.05, 0, 1.00, -0.26, -18),
    )  # fmt: skip
    times = np.arange(round(DURATION * FPS) + 1) / FPS
    keys = np.array(lid_keys)
    turn, high, aside, tilt = PchipInterpolator(keys[:, 0], keys[:, 1:])(np.minimum(times, keys[-1, 0])).T
    # from the last key on: across and upright at a constant pace that ends at once
    late = np.clip((times - keys[-1, 0]) / (STOP_TIME - keys[-1, 0]), 0.0, 1.0)
    aside, tilt = aside + LID_SPEED * (STOP_TIME - keys[-1, 0]) * late, tilt * (1.0 - late)
    lid = mesh.vertices[:, 2] > 0
    out = np.repeat(mesh.vertices[None], len(times), axis=0)
    for frame in range(len(times)):
        rotation = Rotation.from_euler("zy", (turn[frame], tilt[frame]), degrees=True)
        out[frame, lid] = rotation.apply(mesh.vertices[lid] * [1, 1, 0]) + [aside[frame], 0, HEIGHT * high[frame]]
    return out


# Young's modulus [Pa] and thickness [m]: the thicker, the more a sheet minds being bent rather than stretched
LIMP_SHEET, DEFAULT_SHEET, STIFF_SHEET, CARTON_SHEET = (
    (1.0e6, 4.0e-4),
    (1.0e5, 3.0e-3),
    (4.0e4, 3.5e-2),
    (1.0e5, 8.0e-3),
)
# [kg/m²]
LIGHT_AREAL_DENSITY, HEAVY_AREAL_DENSITY = 0.3, 1.2
WEAK_DAMPING, MEDIUM_DAMPING, STRONG_DAMPING = (
    ShellDamping(0.2, 0.004, 0.004),
    ShellDamping(1.5, 0.02, 0.02),
    ShellDamping(3.0, 0.02, 0.02),
)
# folds stay beyond this curvature [1/m], and get stiffer by this much [m]
PAPER_PLASTICITY, FOIL_PLASTICITY = Plasticity(2.0, 0.0), Plasticity(0.4, 0.02)


def build_box_scene(progress: ProgressCallback | None = None) -> EnrichScene:
    """The scene with eight regions, the hat functions of the corners; the bottom stands on the ground."""
    camera = {
        "azimuth": -62.0,
        "elevation": 12.0,
        "fov": 28.0,
        "size": (720, 720),
        "background": (0.84, 0.85, 0.87),
        "floor": (0.84, 0.83, 0.81),
        "floor_height": 0.0,
    }
    # 8 vertices become 1538
    subdivision_levels = 4
    coarse = build_box_mesh()
    fine, regions = regions_subdivided(coarse, subdivision_levels)
    report_progress(progress, 1.0, "the box is ready")
    return EnrichScene(
        name="box",
        title="Box",
        description="The lid of a box is turned, pressed down, swung and stopped dead; its walls do the rest.",
        guide=Animation(coarse, compute_lid_motion(coarse), fps=FPS, name="box"),
        regions=regions,
        variants=_build_shell_variants(fine),
        enrich_options={"dt": 1 / 120, "gravity": EARTH_GRAVITY},
        colliders=(Ground(-0.008),),
        camera=camera,
        frames_shown=(0, 20, 30, 45, 66, 80, 91, 102, 106, 112, 137),
    )


def _build_shell_variants(mesh: MeshTri) -> dict[str, ShellVariant]:
    """Three materials per axis: stiffness; plasticity; damping and density."""
    violets = ((0.72, 0.66, 0.90), (0.52, 0.44, 0.76), (0.34, 0.28, 0.56))
    corals = ((0.95, 0.62, 0.50), (0.88, 0.42, 0.32), (0.66, 0.24, 0.22))
    teals = ((0.45, 0.78, 0.76), (0.18, 0.60, 0.62), (0.08, 0.38, 0.46))
    rows = (
        ("cloth", "neither limp nor stiff", teals[1], DEFAULT_SHEET, LIGHT_AREAL_DENSITY, WEAK_DAMPING, None),
        (
            "limp",
            "bends and stretches easily: many small wrinkles",
            teals[0],
            LIMP_SHEET,
            LIGHT_AREAL_DENSITY,
            WEAK_DAMPING,
            None,
        ),
        ("card", "hardly bends: few large buckles", teals[2], STIFF_SHEET, LIGHT_AREAL_DENSITY, WEAK_DAMPING, None),
        (
            "elastic",
            "springs back when it is let go",
            corals[0],
            CARTON_SHEET,
            LIGHT_AREAL_DENSITY,
            MEDIUM_DAMPING,
            None,
        ),
        (
            "paper",
            "keeps the sharpest of its folds",
            corals[1],
            CARTON_SHEET,
            LIGHT_AREAL_DENSITY,
            MEDIUM_DAMPING,
            PAPER_PLASTICITY,
        ),
        (
            "foil",
            "keeps all folds, and they harden",
            corals[2],
            CARTON_SHEET,
            LIGHT_AREAL_DENSITY,
            MEDIUM_DAMPING,
            FOIL_PLASTICITY,
        ),
        (
            "calm",
            "much damped: stops with the lid",
            violets[0],
            DEFAULT_SHEET,
            LIGHT_AREAL_DENSITY,
            STRONG_DAMPING,
            None,
        ),
        ("wobbly", "undamped: trembles on", violets[1], DEFAULT_SHEET, LIGHT_AREAL_DENSITY, ShellDamping(), None),
        (
            "heavy",
            "undamped and four times as heavy: sways on, slowly",
            violets[2],
            DEFAULT_SHEET,
            HEAVY_AREAL_DENSITY,
            ShellDamping(),
            None,
        ),
    )
    return {
        name: ShellVariant(text, color, partial(_build_shell, mesh, sheet, areal, damping, plasticity))
        for name, text, color, sheet, areal, damping, plasticity in rows
    }


def _build_shell(
    mesh: MeshTri,
    sheet: tuple[float, float],
    areal_density: float,
    damping: ShellDamping,
    plasticity: Plasticity | None,
) -> BodyShell:
    young, thickness = sheet
    material = MaterialShell(young=young, poisson=0.3, thickness=thickness, density=areal_density / thickness)
    bottom = np.flatnonzero(mesh.vertices[:, 2] == 0.0)
    return BodyShell(mesh, material, fixed=bottom, damping=damping, plasticity=plasticity)
