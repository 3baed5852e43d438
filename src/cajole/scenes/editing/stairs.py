"""An elephant tumbles down a staircase, and lifts its trunk on the way: the contacts of Figure 6, Barbič 2012.

A coarse cage is simulated, but what touches the steps is the surface of the fine one that it carries and that is
edited. The steps push as nested boxes with rounded edges: distances from these bend but never jump, as those from the
inner corners of a staircase would.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from cajole.animation import Animation, find_contacts
from cajole.arrays import Array
from cajole.body import EARTH_GRAVITY, BodySolid, MaterialStVK
from cajole.checks import count
from cajole.dynamics import ObstacleMesh, State, simulate
from cajole.mesh import ClosestPoints, MeshTri, box_tets, embed
from cajole.pictures import Prop
from cajole.progress import Progress, portion, report
from cajole.scenes.assembly import Scene, scene
from cajole.scenes.editing.staging import EditScene, Move, kept_positions

FRAMES, FPS, MODES = 600, 60.0, 500
# of the body that is edited, and of the cage that is simulated
TETS, CAGE = 48_000, 2200
# steps, and the height and depth of each [m]; half the width, the landing above, the floor below and what is under it
STEPS, RISE, TREAD = 20, 0.6, 0.9
HALF, LANDING, FLOOR, UNDER = 9.0, 6.0, 30.0, 1.0
# [Pa] [1/s] [s]: firm enough that no tet is crushed; thin parts, which meet the steps first, are firmer by a factor
YOUNG, DAMPING = 1.0e7, (0.05, 0.02)
FIRMER = {"tusks": 10.0, "tail": 4.0, "ears": 2.0, "trunk": 1.5}
# the start: its middle [m], turned by [degrees] about x, y, z; and its velocity [m/s] and spin [rad/s]
MIDDLE, TURNED = (-0.9, 0.0, STEPS * RISE + 1.5), (1.5, 20.0, 1.0)
VELOCITY, SPIN = (3.0, 0.0, 0.0), (0.05, 1.2, 0.05)
# how far outside the steps the surface is held, and the radius of the edges that hold it: more than it sinks in [m]
HELD, ROUND = 0.03, 0.12
# of the contact [Pa/m], as the steps are firm; friction and damping
PRESSING, FRICTION, BRAKING = 2.5e8, 0.35, 1.5
INTEGRATOR, SUBSTEPS = "bdf2", 2
# contacts: what is within this distance [m]
TOUCHING = 0.04
# the frame of the edit, and how far ahead and up the tip of the trunk goes, as the elephant sees it [m]
LIFTED, LIFT = 193, (0.5, 0.0, 0.9)
STONE, SKY, GROUND = (0.72, 0.66, 0.58), (0.80, 0.83, 0.86), (0.62, 0.60, 0.57)


@dataclass(frozen=True, eq=False, kw_only=True)
class StairsScene(EditScene):
    """The elephant on the stairs (closed, z up)."""

    stairs: MeshTri

    def depth(self, positions: Array) -> float:
        """How far the surface (n, 3) is inside the stairs [m]; negative when it is clear of them."""
        outer = self.animation.mesh.surface_vertices
        return float(-ClosestPoints(self.stairs).signed(positions[outer]).min())


def stairs(
    progress: Progress | None = None, *, tets: int = TETS, cage: int = CAGE, frames: int = FRAMES
) -> StairsScene:
    """600 frames, 48 thousand tets, r = 500: the trunk is lifted at frame 193 while the contacts hold.

    tets, cage: about how many the elephant and the simulated cage have; frames: fewer end it earlier.
    """
    length = count(frames, "frames", least=LIFTED + 1)
    fine = firm(scene("elephant", tets=tets, progress=portion(progress, 0.0, 0.1)))
    coarse = firm(scene("elephant", tets=cage, progress=portion(progress, 0.1, 0.15)))
    body, surface = _body(coarse), fine.mesh.surface
    path = kept_positions(
        lambda: tumbled(body, surface, length, progress=portion(progress, 0.15, 0.95)),
        body.content(), surface.content, length, repr(_settings()),
    )  # fmt: skip
    steps = staircase()
    motion = Animation(fine.mesh, embed(fine.mesh.vertices, coarse.mesh).apply(path), fps=FPS, skin=fine.skin)
    motion = replace(motion, contacts=find_contacts(motion, steps, distance=TOUCHING), name="stairs")
    report(progress, 1.0, "the elephant is down")
    return StairsScene(
        name="stairs",
        title="Elephant on the stairs",
        description="An elephant tumbles down a staircase; its trunk is lifted on the way, and the contacts hold.",
        animation=motion,
        body=_body(fine),
        modes=MODES,
        moves=(_lifted(fine, motion),),
        props=(Prop("stairs", faceted(steps), STONE),),
        camera={
            "azimuth": -68.0,
            "elevation": 14.0,
            "fov": 28.0,
            "size": (960, 640),
            "background": SKY,
            "floor": GROUND,
            "floor_height": -0.02,
        },
        frames_shown=(40, 115, 145, LIFTED, 290),
        stairs=steps,
    )


def _settings() -> tuple[object, ...]:
    """What decides the motion, beside the bodies."""
    shape = STEPS, RISE, TREAD, HALF, LANDING, FLOOR, UNDER
    return shape, MIDDLE, TURNED, VELOCITY, SPIN, HELD, ROUND, PRESSING, FRICTION, BRAKING, INTEGRATOR, SUBSTEPS


def firm(made: Scene) -> Scene:
    """The same animal, firmer and less damped."""
    return replace(made, young=YOUNG, damping=DAMPING)


def _body(made: Scene) -> BodySolid:
    firmer = np.ones(len(made.mesh.vertices))
    for part, factor in FIRMER.items():
        firmer[made.parts[part]] = factor
    factors = firmer[made.mesh.tets].max(axis=1)
    stuffs = {factor: MaterialStVK(factor * made.young, made.poisson, made.density) for factor in set(factors.tolist())}
    return BodySolid(made.mesh, [stuffs[factor] for factor in factors.tolist()], damping=made.damping)


def tumbled(body: BodySolid, surface: MeshTri, frames: int, *, progress: Progress | None = None) -> Array:
    """Positions (frames, n, 3) [m] of a body that is thrown onto the stairs; its `surface` is what touches them."""
    arms = body.vertices - body.vertices.mean(axis=0)
    arms = Rotation.from_euler("xyz", TURNED, degrees=True).apply(arms)
    start = State(arms + np.asarray(MIDDLE) - body.vertices, np.asarray(VELOCITY) + np.cross(SPIN, arms))
    made = simulate(
        body, frames, 1 / FPS, gravity=EARTH_GRAVITY, start=start, obstacles=nested_steps(), surface=surface,
        integrator=INTEGRATOR, substeps=SUBSTEPS, progress=progress,
    )  # fmt: skip
    return np.asarray(made.positions)


def _places() -> tuple[Array, Array]:
    """Where landing, steps and floor begin and end along x (STEPS + 2,), and the height of each (STEPS + 1,)."""
    ahead = np.concatenate([[-LANDING], TREAD * np.arange(STEPS), [TREAD * (STEPS - 1) + FLOOR]])
    return ahead, RISE * np.arange(STEPS, -1, -1.0)


def staircase() -> MeshTri:
    """The staircase as one closed surface, from the landing down to the floor z = 0."""
    ahead, heights = _places()
    columns = len(heights)
    tops = np.column_stack([np.repeat(ahead, 2)[1:-1], np.repeat(heights, 2)])
    outline = np.vstack([tops, np.column_stack([ahead, np.full(columns + 1, -UNDER)])])
    foot = 2 * columns  # the first of the lower corners
    side = []
    for c in range(columns):
        # where a step ends its side has a corner more: that of the next step
        corner = [foot + c, foot + c + 1, *([2 * c + 2] if c + 1 < columns else []), 2 * c + 1, 2 * c]
        side += [(corner[0], corner[k], corner[k + 1]) for k in range(1, len(corner) - 1)]
    around = np.concatenate([np.arange(foot), np.arange(foot + columns, foot - 1, -1)])
    return extruded(outline, np.array(side), around)


def extruded(outline: Array, side: Sequence[Sequence[int]] | Array, around: Array) -> MeshTri:
    """A closed surface, facing outward: the triangles `side` (m, 3) over points (k, 2) of x and z, at both ends of y.

    around: the points of its rim in order, along which the two are joined.
    """
    k = len(outline)
    ends = [np.column_stack([outline[:, 0], np.full(k, y), outline[:, 1]]) for y in (-HALF, HALF)]
    one, two = around, np.roll(around, -1)
    walls = np.vstack([np.column_stack([one, two, two + k]), np.column_stack([one, two + k, one + k])])
    triangles = np.vstack([side, np.asarray(side)[:, ::-1] + k, walls]).astype(np.int64)
    mesh = MeshTri(np.vstack(ends), triangles)
    return mesh if mesh.volume > 0 else MeshTri(mesh.vertices, mesh.triangles[:, ::-1])


def nested_steps() -> list[ObstacleMesh]:
    """The stairs as boxes in each other that push from HELD outside of them on, with edges of radius ROUND."""
    ahead, heights = _places()
    back, inset = -2 * LANDING, ROUND - HELD
    boxes = []
    for end, height in zip(ahead[1:], heights):
        size = end - inset - back, 2 * HALF, height - inset + UNDER + 1.0
        box = box_tets(1, 1, 1, size=size, origin=(back, -HALF, -UNDER - 1.0))
        boxes.append(ObstacleMesh(box.surface, friction=FRICTION, damping=BRAKING, stiffness=PRESSING, margin=ROUND))
    return boxes


def faceted(mesh: MeshTri) -> MeshTri:
    """The same triangles without common vertices, so that each is drawn flat."""
    return MeshTri(mesh.vertices[mesh.triangles].reshape(-1, 3), np.arange(mesh.triangles.size).reshape(-1, 3))


def _lifted(made: Scene, motion: Animation) -> Move:
    """The tip of the trunk, lifted as the elephant is turned in that frame."""
    rest, x = made.mesh.vertices, motion.frame(LIFTED)
    trunk = made.parts["trunk"]
    tip = trunk[[rest[trunk, 0].argmax()]]
    turn, _ = Rotation.align_vectors(x - x.mean(axis=0), rest - rest.mean(axis=0))
    return Move(tip, LIFTED, x[tip] + turn.apply(LIFT))
