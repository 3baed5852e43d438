"""Flows to steer, as they are opened: particles as balls before a box that stands upright, with smoke in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array, IndexArray
from cajole.body import Body
from cajole.direct import Reference
from cajole.direct.keyframing.newton import Iterate
from cajole.direct.steering.reference import build_shot_reference
from cajole.mesh import MeshTri, Skin
from cajole.pictures import Prop
from cajole.progress import ProgressCallback, report_progress
from cajole.reduction import FlowShot
from cajole.scenes import Scene
from cajole.scenes.flow_scenes import LeavesScene, SwirlScene, build_leaves_scene, build_swirl_scene
from cajole.scenes.flow_scenes.flow_scene import NOISE_STRENGTH
from cajole.scenes.flow_scenes.swirl import KICKS
from cajole.scenes.keyframe_scenes import build_dinosaur_step_scene, build_fish_swim_scene
from cajole.scenes.steer_scenes import (
    BeeLandingScene,
    RootedDinosaurScene,
    StrikeScene,
    bee,
    build_bee_landing_scene,
    build_rooted_scene,
    build_strike_scene,
)
from cajole.scenes.steer_scenes.composite import BEE_COLOR, BEE_DRAW_SCALE, build_sphere
from cajole.scenes.steer_scenes.strike import BALL_RADIUS, STRIKE_TOLERANCE
from cajole.scenes.tee import BALL_COLOR
from cajole.studio.content import FlowSteerSetup, ProjectContent, SteerSetup

# Steps of a flow in a second of the clock: slow enough to see a kick and what becomes of it.
STEPS_PER_SECOND = 20.0
# Of a ball, as a share of the box.
PARTICLE_RADIUS_FRACTION = 0.024
STEERED_COLOR, PASSIVE_PARTICLE_COLOR = (0.80, 0.20, 0.13), (0.40, 0.58, 0.26)
# from the front, a little from above
FLOW_CAMERA = {"azimuth": -90.0, "elevation": 5.0, "floor_height": 0.0}


def embed_in_3d(points: Array) -> Array:
    """Points (..., 2) [m] of a flow in the room (..., 3): its y is up."""
    x, y = np.moveaxis(points, -1, 0)
    return np.stack([x, np.zeros_like(x), y], axis=-1)


@cache
def _build_ball(radius: float) -> tuple[Array, IndexArray]:
    """Points (b, 3) [m] around the origin, and triangles."""
    points, faces = build_sphere(radius)
    return points[:-1], faces


def build_ball_vertices(points: Array, radius: float) -> Array:
    """Vertices (..., N b, 3) [m] of balls around points (..., N, 2) [m]."""
    around = embed_in_3d(points)[..., None, :] + _build_ball(radius)[0]
    return around.reshape(*points.shape[:-2], -1, 3)


def compute_ball_radius(shot: FlowShot) -> float:
    """[m] as particles of a shot are drawn."""
    return PARTICLE_RADIUS_FRACTION * max(shot.model.flow.size)


def build_swirl_content(scene: SwirlScene) -> ProjectContent:
    """The swirl, opened."""
    kicks = tuple((particle, gust.acceleration) for (_, particle, _), gust in zip(KICKS, scene.build_kicks()))
    plan, mesh = _build_setup(scene, np.zeros((0, 2)))
    return _build_flow_content("Smoke after a blow", replace(plan, preset_gusts=kicks), mesh, "")


def build_leaves_content(scene: LeavesScene) -> ProjectContent:
    """The leaves, opened."""
    plan, mesh = _build_setup(scene, scene.passive_particles)
    return _build_flow_content("Leaves on the wind", replace(plan, initial_wind=NOISE_STRENGTH), mesh, "leaf")


def _build_setup(scene: SwirlScene | LeavesScene, passive_particles: Array) -> tuple[FlowSteerSetup, MeshTri]:
    """What there is to steer and to see, and the balls of the first frame."""
    shot = scene.shot
    paths = np.concatenate([shot.particles, _advect_passive_particles(shot, passive_particles)], axis=1)
    mesh, owners = _build_ball_mesh(paths[0], compute_ball_radius(shot))
    return FlowSteerSetup(shot, scene.steer_options, paths, owners, scene.build_smoke(), scene.build_noise), mesh


def _build_flow_content(title: str, setup: FlowSteerSetup, mesh: MeshTri, passive_name: str) -> ProjectContent:
    """others: what those are called that nobody steers."""
    steered, count = setup.shot.particles.shape[1], setup.paths.shape[1]
    skin = Skin(mesh, np.where((setup.vertex_particles < steered)[:, None], STEERED_COLOR, PASSIVE_PARTICLE_COLOR))
    motion = Animation(
        mesh,
        build_ball_vertices(setup.paths, compute_ball_radius(setup.shot)),
        fps=STEPS_PER_SECOND,
        skin=skin,
        name=title,
    )
    names = [
        *(f"particle {k + 1}" for k in range(steered)),
        *(f"{passive_name} {k + 1}" for k in range(count - steered)),
    ]
    parts = {name: np.array([k]) for k, name in enumerate(names)}
    return ProjectContent(title, mesh, None, motion, skin, parts, camera=FLOW_CAMERA, flow_setup=setup)


def _advect_passive_particles(shot: FlowShot, passive_particles: Array) -> Array:
    """The paths (frames, k, 2) [m] of particles that the undisturbed flow takes along."""
    path = [passive_particles]
    for before, after in pairwise(shot.states):
        path.append(shot.model.advect_points(path[-1], before, 0.5 * (before + after), shot.dt))
    return np.array(path)


def _build_ball_mesh(points: Array, radius: float) -> tuple[MeshTri, IndexArray]:
    """Balls around points (N, 2) [m], and the ball of each vertex."""
    shape, faces = _build_ball(radius)
    size = len(shape)
    triangles = np.concatenate([faces + size * k for k in range(len(points))])
    return MeshTri(build_ball_vertices(points, radius), triangles), np.repeat(np.arange(len(points)), size)


# name -> what opens it
FLOW_SCENES: Mapping[str, Callable[[ProgressCallback | None], ProjectContent]] = {
    "swirl": lambda progress: build_swirl_content(build_swirl_scene(progress=progress)),
    "leaves": lambda progress: build_leaves_content(build_leaves_scene(progress=progress)),
}


# how far from its place the head may end to be there, in body sizes
HEAD_TOLERANCE = 0.01
# the share of the work that one iteration leaves
PROGRESS_DECAY = 0.9
# keys of the fish's stroke that a loop has: the last of the storyboard is the first again
STROKE_KEYS = 4


def _build_steer_content(scene: Scene, body: Body, setup: SteerSetup, props: tuple[Prop, ...] = ()) -> ProjectContent:
    return ProjectContent(
        scene.title, scene.mesh, body, None, scene.skin, scene.parts, props, scene.camera, steer_setup=setup
    )


def _return_reference(reference: Reference) -> Callable[[ProgressCallback | None], Reference]:
    return lambda progress: reference


# --- the T that strikes two balls


@dataclass
class StrikeOutcomeEvaluator:
    """Whether both ends strike their balls in time, and not before; frame by frame."""

    scene: StrikeScene
    struck_balls: set[int] = field(default_factory=set)
    is_early: bool = False

    def reset(self) -> None:
        """A new run begins."""
        self.struck_balls.clear()
        self.is_early = False

    def __call__(self, frame: int, positions: Array) -> bool | None:
        """positions (n, 3) [m] of the body; None while it is open."""
        late = round(STRIKE_TOLERANCE / self.scene.reference.dt)
        for number, ball in enumerate(self.scene.balls):
            touches = np.linalg.norm(positions[ball.striking_vertices] - ball.centre, axis=1).min() <= BALL_RADIUS
            if touches and frame < ball.strike_frame - late:
                self.is_early = True
            elif touches and frame <= ball.strike_frame + late:
                self.struck_balls.add(number)
        if self.is_early:
            return False
        if len(self.struck_balls) == len(self.scene.balls):
            return True
        return False if frame > max(ball.strike_frame for ball in self.scene.balls) + late else None


def _open_strike(progress: ProgressCallback | None) -> ProjectContent:
    made = build_strike_scene(progress=progress)
    judge = StrikeOutcomeEvaluator(made)
    plan = SteerSetup(
        _return_reference(made.reference), made.steer_options, judge, "both ends strike in time", judge.reset
    )
    balls = tuple(
        Prop(f"ball {k + 1}", _build_ball_prop(ball.centre, BALL_RADIUS), BALL_COLOR)
        for k, ball in enumerate(made.balls)
    )
    return _build_steer_content(made.scene, made.body, plan, balls)


def _build_ball_prop(centre: Array, radius: float) -> MeshTri:
    points, faces = build_sphere(radius)
    return MeshTri(points[:-1] + centre, faces)


# --- the bloom that a bee lands on


@dataclass
class BeeLandingOutcomeEvaluator:
    """Whether the bloom is under the bee all the time that it sits."""

    scene: BeeLandingScene
    is_missed: bool = False

    def reset(self) -> None:
        """A new run begins."""
        self.is_missed = False

    def __call__(self, frame: int, positions: Array) -> bool | None:
        """positions (n, 3) [m] of the body; None until the bee has sat."""
        first, last = (round(t / bee.DT) for t in bee.LANDING_SPAN)
        if first <= frame <= last:
            off = float(np.linalg.norm(positions[self.scene.landing_vertex] - self.scene.bee_path[frame]))
            self.is_missed = self.is_missed or off > bee.BEE_RADIUS
        if self.is_missed:
            return False
        return True if frame > last else None


def _open_bee(progress: ProgressCallback | None) -> ProjectContent:
    made = build_bee_landing_scene(progress=progress)
    judge = BeeLandingOutcomeEvaluator(made)
    plan = SteerSetup(
        _return_reference(made.reference), made.steer_options, judge, "the bee finds the bloom", judge.reset
    )
    points, faces = build_sphere(BEE_DRAW_SCALE * bee.BEE_RADIUS)
    path = points[None, :-1] + made.bee_path[:, None]
    flying = Animation(MeshTri(path[0], faces), path, fps=1.0 / bee.DT, name="bee")
    return _build_steer_content(made.scene, made.body, plan, (Prop("bee", flying, BEE_COLOR),))


# --- the creature whose head must end in its place


@dataclass
class HeadPlacementOutcomeEvaluator:
    """Whether the head ends where it should."""

    scene: RootedDinosaurScene

    def __call__(self, frame: int, positions: Array) -> bool | None:
        """positions (n, 3) [m] of the body; None before the last frame."""
        reference, body = self.scene.reference, self.scene.body
        if frame < reference.step_count:
            return None
        head = self.scene.scene.parts["head"]
        home = body.vertices[head] + reference.model.lift(reference.states[-1])[head]
        off = float(np.linalg.norm(positions[head] - home, axis=1).mean())
        return off <= HEAD_TOLERANCE * body.size


def _open_rooted_dinosaur(progress: ProgressCallback | None) -> ProjectContent:
    made = build_rooted_scene(progress=progress)
    plan = SteerSetup(
        _return_reference(made.reference),
        made.steer_options,
        HeadPlacementOutcomeEvaluator(made),
        "the head ends in its place",
    )
    return _build_steer_content(made.scene, made.body, plan)


# --- motions through keys


def _make_iteration_callback(progress: ProgressCallback | None) -> Callable[[Iterate], None]:
    """Progress of an optimisation: nobody knows how many iterations it takes, but each brings the end nearer."""

    def watch(iterate: Iterate) -> None:
        report_progress(
            progress, 1.0 - PROGRESS_DECAY**iterate.iteration, f"making the motion, iteration {iterate.iteration}"
        )

    return watch


def _open_fish(progress: ProgressCallback | None) -> ProjectContent:
    """The stroke of the fish, without an end."""
    board = build_fish_swim_scene(progress=progress)
    apart, poses = min(board.keys), list(board.keys.values())[:STROKE_KEYS]
    keys = {apart * k: pose for k, pose in enumerate(poses)}
    lap = replace(board, keys=keys, frames=apart * STROKE_KEYS)

    def build_swim_reference(progress: ProgressCallback | None) -> Reference:
        return build_shot_reference(lap.solve(loop=True, watch=_make_iteration_callback(progress)))

    return _build_steer_content(board.scene, board.body, SteerSetup(build_swim_reference))


def _open_dinosaur(progress: ProgressCallback | None) -> ProjectContent:
    board = build_dinosaur_step_scene(progress=progress)

    def build_step_reference(progress: ProgressCallback | None) -> Reference:
        return build_shot_reference(board.solve(watch=_make_iteration_callback(progress)))

    return _build_steer_content(board.scene, board.body, SteerSetup(build_step_reference))


# name -> what opens it
STEER_SCENES: Mapping[str, Callable[[ProgressCallback | None], ProjectContent]] = {
    "strike": _open_strike,
    "bee": _open_bee,
    "fish": _open_fish,
    "dinosaur": _open_dinosaur,
    "rooted": _open_rooted_dinosaur,
    **FLOW_SCENES,
}
