"""The walker of Figures 1 and 10, Bergou 2007: an animator's gestures, and what wind and current make of them."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array, IndexArray
from cajole.body import EARTH_GRAVITY, BodyShell, LoadPressure, LoadWind, MaterialShell
from cajole.body.rayleigh import Damping
from cajole.body.undeformed import blend, crinkle
from cajole.direct.enriching import Regions, regions_clustered, regions_painted
from cajole.dynamics import Ground
from cajole.mesh import MeshTri
from cajole.pictures import Prop
from cajole.progress import Progress, report
from cajole.scenes.enriching import walker_motion
from cajole.scenes.enriching.staging import Cloth, EnrichScene
from cajole.scenes.enriching.tube import tube
from cajole.scenes.enriching.walker_shape import INSTEP, LIMBS, puppet, puppet_mesh
from cajole.storage import cached, content_hash

KIND, VERSION = "regions", 1
# about 200 over the body and the rest of the feet, which are divided so many times as finely
REGIONS, FINER, SEED = 280, 3.0, 0
FELT = MaterialShell(young=7.0e4, poisson=0.3, thickness=1.5e-3, density=120.0)
DAMPING = Damping(0.3, 0.002, 0.002)
# air inside, above that outside [Pa]: without it thin limbs would lie flat
PLUMP = 3.0
# of the headwind [m/s] and its gusts, in lumps of so many [m]
WIND, GUSTS, LUMPS = 13.0, 9.0, 0.15
# of the crinkles under current [m], and how often a second they come and go
CRINKLE, CRINKLE_SCALE, FLICKER = 0.008, 0.055, 6.0
BLUE, WIRE = (0.22, 0.46, 0.78), (0.15, 0.15, 0.16)
WIRE_RADIUS = 0.012
CAMERA = {
    "azimuth": -52.0,
    "elevation": 7.0,
    "fov": 28.0,
    "size": (960, 640),
    "background": (0.86, 0.80, 0.70),
    "floor": (0.86, 0.82, 0.74),
    "floor_height": 0.0,
}


def walker(progress: Progress | None = None) -> EnrichScene:
    """280 regions, clustered from the motion of 3038 vertices; guide and shell share the mesh."""
    mesh = puppet_mesh(walker_motion.rest_shape())
    guide = Animation(mesh, walker_motion.walk(), fps=walker_motion.FPS, name="walker")
    regions = _regions(guide, progress)
    report(progress, 1.0, "the walker is ready")
    return EnrichScene(
        name="walker",
        title="Walker",
        description="A puppet in the form of an X walks, leans into a headwind and steps on a live wire.",
        guide=guide,
        regions=regions,
        materials=_materials(mesh),
        settings={"dt": 1 / 120, "gravity": EARTH_GRAVITY},
        colliders=(Ground(-0.008),),
        props=(Prop("wire", _wire(), WIRE),),
        camera=CAMERA,
        follow=True,
        frames_shown=(0, 15, 30, 60, 108, 124, 150, 200, 210, 225, 250, 280),
    )


def _materials(mesh: MeshTri) -> dict[str, Cloth]:
    air = LoadPressure(mesh, PLUMP)
    wind, current = (
        partial(_headwind, LoadWind(mesh, (-WIND, 0, 0), gusts=GUSTS, scale=LUMPS, pace=2.0)),
        _electric(mesh),
    )
    make = partial(BodyShell, mesh, FELT, damping=DAMPING)

    def cloth(text: str, color: tuple[float, float, float], **settings: Any) -> Cloth:
        return Cloth(text, color, make, settings)

    return {
        "story": cloth("felt, in the headwind and under current", BLUE, forces=(air, wind), undeformed=current),
        "calm": cloth("felt in still air, and no current", (0.35, 0.60, 0.40), forces=(air,)),
        "headwind": cloth("felt in the headwind", (0.20, 0.52, 0.62), forces=(air, wind)),
        "current": cloth("felt that crinkles under current", (0.62, 0.36, 0.70), forces=(air,), undeformed=current),
    }


def _headwind(load: LoadWind, time: float, positions: Array, velocities: Array) -> Array:
    """Forces (n, 3) [N]: the wind while it blows."""
    strength = walker_motion.wind_at(time)
    return strength * load(time, positions, velocities) if strength else np.zeros_like(positions)


def _electric(mesh: MeshTri) -> Any:
    """The shape at rest as a function of time [s]: smooth, and under current now crinkled, now smooth."""
    rough = crinkle(mesh, amplitude=CRINKLE, scale=CRINKLE_SCALE, seed=1)

    def shape(time: float) -> Array:
        beat = np.sin(np.pi * FLICKER * (time - walker_motion.CURRENT[0])) ** 2
        return blend(mesh.vertices, rough, walker_motion.current_at(time) * float(beat))

    return shape


def _regions(guide: Animation, progress: Progress | None) -> Regions:
    """Clusters found once; painted, so that they are the same however they came."""
    mesh = guide.mesh
    assert isinstance(mesh, MeshTri)
    key = content_hash("walker", VERSION, mesh.content, np.asarray(guide.positions, np.float32), REGIONS, FINER, SEED)
    faces = np.asarray(cached(KIND, key, partial(_found, guide, mesh, progress))["faces"], dtype=np.int64)
    return regions_painted(mesh, faces, mesh, faces)


def _found(guide: Animation, mesh: MeshTri, progress: Progress | None) -> dict[str, IndexArray]:
    finer = np.where(_on_feet(mesh), FINER, 1.0)
    found = regions_clustered(guide, REGIONS, finer=finer, seed=SEED, progress=progress)
    assert found.faces is not None
    return {"faces": found.faces}


def _on_feet(mesh: MeshTri) -> IndexArray:
    """(triangles,) whether all corners lie where a leg is a foot."""
    shape = puppet()
    legs = [number for number, name in enumerate(LIMBS) if name.endswith("leg")]
    foot = np.isin(shape.limb, legs) & (shape.along >= INSTEP[0])
    return np.asarray(foot[mesh.triangles].all(axis=1))


def _wire() -> MeshTri:
    """A cable on the ground, where the walk ends."""
    at = walker_motion.way(walker_motion.CYCLES[-1][1]) + 0.20
    y = np.linspace(-1.1, 1.1, 45)
    line = np.column_stack([at + 0.03 * np.sin(3.1 * y), y, np.full(len(y), WIRE_RADIUS)])
    return tube(line, WIRE_RADIUS, 10)
