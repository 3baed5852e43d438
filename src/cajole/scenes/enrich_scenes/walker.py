"""The walker of Figures 1 and 10, Bergou 2007: a keyframed walk in wind and under electric current."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array, IndexArray
from cajole.body import EARTH_GRAVITY, BodyShell, LoadPressure, LoadWind, MaterialShell
from cajole.body.rayleigh import ShellDamping
from cajole.body.undeformed_shapes import blend_shapes, build_crinkle
from cajole.direct.enriching import Regions, regions_clustered, regions_painted
from cajole.dynamics import Ground
from cajole.mesh import MeshTri
from cajole.pictures import Prop
from cajole.progress import ProgressCallback, report_progress
from cajole.scenes.enrich_scenes import walker_motion
from cajole.scenes.enrich_scenes.enrich_scene import EnrichScene, ShellVariant
from cajole.scenes.enrich_scenes.walker_rig import INSTEP_RANGE, LIMBS, build_puppet_mesh, build_puppet_rig
from cajole.scenes.tube import build_tube
from cajole.storage import hash_content, load_or_compute

CACHE_KIND, CACHE_VERSION = "regions", 1
# about 200 over the body and the rest of the feet, which are divided so many times as finely
REGION_COUNT, FOOT_REGION_DENSITY, CLUSTER_SEED = 280, 3.0, 0
DAMPING = ShellDamping(0.3, 0.002, 0.002)
# of the headwind [m/s] and its gusts, in lumps of so many [m]
WIND_SPEED, GUST_SPEED, GUST_SCALE = 13.0, 9.0, 0.15
# of the crinkles under current [m], and how often a second they come and go
CRINKLE_AMPLITUDE, CRINKLE_SCALE, CRINKLE_FREQUENCY = 0.008, 0.055, 6.0
FELT_COLOR, WIRE_COLOR = (0.22, 0.46, 0.78), (0.15, 0.15, 0.16)


def build_walker_scene(progress: ProgressCallback | None = None) -> EnrichScene:
    """The scene with 280 regions clustered from the motion of 3038 vertices; guide and shell share the mesh."""
    camera = {
        "azimuth": -52.0,
        "elevation": 7.0,
        "fov": 28.0,
        "size": (960, 640),
        "background": (0.86, 0.80, 0.70),
        "floor": (0.86, 0.82, 0.74),
        "floor_height": 0.0,
    }
    mesh = build_puppet_mesh(walker_motion.compute_rest_shape())
    guide = Animation(mesh, walker_motion.compute_walk(), fps=walker_motion.FPS, name="walker")
    regions = _load_regions(guide, progress)
    report_progress(progress, 1.0, "the walker is ready")
    return EnrichScene(
        name="walker",
        title="Walker",
        description="A puppet in the form of an X walks, leans into a headwind and steps on a live wire.",
        guide=guide,
        regions=regions,
        variants=_build_shell_variants(mesh),
        enrich_options={"dt": 1 / 120, "gravity": EARTH_GRAVITY},
        colliders=(Ground(-0.008),),
        props=(Prop("wire", _build_wire(), WIRE_COLOR),),
        camera=camera,
        follow_camera=True,
        frames_shown=(0, 15, 30, 60, 108, 124, 150, 200, 210, 225, 250, 280),
    )


def _build_shell_variants(mesh: MeshTri) -> dict[str, ShellVariant]:
    # air inside, above that outside [Pa]: without it thin limbs would lie flat
    inner_pressure = 3.0
    felt_material = MaterialShell(young=7.0e4, poisson=0.3, thickness=1.5e-3, density=120.0)
    air = LoadPressure(mesh, inner_pressure)
    wind, current = (
        partial(
            _compute_headwind,
            LoadWind(mesh, (-WIND_SPEED, 0, 0), gust_speed=GUST_SPEED, gust_size=GUST_SCALE, gust_rate=2.0),
        ),
        _build_crinkling_rest_shape(mesh),
    )
    make = partial(BodyShell, mesh, felt_material, damping=DAMPING)

    def build_variant(text: str, color: tuple[float, float, float], **settings: Any) -> ShellVariant:
        return ShellVariant(text, color, make, settings)

    return {
        "story": build_variant(
            "felt, in the headwind and under current", FELT_COLOR, forces=(air, wind), undeformed=current
        ),
        "calm": build_variant("felt in still air, and no current", (0.35, 0.60, 0.40), forces=(air,)),
        "headwind": build_variant("felt in the headwind", (0.20, 0.52, 0.62), forces=(air, wind)),
        "current": build_variant(
            "felt that crinkles under current", (0.62, 0.36, 0.70), forces=(air,), undeformed=current
        ),
    }


def _compute_headwind(load: LoadWind, time: float, positions: Array, velocities: Array) -> Array:
    """Wind force (n, 3) [N] while the wind blows."""
    strength = walker_motion.compute_wind_strength(time)
    return strength * load(time, positions, velocities) if strength else np.zeros_like(positions)


def _build_crinkling_rest_shape(mesh: MeshTri) -> Any:
    """Build the rest shape as a function of time [s]: smooth, and alternately crinkled and smooth under current."""
    rough = build_crinkle(mesh, amplitude=CRINKLE_AMPLITUDE, scale=CRINKLE_SCALE, seed=1)

    def compute_rest_shape(time: float) -> Array:
        beat = np.sin(np.pi * CRINKLE_FREQUENCY * (time - walker_motion.ELECTRIC_CURRENT_SPAN[0])) ** 2
        return blend_shapes(mesh.vertices, rough, walker_motion.compute_electric_current(time) * float(beat))

    return compute_rest_shape


def _load_regions(guide: Animation, progress: ProgressCallback | None) -> Regions:
    """Load the clusters from the cache as painted regions, or compute them once."""
    mesh = guide.mesh
    assert isinstance(mesh, MeshTri)
    key = hash_content(
        "walker",
        CACHE_VERSION,
        mesh.content_hash,
        np.asarray(guide.positions, np.float32),
        REGION_COUNT,
        FOOT_REGION_DENSITY,
        CLUSTER_SEED,
    )
    faces = np.asarray(
        load_or_compute(CACHE_KIND, key, partial(_compute_region_faces, guide, mesh, progress))["faces"], dtype=np.int64
    )
    return regions_painted(mesh, faces, mesh, faces)


def _compute_region_faces(guide: Animation, mesh: MeshTri, progress: ProgressCallback | None) -> dict[str, IndexArray]:
    finer = np.where(_find_foot_triangles(mesh), FOOT_REGION_DENSITY, 1.0)
    found = regions_clustered(guide, REGION_COUNT, relative_density=finer, seed=CLUSTER_SEED, progress=progress)
    assert found.triangle_labels is not None
    return {"faces": found.triangle_labels}


def _find_foot_triangles(mesh: MeshTri) -> IndexArray:
    """Mask (triangles,) of those with all corners in the feet."""
    shape = build_puppet_rig()
    legs = [number for number, name in enumerate(LIMBS) if name.endswith("leg")]
    foot = np.isin(shape.limb_index, legs) & (shape.limb_coordinate >= INSTEP_RANGE[0])
    return np.asarray(foot[mesh.triangles].all(axis=1))


def _build_wire() -> MeshTri:
    """Build the cable on the ground at the end of the walk."""
    wire_radius = 0.012
    at = walker_motion.compute_travel_distance(walker_motion.CYCLE_KEYS[-1][1]) + 0.20
    y = np.linspace(-1.1, 1.1, 45)
    line = np.column_stack([at + 0.03 * np.sin(3.1 * y), y, np.full(len(y), wire_radius)])
    return build_tube(line, wire_radius, 10)
