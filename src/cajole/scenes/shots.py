"""Storyboards: built-in scenes with keys to shoot, of the sizes of Table 1, Barbič 2009.

Keys are resting shapes under pins or spread loads, as an artist would make them with `pose`, or fitted to a skin that
was deformed by bones; they are found once and then read from the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from cajole.arrays import Array, IndexArray
from cajole.body import BodySolid, MaterialStVK, columns_of
from cajole.checks import count, one_of, positive
from cajole.direct import Shot, fit_poses, keyframe
from cajole.direct.keyframing.sequence import Segment, ShotSequence, keyframe_sequence
from cajole.dynamics import pose
from cajole.progress import Progress, report
from cajole.reduction.bases import enriched, key_tangents, mode_shapes, orthonormal
from cajole.scenes.assembly import Scene, scene
from cajole.scenes.elephant import Gesture, gestured
from cajole.storage import cached, content_hash

KIND = "keys"
# Raised when keys are found in another way, so that older ones are not read back.
VERSION = 3
# A foot by name: the sides of x and y on which it stands.
FEET = {"front left": (1, 1), "front right": (1, -1), "hind left": (-1, 1), "hind right": (-1, -1)}


@dataclass(frozen=True, eq=False)
class Storyboard:
    """A scene, its body and what shall happen to it.

    keys: {frame: displacement (n, 3) [m]}; frames: of the shot, the start included; modes: how many enrich its basis;
    dt [s], the natural one when None; tangents: how many directions of theirs the basis has, all when None.
    """

    scene: Scene
    body: BodySolid
    keys: Mapping[int, Array]
    frames: int
    modes: int
    dt: float | None = None
    tangents: int | None = None

    def shoot(self, **options: Any) -> Shot:
        """`keyframe` with these keys; options override frames, modes and dt, or add to them."""
        own: dict[str, Any] = {"frames": self.frames, "modes": self.modes, "dt": self.dt}
        if self.tangents is not None and not options.keys() & {"basis", "modes", "tangents"}:
            own["basis"] = self.basis(self.tangents)
        return keyframe(self.body, self.keys, **{**own, **options})

    def basis(self, tangents: int) -> Array:
        """Keys, the most significant directions of their tangents and modes beside them (3n, r); kept in the cache."""
        poses = np.stack([np.zeros_like(self.body.vertices), *self.keys.values()])
        key = content_hash(VERSION, "basis", self.body.content(), poses, np.array([tangents, self.modes]))
        return _kept(key, lambda _: _compressed(self.body, poses, tangents, self.modes), 1, None)[0]


def _compressed(body: BodySolid, poses: Array, tangents: int, modes: int) -> Array:
    ahead, turns = key_tangents(body, poses), body.rigid_motions()
    # nothing stops a free body from turning: its tangents do little else, and turning is no shape
    ahead -= turns @ (turns.T @ (body.mass @ ahead))
    basis = enriched(body, orthonormal(body, columns_of(poses), drop=True), ahead, size=tangents)
    return enriched(body, basis, mode_shapes(body, modes), size=modes)


def flower_eight(*, pull: float = 1.0, tets: int | None = None, progress: Progress | None = None) -> Storyboard:
    """The main bloom draws an eight as seen from above while the second goes round twice: 301 frames, 8 keys.

    pull: how many times as hard as usual; at 5 a bloom goes half the flower's height aside, and gaps are wide.
    """
    made = scene("flower", tets=tets, progress=progress)
    body = made.body()
    phase = 2 * np.pi * np.arange(1, 9) / 8
    blow = positive(pull, "pull") * np.array(BLOW)
    main = np.stack([blow[0] * np.sin(phase), blow[1] * np.sin(2 * phase)], axis=1)
    second = blow[2] * np.stack([np.cos(2 * phase) - 1, np.sin(2 * phase)], axis=1)
    # rounded, so that the fourth and the last key are the rest shape exactly: noise would count as a direction
    loads = [_blown(body, made, "bloom", a) + _blown(body, made, "second bloom", b) for a, b in zip(main, second)]
    keys = _spaced(_loaded(body, np.round(loads, 9), progress), 300)
    return Storyboard(made, body, keys, frames=301, modes=8)


# how hard the main bloom is pulled along x and y, and the second round its circle [weights]
BLOW = (1.2, 0.5, 0.35)


def _blown(body: BodySolid, made: Scene, bloom: str, sideways: Array) -> Array:
    """A horizontal force (2,) [weights] spread over all of a bloom, (n, 3) [N]."""
    parts = np.concatenate([made.parts[bloom], made.parts[f"{bloom} disc"], made.parts[f"{bloom} calyx"]])
    return body.spread(parts, (*sideways, 0.0))


def fish_swim(*, tets: int | None = None, progress: Progress | None = None) -> Storyboard:
    """A wave runs down a fish that nothing holds: 211 frames, 5 keys a quarter of a stroke apart."""
    made = scene("fish", tets=tets, progress=progress)
    body = made.body()
    s = made.mesh.vertices[:, 0] / body.size
    arch, ess = _balanced(body, s**2), _balanced(body, s**3 + 0.15 * s**2)
    phase = np.pi / 2 * np.arange(5)
    loads = np.array([BEND[0] * np.cos(p) * arch + BEND[1] * np.sin(p) * ess for p in phase])
    return Storyboard(made, body, _spaced(_loaded(body, loads, progress), 210), frames=211, modes=12)


# how hard the fish is bent into an arch and into an S [weights]
BEND = (0.6, 0.42)


def _balanced(body: BodySolid, profile: Array) -> Array:
    """Sideways loads (n, 3) [N], one body weight in sum, that neither push nor turn the body."""
    load = np.zeros((body.count, 3))
    load[:, 1] = body.vertex_masses * profile
    rigid = body.rigid_motions()
    load -= (body.mass @ (rigid @ (rigid.T @ load.ravel()))).reshape(-1, 3)
    return load * (body.weight / np.abs(load).sum())


def dinosaur_step(
    foot: str = "front left", *, stride: float = 0.40, lift: float = 0.28, tets: int | None = None,
    progress: Progress | None = None,
) -> Storyboard:  # fmt: skip
    """One foot is lifted and set down a stride ahead while the others stand: 121 frames, 2 keys.

    foot: "front left", "front right", "hind left" or "hind right"; stride, lift [m].
    """
    made = scene("dinosaur", tets=tets, progress=progress)
    swing = soles(made)[one_of(foot, "foot", tuple(FEET))]
    stepping = replace(_slowed(made), fixed=np.setdiff1d(made.fixed, swing))
    pins = [
        _stepped(made, swing, (0.55 * stride, 0.0, lift), 25.0),
        _stepped(made, swing, (stride, 0.0, 0.0), 0.0),
    ]
    body = stepping.body()
    return Storyboard(stepping, body, _spaced(_pinned(body, pins, progress), 120), frames=121, modes=18, dt=STEP / 120)


# The stepping animal is this much slower than the scene: softer, so that a step needs less than its weight.
SLOWER = 4
# A step [s]: half a swing of the leg. The natural timestep follows the whole animal, under which the leg swings back.
STEP = 0.72


def _slowed(made: Scene) -> Scene:
    alpha, beta = made.damping
    return replace(made, young=made.young / SLOWER**2, damping=(alpha / SLOWER, beta * SLOWER))


@dataclass(frozen=True, eq=False)
class Walk:
    """A scene and the steps that it takes, each holding the feet that stand; modes, dt [s]: as of a Storyboard."""

    scene: Scene
    steps: tuple[Segment, ...]
    modes: int
    dt: float

    def shoot(self, **options: Any) -> ShotSequence:
        """`keyframe_sequence` of these steps; options override effort, modes and dt, or add to them."""
        made = self.scene
        own = {"damping": made.damping, "effort": WALK_EFFORT, "modes": self.modes, "dt": self.dt}
        material = MaterialStVK(made.young, made.poisson, made.density)
        return keyframe_sequence(made.mesh, material, self.steps, **{**own, **options})


def walk(
    steps: int = 5, *, frames: int = 121, stride: float = 0.5, lift: float = 0.22, tets: int | None = None,
    progress: Progress | None = None,
) -> Walk:  # fmt: skip
    """The dinosaur walks, one foot at a time as a quadruped does: every step has a key with the foot up and one landed.

    frames: of each step, the hand-over included; stride, lift [m]: of a foot; the first two go half a stride.
    """
    last = count(frames, "frames", least=5) - 1
    made = _slowed(scene("dinosaur", tets=tets, progress=progress))
    feet, order = soles(made), [GAIT[i % len(GAIT)] for i in range(count(steps, "steps"))]
    pins = _walking(made, feet, order, positive(stride, "stride (m)"), positive(lift, "lift (m)"))
    pushes = np.array([(PUSH[foot.split()[0]] * up, 0.0, 0.0) for foot in order for up in (1, 0)])
    poses = _pinned(replace(made, fixed=made.fixed[:0]).body(), pins, progress, pushes)
    segments = tuple(
        Segment({round(RAISED * last): up, last: down}, last + 1, np.setdiff1d(made.fixed, feet[foot]))
        for foot, up, down in zip(order, poses[::2], poses[1::2])
    )
    return Walk(made, segments, modes=10, dt=WALK_STEP / last)


# the order in which a walking quadruped lifts its feet
GAIT = ("front left", "hind right", "front right", "hind left")
# How hard the whole animal is pushed ahead while a foot is up [m/s²]: lifting a front leg tips it back.
PUSH = {"front": 0.6, "hind": 0.2}
# A step of a walk [s], and how far up a foot's toes point [degrees].
WALK_STEP, TOES = 0.8, 12.0
# When in its step a foot is up: before half of it, since a foot set free swings back first, and then sinks less.
RAISED = 0.4
# Tighter than usual: a foot that lands off its place stands there for the next steps.
WALK_EFFORT = 1e-5


def _walking(
    made: Scene, feet: Mapping[str, IndexArray], order: Sequence[str], stride: float, lift: float
) -> list[dict[int, Array]]:
    """Pins of all soles for every key: of each step first the foot up, halfway to where it lands, then landed."""
    at = dict.fromkeys(FEET, 0.0)
    pins = []
    for number, foot in enumerate(order):
        ahead = at[foot] + (stride if number >= 2 else stride / 2)
        for x, z, pitch in (((at[foot] + ahead) / 2, lift, TOES), (ahead, 0.0, 0.0)):
            places = {name: (x, z, pitch) if name == foot else (at[name], 0.0, 0.0) for name in FEET}
            each = [_stepped(made, feet[name], (x, 0.0, z), pitch) for name, (x, z, pitch) in places.items()]
            pins.append({vertex: shift for foot_pins in each for vertex, shift in foot_pins.items()})
        at[foot] = ahead
    return pins


def elephant_skins(*, tets: int | None = None, progress: Progress | None = None) -> Storyboard:
    """An elephant that nothing holds greets and comes to rest: 241 frames, 8 keys fitted to a skin with bones."""
    made = _slowed(scene("elephant", tets=tets, progress=progress))
    body = made.body()
    poses = _fitted(body, made, GREETING, progress)
    keys = _spaced(np.array([*poses, np.zeros_like(poses[0])]), 240)
    return Storyboard(made, body, keys, frames=241, modes=5, dt=GREETED / 240, tangents=4)


# reach out, lift the trunk, offer it to the left with a foot and lower both, look for more on the right, thank, bow
GREETING = (
    Gesture(curl=45, nod=-6, flap=20, wag=15),
    Gesture(curl=110, nod=-14, flap=30, step=8, wag=-15),
    Gesture(curl=80, swing=35, nod=-8, turn=6, step=32, wag=15),
    Gesture(curl=20, swing=30, nod=4, turn=8, flap=10, step=12, wag=-10),
    Gesture(curl=15, swing=-45, nod=8, turn=-10, flap=25, wag=-15),
    Gesture(curl=60, swing=-25, nod=-4, turn=-6, flap=5, wag=15),
    Gesture(curl=30, swing=10, nod=-8, flap=28, wag=-10),
)
# All of a greeting [s]. The natural pace follows the turning in the tangents, and is four times as long.
GREETED = 4.8


def _fitted(body: BodySolid, made: Scene, gestures: Sequence[Gesture], progress: Progress | None) -> Array:
    """Poses (k, n, 3) that follow the scene's skin through gestures."""
    skins = np.array([gestured(made.skin, each) for each in gestures])
    # all at once when the first is asked for: a sequence shares one factorisation
    fits = cache(lambda: fit_poses(body, made.skin, skins, progress=progress))
    key = content_hash(VERSION, body.content(), skins)
    return _kept(key, lambda k: fits()[k].displacement, len(skins), None)


def soles(dinosaur: Scene) -> dict[str, IndexArray]:
    """The vertices with which each foot stands on the floor, by name."""
    x = dinosaur.mesh.vertices[dinosaur.fixed]
    side = np.sign(x[:, :2])
    return {name: dinosaur.fixed[(side == where).all(axis=1)] for name, where in FEET.items()}


def _stepped(made: Scene, grip: IndexArray, shift: Sequence[float], pitch: float) -> dict[int, Array]:
    """Pins that carry a sole by `shift` [m] and tip it by `pitch` [degrees], toes up."""
    x = made.mesh.vertices[grip]
    centre = x.mean(axis=0)
    turned = Rotation.from_euler("y", -pitch, degrees=True).apply(x - centre)
    return dict(zip(grip.tolist(), turned + centre + np.asarray(shift) - x))


def _spaced(poses: Array, last: int) -> dict[int, Array]:
    """Poses at equal distances of time up to frame `last`."""
    return {round(last * (k + 1) / len(poses)): u for k, u in enumerate(poses)}


def _pinned(
    body: BodySolid, pins: list[dict[int, Array]], progress: Progress | None, pushes: Array | None = None
) -> Array:
    """Resting shapes (k, n, 3) under each set of pins, all of the same vertices, and pushes (k, 3) [m/s²]."""
    targets = np.array([list(each.values()) for each in pins])
    pushes = np.zeros((len(pins), 3)) if pushes is None else pushes
    key = content_hash(VERSION, body.content(), np.array(list(pins[0])), targets, pushes)
    return _kept(key, lambda k: pose(body, pins=pins[k], gravity=pushes[k]), len(pins), progress)


def _loaded(body: BodySolid, loads: Array, progress: Progress | None) -> Array:
    """Resting shapes (k, n, 3) under loads (k, n, 3)."""
    return _kept(content_hash(VERSION, body.content(), loads), lambda k: pose(body, loads[k]), len(loads), progress)


def _kept(key: str, make: Callable[[int], Array], count: int, progress: Progress | None) -> Array:
    """make(0..count - 1) stacked, from the cache when it is there."""

    def posed() -> Iterator[Array]:
        for k in range(count):
            report(progress, k / count, f"posing key {k + 1} of {count}")
            yield make(k)

    return cached(KIND, key, lambda: {"poses": np.array(list(posed()))})["poses"]
