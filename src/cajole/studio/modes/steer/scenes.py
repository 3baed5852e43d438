"""Scenes of Steer: motions of bodies with an outcome to reach, and flows with particles drawn as balls."""

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
from cajole.scenes.keyframe_scenes import KeyframeScene, build_dinosaur_step_scene, build_fish_swim_scene
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

# Steps of a flow per second of the clock: slow enough to follow a kick and its effect.
STEPS_PER_SECOND = 20.0

# --- flows


def embed_in_3d(points: Array) -> Array:
    """Points (..., 2) [m] of a flow as points (..., 3) of the views; its y is up."""
    x, y = np.moveaxis(points, -1, 0)
    return np.stack([x, np.zeros_like(x), y], axis=-1)


@cache
def _build_ball(radius: float) -> tuple[Array, IndexArray]:
    """Points (b, 3) [m] around the origin, and triangles."""
    points, faces = build_sphere(radius)
    return points[:-1], faces


def build_ball_vertices(points: Array, radius: float) -> Array:
    """Vertices (..., N b, 3) [m] of balls around points (..., N, 2) [m]."""
    vertices = embed_in_3d(points)[..., None, :] + _build_ball(radius)[0]
    return vertices.reshape(*points.shape[:-2], -1, 3)


def compute_ball_radius(shot: FlowShot) -> float:
    """Radius of the balls that show particles [m]."""
    return 0.024 * max(shot.model.flow.size)


def build_swirl_content(scene: SwirlScene) -> ProjectContent:
    gusts = tuple((particle, gust.acceleration) for (_, particle, _), gust in zip(KICKS, scene.build_kicks()))
    content = _build_flow_content("Smoke after a blow", scene, np.zeros((0, 2)), "")
    assert content.flow_setup is not None
    return replace(content, flow_setup=replace(content.flow_setup, preset_gusts=gusts))


def build_leaves_content(scene: LeavesScene) -> ProjectContent:
    content = _build_flow_content("Leaves on the wind", scene, scene.passive_particles, "leaf")
    assert content.flow_setup is not None
    return replace(content, flow_setup=replace(content.flow_setup, initial_wind=NOISE_STRENGTH))


def _build_flow_content(
    title: str, scene: SwirlScene | LeavesScene, passive_particles: Array, passive_name: str
) -> ProjectContent:
    """passive_particles: (k, 2) [m] at the start, which the undisturbed flow carries."""
    shot, passive_paths = scene.shot, [passive_particles]
    for before, after in pairwise(shot.states):
        midpoint = 0.5 * (before + after)
        passive_paths.append(shot.model.advect_points(passive_paths[-1], before, midpoint, shot.dt))
    paths = np.concatenate([shot.particles, np.array(passive_paths)], axis=1)
    steered, count, radius = shot.particles.shape[1], paths.shape[1], compute_ball_radius(shot)
    ball, faces = _build_ball(radius)
    triangles = np.concatenate([faces + len(ball) * k for k in range(count)])
    mesh, owners = MeshTri(build_ball_vertices(paths[0], radius), triangles), np.repeat(np.arange(count), len(ball))
    skin = Skin(mesh, np.where((owners < steered)[:, None], (0.80, 0.20, 0.13), (0.40, 0.58, 0.26)))
    motion = Animation(mesh, build_ball_vertices(paths, radius), fps=STEPS_PER_SECOND, skin=skin, name=title)
    names = [
        *(f"particle {k + 1}" for k in range(steered)),
        *(f"{passive_name} {k + 1}" for k in range(count - steered)),
    ]
    parts = {name: np.array([k]) for k, name in enumerate(names)}
    setup = FlowSteerSetup(shot, scene.steer_options, paths, owners, scene.build_smoke(), scene.build_noise)
    # from the front, a little from above
    camera = {"azimuth": -90.0, "elevation": 5.0, "floor_height": 0.0}
    return ProjectContent(title, mesh, None, motion, skin, parts, camera=camera, flow_setup=setup)


# --- bodies


def _build_steer_content(scene: Scene, body: Body, setup: SteerSetup, props: tuple[Prop, ...] = ()) -> ProjectContent:
    return ProjectContent(
        scene.title, scene.mesh, body, None, scene.skin, scene.parts, props, scene.camera, steer_setup=setup
    )


@dataclass
class StrikeOutcomeEvaluator:
    """Evaluates frame by frame if both ends strike their balls in time, and not before."""

    scene: StrikeScene
    struck_balls: set[int] = field(default_factory=set)
    is_early: bool = False

    def reset(self) -> None:
        self.struck_balls.clear()
        self.is_early = False

    def __call__(self, frame: int, positions: Array) -> bool | None:
        """positions (n, 3) [m] of the body; None while the outcome is open."""
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
    scene = build_strike_scene(progress=progress)
    evaluator = StrikeOutcomeEvaluator(scene)
    setup = SteerSetup(
        lambda _: scene.reference, scene.steer_options, evaluator, "both ends strike in time", evaluator.reset
    )
    points, faces = build_sphere(BALL_RADIUS)
    balls = tuple(
        Prop(f"ball {k + 1}", MeshTri(points[:-1] + ball.centre, faces), BALL_COLOR)
        for k, ball in enumerate(scene.balls)
    )
    return _build_steer_content(scene.scene, scene.body, setup, balls)


@dataclass
class BeeLandingOutcomeEvaluator:
    """Evaluates if the bloom stays under the bee for as long as it sits."""

    scene: BeeLandingScene
    is_missed: bool = False

    def reset(self) -> None:
        self.is_missed = False

    def __call__(self, frame: int, positions: Array) -> bool | None:
        """positions (n, 3) [m] of the body; None until the bee has flown off."""
        first, last = (round(t / bee.DT) for t in bee.LANDING_SPAN)
        if first <= frame <= last:
            distance = float(np.linalg.norm(positions[self.scene.landing_vertex] - self.scene.bee_path[frame]))
            self.is_missed = self.is_missed or distance > bee.BEE_RADIUS
        if self.is_missed:
            return False
        return True if frame > last else None


def _open_bee(progress: ProgressCallback | None) -> ProjectContent:
    scene = build_bee_landing_scene(progress=progress)
    evaluator = BeeLandingOutcomeEvaluator(scene)
    setup = SteerSetup(
        lambda _: scene.reference, scene.steer_options, evaluator, "the bee finds the bloom", evaluator.reset
    )
    points, faces = build_sphere(BEE_DRAW_SCALE * bee.BEE_RADIUS)
    path = points[None, :-1] + scene.bee_path[:, None]
    flight = Animation(MeshTri(path[0], faces), path, fps=1.0 / bee.DT, name="bee")
    return _build_steer_content(scene.scene, scene.body, setup, (Prop("bee", flight, BEE_COLOR),))


@dataclass
class HeadPlacementOutcomeEvaluator:
    """Evaluates if the head ends within a hundredth of the body's size of its place."""

    scene: RootedDinosaurScene

    def __call__(self, frame: int, positions: Array) -> bool | None:
        """positions (n, 3) [m] of the body; None before the last frame."""
        reference, body = self.scene.reference, self.scene.body
        if frame < reference.step_count:
            return None
        head = self.scene.scene.parts["head"]
        target = body.vertices[head] + reference.model.lift(reference.states[-1])[head]
        return float(np.linalg.norm(positions[head] - target, axis=1).mean()) <= 0.01 * body.size


def _open_rooted_dinosaur(progress: ProgressCallback | None) -> ProjectContent:
    scene = build_rooted_scene(progress=progress)
    evaluator = HeadPlacementOutcomeEvaluator(scene)
    setup = SteerSetup(lambda _: scene.reference, scene.steer_options, evaluator, "the head ends in its place")
    return _build_steer_content(scene.scene, scene.body, setup)


def _build_keyframe_content(keyframes: KeyframeScene, *, loop: bool) -> ProjectContent:
    """A scene whose motion through keys is found when it is opened."""

    def build_reference(progress: ProgressCallback | None) -> Reference:
        def report_iteration(iterate: Iterate) -> None:
            # the number of iterations is not known; each leaves nine tenths of the remaining progress bar
            fraction, text = 1.0 - 0.9**iterate.iteration, f"making the motion, iteration {iterate.iteration}"
            report_progress(progress, fraction, text)

        return build_shot_reference(keyframes.solve(loop=loop, watch=report_iteration))

    return _build_steer_content(keyframes.scene, keyframes.body, SteerSetup(build_reference))


def _open_fish(progress: ProgressCallback | None) -> ProjectContent:
    """A loop of the fish's stroke: four keys, because the last of the storyboard is the first again."""
    keyframes = build_fish_swim_scene(progress=progress)
    spacing, poses = min(keyframes.keys), list(keyframes.keys.values())[:4]
    keys = {spacing * k: pose for k, pose in enumerate(poses)}
    return _build_keyframe_content(replace(keyframes, keys=keys, frames=spacing * len(poses)), loop=True)


STEER_SCENES: Mapping[str, Callable[[ProgressCallback | None], ProjectContent]] = {
    "strike": _open_strike,
    "bee": _open_bee,
    "fish": _open_fish,
    "dinosaur": lambda progress: _build_keyframe_content(build_dinosaur_step_scene(progress=progress), loop=False),
    "rooted": _open_rooted_dinosaur,
    "swirl": lambda progress: build_swirl_content(build_swirl_scene(progress=progress)),
    "leaves": lambda progress: build_leaves_content(build_leaves_scene(progress=progress)),
}
