"""The flag of Figure 2, Bergou 2007: a preview is approved, and the cloth must do as it did."""

from __future__ import annotations

from functools import partial

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.direct.enriching import regions_painted
from cajole.mesh import MeshTri
from cajole.pictures import Prop
from cajole.progress import Progress, report
from cajole.scenes.editing.staging import kept_positions
from cajole.scenes.enriching import flight
from cajole.scenes.enriching.staging import Cloth, EnrichScene
from cajole.scenes.enriching.tree import tree_mesh

BARK, CRIMSON = (0.44, 0.33, 0.25), (0.74, 0.14, 0.20)
CAMERA = {
    "azimuth": -60.0,
    "elevation": 5.0,
    "fov": 28.0,
    "size": (720, 720),
    "background": (0.80, 0.84, 0.88),
    "floor": (0.66, 0.70, 0.56),
    "floor_height": 0.0,
}


def flag(progress: Progress | None = None) -> EnrichScene:
    """Four painted regions, the quarters of the cloth, and nothing else is asked of it."""
    return flag_of(flight.FINE, progress)


def flag_of(cells: tuple[int, int], progress: Progress | None = None) -> EnrichScene:
    """The same with a cloth of so many cells along and across."""
    coarse, fine = flight.cloth_mesh(flight.COARSE), flight.cloth_mesh(cells)
    path = _flown(coarse, progress)
    report(progress, 1.0, "the preview is ready")
    return EnrichScene(
        name="flag",
        title="Flag on a branch",
        description="A cloth of 35 vertices flies along and is caught by a branch; "
        f"one of {len(fine.vertices)} does the same.",
        guide=Animation(coarse, path, fps=flight.FPS, name="flag"),
        regions=regions_painted(coarse, flight.quarters(flight.COARSE), fine, flight.quarters(cells)),
        materials={"cotton": Cloth("the preview's own", CRIMSON, partial(flight.cotton, fine))},
        settings={**flight.SETTINGS, "start": flight.begun(fine)},
        colliders=(tree_mesh(),),
        props=(Prop("tree", tree_mesh(), BARK),),
        camera=CAMERA,
        frames_shown=(0, 8, 12, 15, 18, 24, 36, 60, 75),
    )


def _flown(mesh: MeshTri, progress: Progress | None) -> Array:
    """The preview (frames, n, 3) [m], made once."""
    values = (
        flight.FPS, flight.FRAMES, flight.BEGIN, flight.SPEED, flight.SPIN, flight.BILLOW, flight.WAVES, flight.SETTINGS
    )  # fmt: skip
    return kept_positions(
        lambda: flight.previewed(mesh, progress), flight.cotton(mesh).content(), tree_mesh().content, repr(values),
        flight.VERSION,
    )  # fmt: skip
