"""The bag of Figure 9, Bergou 2007: one backflip, five materials and a wind."""

from __future__ import annotations

from functools import partial
from typing import Any

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import EARTH_GRAVITY, BodyShell, LoadWind, MaterialShell
from cajole.body.rayleigh import Damping
from cajole.body.undeformed import accordion, crinkle, ridges
from cajole.direct.enriching import regions_subdivided
from cajole.dynamics import Ground
from cajole.mesh import MeshTri
from cajole.progress import Progress, report
from cajole.scenes.enriching.bag_motion import FPS, backflip
from cajole.scenes.enriching.bag_shape import HEIGHT, WIDTH, bag_mesh
from cajole.scenes.enriching.staging import Cloth, EnrichScene

# 88 vertices become 1297
LEVELS = 2
SHEET = MaterialShell(young=2.5e5, poisson=0.3, thickness=1.5e-3, density=180.0)
CALM, FREE = Damping(1.0, 0.02, 0.03), Damping(0.0, 0.0005, 0.0005)
# horizontal folds and vertical ridges: from crest to crest, and how deep [m]
FOLDS, FOLD_DEPTH = HEIGHT / 4, 0.02
RIDGES, RIDGE_WIDTH, RIDGE_HEIGHT = WIDTH / 5, WIDTH / 5, 0.018
LUMPS, LUMP_HEIGHT = 0.05, 0.007
# of the wind [m/s], from the front and a little from below, and of its gusts
WIND, GUSTS = (-11.0, 4.0, 2.0), 6.0
CAMERA = {
    "azimuth": -62.0,
    "elevation": 8.0,
    "fov": 28.0,
    "size": (720, 720),
    "background": (0.86, 0.82, 0.76),
    "floor": (0.86, 0.82, 0.75),
    "floor_height": 0.0,
}


def bag(progress: Progress | None = None) -> EnrichScene:
    """88 regions, the hats of the guide's vertices."""
    coarse = bag_mesh()
    fine, regions = regions_subdivided(coarse, LEVELS)
    report(progress, 1.0, "the bag is ready")
    return EnrichScene(
        name="bag",
        title="Backflip",
        description="A bag crouches, jumps, flips backwards and lands hard; what it is made of tells in its folds.",
        guide=Animation(coarse, backflip(coarse.vertices), fps=FPS, name="bag"),
        regions=regions,
        materials=_materials(fine),
        settings={"dt": 1 / 120, "gravity": EARTH_GRAVITY},
        colliders=(Ground(-0.008),),
        camera=CAMERA,
        frames_shown=(0, 22, 31, 36, 42, 47, 54, 58, 62, 70, 77),
    )


def _materials(mesh: MeshTri) -> dict[str, Cloth]:
    def cloth(
        text: str, color: tuple[float, float, float], damping: Damping, shape: Array | None = None, **settings: Any
    ) -> Cloth:
        return Cloth(text, color, partial(_shell, mesh, damping, shape), settings)

    gale = LoadWind(mesh, WIND, along=0.1, gusts=GUSTS, scale=0.25, pace=2.0)
    zigzag = accordion(mesh, amplitude=FOLD_DEPTH, wavelength=FOLDS, direction=(0.0, 0.0, 1.0))
    rips = ridges(mesh, height=RIDGE_HEIGHT, spacing=RIDGES, width=RIDGE_WIDTH, direction=(0.0, 1.0, 0.0))
    rough = crinkle(mesh, amplitude=LUMP_HEIGHT, scale=LUMPS, seed=3)
    return {
        "vinyl": cloth("red vinyl, much damped: fine upright wrinkles", (0.80, 0.12, 0.14), CALM),
        "silk": cloth("orange silk, hardly damped: waves run up after the landing", (0.95, 0.52, 0.12), FREE),
        "accordion": cloth("coarse horizontal folds at rest", (0.52, 0.28, 0.66), CALM, zigzag),
        "ridges": cloth("fine upright ridges at rest, a woven gift bag", (0.78, 0.20, 0.34), CALM, rips),
        "crinkle": cloth("crumpled cellophane", (0.42, 0.70, 0.82), CALM, rough),
        "wind": cloth("silk in a gale", (0.98, 0.66, 0.22), FREE, forces=gale),
    }


def _shell(mesh: MeshTri, damping: Damping, undeformed: Array | None) -> BodyShell:
    return BodyShell(mesh, SHEET, damping=damping, undeformed=undeformed)
