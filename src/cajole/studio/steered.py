"""Scenes to steer, as they are opened: a body, the motion that it shall keep to, and what must happen in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import Body
from cajole.direct import Reference
from cajole.direct.keyframing.newton import Iterate
from cajole.direct.steering.motion import of_shot
from cajole.mesh import MeshTri
from cajole.pictures import Prop
from cajole.progress import Progress, report
from cajole.scenes import Scene
from cajole.scenes.shots import dinosaur_step, fish_swim
from cajole.scenes.steering import BeeLanding, Rooted, Strike, bee, bee_landing, rooted, strike
from cajole.scenes.steering.staging import AMBER, BEE_DRAWN, sphere
from cajole.scenes.steering.strike import EARLY, RADIUS
from cajole.scenes.tee import BALL
from cajole.studio.content import Content, SteerPlan
from cajole.studio.flowing import FLOWING

# how far from its place the head may end to be there, in body sizes
HOME = 0.01
# the share of the work that one iteration leaves
NEARER = 0.9
# keys of the fish's stroke that a loop has: the last of the storyboard is the first again
STROKE = 4


def _staged(made: Scene, body: Body, plan: SteerPlan, props: tuple[Prop, ...] = ()) -> Content:
    return Content(made.title, made.mesh, body, None, made.skin, made.parts, props, made.camera, steer=plan)


def _known(reference: Reference) -> Callable[[Progress | None], Reference]:
    return lambda progress: reference


# --- the T that strikes two balls


@dataclass
class StrikeJudge:
    """Whether both ends strike their balls in time, and not before; frame by frame."""

    scene: Strike
    struck: set[int] = field(default_factory=set)
    early: bool = False

    def reset(self) -> None:
        """A new run begins."""
        self.struck.clear()
        self.early = False

    def __call__(self, frame: int, positions: Array) -> bool | None:
        """positions (n, 3) [m] of the body; None while it is open."""
        late = round(EARLY / self.scene.reference.dt)
        for number, ball in enumerate(self.scene.balls):
            touches = np.linalg.norm(positions[ball.ends] - ball.centre, axis=1).min() <= RADIUS
            if touches and frame < ball.frame - late:
                self.early = True
            elif touches and frame <= ball.frame + late:
                self.struck.add(number)
        if self.early:
            return False
        if len(self.struck) == len(self.scene.balls):
            return True
        return False if frame > max(ball.frame for ball in self.scene.balls) + late else None


def _strike(progress: Progress | None) -> Content:
    made = strike(progress=progress)
    judge = StrikeJudge(made)
    plan = SteerPlan(_known(made.reference), made.dials, judge, "both ends strike in time", judge.reset)
    balls = tuple(Prop(f"ball {k + 1}", _ball(ball.centre, RADIUS), BALL) for k, ball in enumerate(made.balls))
    return _staged(made.scene, made.body, plan, balls)


def _ball(centre: Array, radius: float) -> MeshTri:
    points, faces = sphere(radius)
    return MeshTri(points[:-1] + centre, faces)


# --- the bloom that a bee lands on


@dataclass
class BeeJudge:
    """Whether the bloom is under the bee all the time that it sits."""

    scene: BeeLanding
    missed: bool = False

    def reset(self) -> None:
        """A new run begins."""
        self.missed = False

    def __call__(self, frame: int, positions: Array) -> bool | None:
        """positions (n, 3) [m] of the body; None until the bee has sat."""
        first, last = (round(t / bee.DT) for t in bee.SEATED)
        if first <= frame <= last:
            off = float(np.linalg.norm(positions[self.scene.spot] - self.scene.flight[frame]))
            self.missed = self.missed or off > bee.BEE_RADIUS
        if self.missed:
            return False
        return True if frame > last else None


def _bee(progress: Progress | None) -> Content:
    made = bee_landing(progress=progress)
    judge = BeeJudge(made)
    plan = SteerPlan(_known(made.reference), made.dials, judge, "the bee finds the bloom", judge.reset)
    points, faces = sphere(BEE_DRAWN * bee.BEE_RADIUS)
    path = points[None, :-1] + made.flight[:, None]
    flying = Animation(MeshTri(path[0], faces), path, fps=1.0 / bee.DT, name="bee")
    return _staged(made.scene, made.body, plan, (Prop("bee", flying, AMBER),))


# --- the creature whose head must end in its place


@dataclass
class RootedJudge:
    """Whether the head ends where it should."""

    scene: Rooted

    def __call__(self, frame: int, positions: Array) -> bool | None:
        """positions (n, 3) [m] of the body; None before the last frame."""
        reference, body = self.scene.reference, self.scene.body
        if frame < reference.steps:
            return None
        head = self.scene.scene.parts["head"]
        home = body.vertices[head] + reference.model.lift(reference.states[-1])[head]
        off = float(np.linalg.norm(positions[head] - home, axis=1).mean())
        return off <= HOME * body.size


def _rooted(progress: Progress | None) -> Content:
    made = rooted(progress=progress)
    plan = SteerPlan(_known(made.reference), made.dials, RootedJudge(made), "the head ends in its place")
    return _staged(made.scene, made.body, plan)


# --- motions through keys


def _watching(progress: Progress | None) -> Callable[[Iterate], None]:
    """Progress of an optimisation: nobody knows how many iterations it takes, but each brings the end nearer."""

    def watch(iterate: Iterate) -> None:
        report(progress, 1.0 - NEARER**iterate.iteration, f"making the motion, iteration {iterate.iteration}")

    return watch


def _fish(progress: Progress | None) -> Content:
    """The stroke of the fish, without an end."""
    board = fish_swim(progress=progress)
    apart, poses = min(board.keys), list(board.keys.values())[:STROKE]
    keys = {apart * k: pose for k, pose in enumerate(poses)}
    lap = replace(board, keys=keys, frames=apart * STROKE)

    def swim(progress: Progress | None) -> Reference:
        return of_shot(lap.shoot(loop=True, watch=_watching(progress)))

    return _staged(board.scene, board.body, SteerPlan(swim))


def _dinosaur(progress: Progress | None) -> Content:
    board = dinosaur_step(progress=progress)

    def step(progress: Progress | None) -> Reference:
        return of_shot(board.shoot(watch=_watching(progress)))

    return _staged(board.scene, board.body, SteerPlan(step))


# name -> what opens it
STEERED: Mapping[str, Callable[[Progress | None], Content]] = {
    "strike": _strike,
    "bee": _bee,
    "fish": _fish,
    "dinosaur": _dinosaur,
    "rooted": _rooted,
    **FLOWING,
}
