"""The box of Figure 8, Bergou 2007: one motion of eight vertices, three axes of material."""

from __future__ import annotations

from functools import partial

import numpy as np

from cajole.animation import Animation
from cajole.body import EARTH_GRAVITY, BodyShell, MaterialShell
from cajole.body.plasticity import Plasticity
from cajole.body.rayleigh import Damping
from cajole.direct.enriching import regions_subdivided
from cajole.dynamics import Ground
from cajole.mesh import MeshTri
from cajole.progress import Progress, report
from cajole.scenes.enriching.box_motion import FPS, box_mesh, lid_motion
from cajole.scenes.enriching.staging import Cloth, EnrichScene

# 8 vertices become 1538
LEVELS = 4
# Young's modulus [Pa] and thickness [m]: the thicker, the more a sheet minds being bent rather than stretched
LIMP, USUAL, STIFF, CARTON = (1.0e6, 4.0e-4), (1.0e5, 3.0e-3), (4.0e4, 3.5e-2), (1.0e5, 8.0e-3)
# [kg/m²]
LIGHT, HEAVY = 0.3, 1.2
SOME, CALM, STILL = Damping(0.2, 0.004, 0.004), Damping(1.5, 0.02, 0.02), Damping(3.0, 0.02, 0.02)
# folds stay beyond this curvature [1/m], and get stiffer by this much [m]
PAPER, FOIL = Plasticity(2.0, 0.0), Plasticity(0.4, 0.02)
TEALS = ((0.45, 0.78, 0.76), (0.18, 0.60, 0.62), (0.08, 0.38, 0.46))
CORALS = ((0.95, 0.62, 0.50), (0.88, 0.42, 0.32), (0.66, 0.24, 0.22))
VIOLETS = ((0.72, 0.66, 0.90), (0.52, 0.44, 0.76), (0.34, 0.28, 0.56))
CAMERA = {
    "azimuth": -62.0,
    "elevation": 12.0,
    "fov": 28.0,
    "size": (720, 720),
    "background": (0.84, 0.85, 0.87),
    "floor": (0.84, 0.83, 0.81),
    "floor_height": 0.0,
}


def box(progress: Progress | None = None) -> EnrichScene:
    """Eight regions, the hats of the corners; the bottom stands on the ground."""
    coarse = box_mesh()
    fine, regions = regions_subdivided(coarse, LEVELS)
    report(progress, 1.0, "the box is ready")
    return EnrichScene(
        name="box",
        title="Box",
        description="The lid of a box is turned, pressed down, swung and stopped dead; its walls do the rest.",
        guide=Animation(coarse, lid_motion(coarse), fps=FPS, name="box"),
        regions=regions,
        materials=_materials(fine),
        settings={"dt": 1 / 120, "gravity": EARTH_GRAVITY},
        colliders=(Ground(-0.008),),
        camera=CAMERA,
        frames_shown=(0, 20, 30, 45, 66, 80, 91, 102, 106, 112, 137),
    )


def _materials(mesh: MeshTri) -> dict[str, Cloth]:
    """Three of each axis: stiffness; plasticity; damping and density."""
    rows = (
        ("cloth", "neither limp nor stiff", TEALS[1], USUAL, LIGHT, SOME, None),
        ("limp", "bends and stretches easily: many small wrinkles", TEALS[0], LIMP, LIGHT, SOME, None),
        ("card", "hardly bends: few large buckles", TEALS[2], STIFF, LIGHT, SOME, None),
        ("elastic", "springs back when it is let go", CORALS[0], CARTON, LIGHT, CALM, None),
        ("paper", "keeps the sharpest of its folds", CORALS[1], CARTON, LIGHT, CALM, PAPER),
        ("foil", "keeps all folds, and they harden", CORALS[2], CARTON, LIGHT, CALM, FOIL),
        ("calm", "much damped: stops with the lid", VIOLETS[0], USUAL, LIGHT, STILL, None),
        ("wobbly", "undamped: trembles on", VIOLETS[1], USUAL, LIGHT, Damping(), None),
        ("heavy", "undamped and four times as heavy: sways on, slowly", VIOLETS[2], USUAL, HEAVY, Damping(), None),
    )
    return {
        name: Cloth(text, color, partial(_shell, mesh, sheet, areal, damping, plasticity))
        for name, text, color, sheet, areal, damping, plasticity in rows
    }


def _shell(
    mesh: MeshTri, sheet: tuple[float, float], areal: float, damping: Damping, plasticity: Plasticity | None
) -> BodyShell:
    young, thickness = sheet
    material = MaterialShell(young=young, poisson=0.3, thickness=thickness, density=areal / thickness)
    bottom = np.flatnonzero(mesh.vertices[:, 2] == 0.0)
    return BodyShell(mesh, material, fixed=bottom, damping=damping, plasticity=plasticity)
