"""An elephant tumbles down a staircase and lifts its trunk on the way: the contacts of Figure 6, Barbič 2012.

A coarse cage is simulated; the contact surface is that of the fine mesh embedded in it, which is edited. The steps are
nested boxes with rounded edges: their distance field is continuous, unlike that of the inner corners of a staircase.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from cajole.animation import Animation, find_contacts
from cajole.arrays import Array
from cajole.body import EARTH_GRAVITY, BodySolid, MaterialStVK
from cajole.checks import require_integer
from cajole.dynamics import InitialState, ObstacleMesh, simulate
from cajole.mesh import ClosestPointQuery, MeshTri, box_tets, embed
from cajole.pictures import Prop
from cajole.progress import ProgressCallback, build_subprogress, report_progress
from cajole.scenes.builtin import Scene, scene
from cajole.scenes.edit_scenes.edit_scene import EditScene, VertexDrag, load_or_compute_positions

FRAMES, FPS, MODES = 600, 60.0, 500
# of the body that is edited, and of the cage that is simulated
TETS, CAGE_TETS = 48_000, 2200
# steps, and the height and depth of each [m]; half the width, the landing above, the floor below and what is under it
STEP_COUNT, STEP_RISE, STEP_TREAD = 20, 0.6, 0.9
HALF_WIDTH, LANDING_LENGTH, FLOOR_LENGTH, FOUNDATION_DEPTH = 9.0, 6.0, 30.0, 1.0
# [Pa] [1/s] [s]: firm enough that no tet is crushed; thin parts, which meet the steps first, are firmer by a factor
YOUNG, DAMPING = 1.0e7, (0.05, 0.02)
# the start: its middle [m], turned by [degrees] about x, y, z; and its velocity [m/s] and spin [rad/s]
START_CENTRE, START_ROTATION = (-0.9, 0.0, STEP_COUNT * STEP_RISE + 1.5), (1.5, 20.0, 1.0)
START_VELOCITY, START_SPIN = (3.0, 0.0, 0.0), (0.05, 1.2, 0.05)
# how far outside the steps the surface is held, and the radius of the edges that hold it: more than it sinks in [m]
CONTACT_OFFSET, EDGE_RADIUS = 0.03, 0.12
# of the contact [Pa/m], as the steps are firm; friction and damping
CONTACT_STIFFNESS, FRICTION, CONTACT_DAMPING = 2.5e8, 0.35, 1.5
INTEGRATOR, SUBSTEPS = "bdf2", 2
# contacts: what is within this distance [m]
CONTACT_DISTANCE = 0.04
# the frame of the edit, and how far ahead and up the tip of the trunk goes, as the elephant sees it [m]
DRAG_FRAME, DRAG_OFFSET = 193, (0.5, 0.0, 0.9)
STONE_COLOR, SKY_COLOR, GROUND_COLOR = (0.72, 0.66, 0.58), (0.80, 0.83, 0.86), (0.62, 0.60, 0.57)


@dataclass(frozen=True, eq=False, kw_only=True)
class StairsScene(EditScene):
    """The elephant on the stairs (closed mesh, z up)."""

    stairs: MeshTri

    def compute_penetration(self, positions: Array) -> float:
        """Greatest penetration depth [m] of the surface (n, 3) into the stairs; negative when clear of them."""
        outer = self.animation.mesh.surface_vertices
        return float(-ClosestPointQuery(self.stairs).compute_signed_distances(positions[outer]).min())


def build_stairs_scene(
    progress: ProgressCallback | None = None, *, tets: int = TETS, cage_tets: int = CAGE_TETS, frames: int = FRAMES
) -> StairsScene:
    """600 frames, 48 thousand tets, r = 500: the trunk is lifted at frame 193 while the contacts hold.

    tets, cage: about how many the elephant and the simulated cage have; frames: fewer end it earlier.
    """
    length = require_integer(frames, "frames", minimum=DRAG_FRAME + 1)
    fine = stiffen_elephant(scene("elephant", tets=tets, progress=build_subprogress(progress, 0.0, 0.1)))
    coarse = stiffen_elephant(scene("elephant", tets=cage_tets, progress=build_subprogress(progress, 0.1, 0.15)))
    body, surface = _build_body(coarse), fine.mesh.surface
    path = load_or_compute_positions(
        lambda: simulate_tumble(body, surface, length, progress=build_subprogress(progress, 0.15, 0.95)),
        body.compute_content_hash(), surface.content_hash, length, repr(_collect_motion_settings()),
    )  # fmt: skip
    steps = build_staircase()
    motion = Animation(fine.mesh, embed(fine.mesh.vertices, coarse.mesh).apply(path), fps=FPS, skin=fine.skin)
    motion = replace(motion, contacts=find_contacts(motion, steps, distance=CONTACT_DISTANCE), name="stairs")
    report_progress(progress, 1.0, "the elephant is down")
    return StairsScene(
        name="stairs",
        title="Elephant on the stairs",
        description="An elephant tumbles down a staircase; its trunk is lifted on the way, and the contacts hold.",
        animation=motion,
        body=_build_body(fine),
        modes=MODES,
        drags=(_build_trunk_drag(fine, motion),),
        props=(Prop("stairs", split_shared_vertices(steps), STONE_COLOR),),
        camera={
            "azimuth": -68.0,
            "elevation": 14.0,
            "fov": 28.0,
            "size": (960, 640),
            "background": SKY_COLOR,
            "floor": GROUND_COLOR,
            "floor_height": -0.02,
        },
        frames_shown=(40, 115, 145, DRAG_FRAME, 290),
        stairs=steps,
    )


def _collect_motion_settings() -> tuple[object, ...]:
    """Parameters that determine the motion besides the bodies: part of the cache key."""
    shape = STEP_COUNT, STEP_RISE, STEP_TREAD, HALF_WIDTH, LANDING_LENGTH, FLOOR_LENGTH, FOUNDATION_DEPTH
    return (
        shape,
        START_CENTRE,
        START_ROTATION,
        START_VELOCITY,
        START_SPIN,
        CONTACT_OFFSET,
        EDGE_RADIUS,
        CONTACT_STIFFNESS,
        FRICTION,
        CONTACT_DAMPING,
        INTEGRATOR,
        SUBSTEPS,
    )


def stiffen_elephant(elephant: Scene) -> Scene:
    """Return the elephant with a stiffer material and less damping."""
    return replace(elephant, young=YOUNG, damping=DAMPING)


def _build_body(elephant: Scene) -> BodySolid:
    part_stiffness_factors = {"tusks": 10.0, "tail": 4.0, "ears": 2.0, "trunk": 1.5}
    firmer = np.ones(len(elephant.mesh.vertices))
    for part, factor in part_stiffness_factors.items():
        firmer[elephant.parts[part]] = factor
    factors = firmer[elephant.mesh.tets].max(axis=1)
    stuffs = {
        factor: MaterialStVK(factor * elephant.young, elephant.poisson, elephant.density)
        for factor in set(factors.tolist())
    }
    return BodySolid(elephant.mesh, [stuffs[factor] for factor in factors.tolist()], damping=elephant.damping)


def simulate_tumble(
    body: BodySolid, surface: MeshTri, frames: int, *, progress: ProgressCallback | None = None
) -> Array:
    """Simulate a body thrown onto the stairs, in contact through `surface`: positions (frames, n, 3) [m]."""
    arms = body.vertices - body.vertices.mean(axis=0)
    arms = Rotation.from_euler("xyz", START_ROTATION, degrees=True).apply(arms)
    start = InitialState(
        arms + np.asarray(START_CENTRE) - body.vertices, np.asarray(START_VELOCITY) + np.cross(START_SPIN, arms)
    )
    made = simulate(
        body, frames, 1 / FPS, gravity=EARTH_GRAVITY, start=start, obstacles=build_step_obstacles(), surface=surface,
        integrator=INTEGRATOR, substeps=SUBSTEPS, progress=progress,
    )  # fmt: skip
    return np.asarray(made.positions)


def _compute_step_profile() -> tuple[Array, Array]:
    """Boundaries of landing, steps and floor along x (STEPS + 2,), and their heights (STEPS + 1,)."""
    ahead = np.concatenate(
        [[-LANDING_LENGTH], STEP_TREAD * np.arange(STEP_COUNT), [STEP_TREAD * (STEP_COUNT - 1) + FLOOR_LENGTH]]
    )
    return ahead, STEP_RISE * np.arange(STEP_COUNT, -1, -1.0)


def build_staircase() -> MeshTri:
    """Build the staircase as one closed surface, from the landing down to the floor z = 0."""
    ahead, heights = _compute_step_profile()
    columns = len(heights)
    tops = np.column_stack([np.repeat(ahead, 2)[1:-1], np.repeat(heights, 2)])
    outline = np.vstack([tops, np.column_stack([ahead, np.full(columns + 1, -FOUNDATION_DEPTH)])])
    foot = 2 * columns  # the first of the lower corners
    side = []
    for c in range(columns):
        # where a step ends its side has a corner more: that of the next step
        corner = [foot + c, foot + c + 1, *([2 * c + 2] if c + 1 < columns else []), 2 * c + 1, 2 * c]
        side += [(corner[0], corner[k], corner[k + 1]) for k in range(1, len(corner) - 1)]
    around = np.concatenate([np.arange(foot), np.arange(foot + columns, foot - 1, -1)])
    return extrude_outline(outline, np.array(side), around)


def extrude_outline(outline: Array, triangles_2d: Sequence[Sequence[int]] | Array, boundary: Array) -> MeshTri:
    """Extrude triangles (m, 3) over points (k, 2) in x and z along y into a closed outward surface.

    boundary: the points of the outline in order, along which the two ends are joined.
    """
    k = len(outline)
    ends = [np.column_stack([outline[:, 0], np.full(k, y), outline[:, 1]]) for y in (-HALF_WIDTH, HALF_WIDTH)]
    one, two = boundary, np.roll(boundary, -1)
    walls = np.vstack([np.column_stack([one, two, two + k]), np.column_stack([one, two + k, one + k])])
    triangles = np.vstack([triangles_2d, np.asarray(triangles_2d)[:, ::-1] + k, walls]).astype(np.int64)
    mesh = MeshTri(np.vstack(ends), triangles)
    return mesh if mesh.volume > 0 else MeshTri(mesh.vertices, mesh.triangles[:, ::-1])


def build_step_obstacles() -> list[ObstacleMesh]:
    """Build the stairs as nested rounded boxes that act from the contact distance on."""
    ahead, heights = _compute_step_profile()
    back, inset = -2 * LANDING_LENGTH, EDGE_RADIUS - CONTACT_OFFSET
    boxes = []
    for end, height in zip(ahead[1:], heights):
        size = end - inset - back, 2 * HALF_WIDTH, height - inset + FOUNDATION_DEPTH + 1.0
        box = box_tets(1, 1, 1, size=size, origin=(back, -HALF_WIDTH, -FOUNDATION_DEPTH - 1.0))
        boxes.append(
            ObstacleMesh(
                box.surface, friction=FRICTION, damping=CONTACT_DAMPING, stiffness=CONTACT_STIFFNESS, margin=EDGE_RADIUS
            )
        )
    return boxes


def split_shared_vertices(mesh: MeshTri) -> MeshTri:
    """Give each triangle vertices of its own, for flat shading."""
    return MeshTri(mesh.vertices[mesh.triangles].reshape(-1, 3), np.arange(mesh.triangles.size).reshape(-1, 3))


def _build_trunk_drag(elephant: Scene, motion: Animation) -> VertexDrag:
    """Lift the tip of the trunk in the orientation that the elephant has in that frame."""
    rest, x = elephant.mesh.vertices, motion.frame(DRAG_FRAME)
    trunk = elephant.parts["trunk"]
    tip = trunk[[rest[trunk, 0].argmax()]]
    turn, _ = Rotation.align_vectors(x - x.mean(axis=0), rest - rest.mean(axis=0))
    return VertexDrag(tip, DRAG_FRAME, x[tip] + turn.apply(DRAG_OFFSET))
