"""Built-in scenes for `keyframe` at the sizes of Table 1, Barbič 2009.

Keys are static equilibria under pins or distributed loads, as an artist would make them with `pose`, or are fitted to a
skinned surface; they are computed once and read from the cache afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from cajole.arrays import Array, IndexArray
from cajole.body import BodySolid, MaterialStVK, flatten_to_columns
from cajole.body.rayleigh import stretch_rayleigh_damping
from cajole.checks import require_choice, require_integer, require_positive
from cajole.direct import Shot, fit_poses, keyframe
from cajole.direct.keyframing.sequence import Segment, ShotSequence, keyframe_sequence
from cajole.dynamics import pose
from cajole.progress import ProgressCallback, report_progress
from cajole.reduction.bases import compute_key_tangents, compute_mode_shapes, extend_basis, orthonormalise
from cajole.scenes.builtin import Scene, scene
from cajole.scenes.elephant import ElephantPose, pose_elephant_skin
from cajole.storage import hash_content, load_or_compute

# Raised when keys are found in another way, so that older ones are not read back.
CACHE_VERSION = 3
# A foot by name: the sides of x and y on which it stands.
FOOT_SIDES = {"front left": (1, 1), "front right": (1, -1), "hind left": (-1, 1), "hind right": (-1, -1)}


@dataclass(frozen=True, eq=False)
class KeyframeScene:
    """A scene, its body and its keys.

    keys: {frame: displacement (n, 3) [m]}; frames: including the start; modes: number of modes in the basis; dt [s]:
    None for the default; tangents: number of key tangents in the basis, None for all.
    """

    scene: Scene
    body: BodySolid
    keys: Mapping[int, Array]
    frames: int
    modes: int
    dt: float | None = None
    tangents: int | None = None

    def solve(self, **options: Any) -> Shot:
        """Run `keyframe` with these keys; options override frames, modes and dt, or add to them."""
        own: dict[str, Any] = {"frames": self.frames, "modes": self.modes, "dt": self.dt}
        if self.tangents is not None and not options.keys() & {"basis", "modes", "tangents"}:
            own["basis"] = self.compute_basis(self.tangents)
        return keyframe(self.body, self.keys, **{**own, **options})

    def compute_basis(self, tangents: int) -> Array:
        """Basis (3n, r) of keys, the most significant directions of their tangents, and modes; cached."""
        poses = np.stack([np.zeros_like(self.body.vertices), *self.keys.values()])
        key = hash_content(
            CACHE_VERSION, "basis", self.body.compute_content_hash(), poses, np.array([tangents, self.modes])
        )
        return np.asarray(
            _load_or_compute_poses(key, lambda _: _compute_basis(self.body, poses, tangents, self.modes), 1, None)[0]
        )


def _compute_basis(body: BodySolid, poses: Array, tangents: int, modes: int) -> Array:
    ahead, turns = compute_key_tangents(body, poses), body.compute_rigid_body_modes()
    # nothing stops a free body from turning: its tangents do little else, and turning is no shape
    ahead -= turns @ (turns.T @ (body.mass @ ahead))
    basis = extend_basis(
        body, orthonormalise(body, flatten_to_columns(poses), drop_dependent=True), ahead, size=tangents
    )
    return extend_basis(body, basis, compute_mode_shapes(body, modes), size=modes)


def build_flower_figure_eight_scene(
    *, load_scale: float = 1.0, tets: int | None = None, progress: ProgressCallback | None = None
) -> KeyframeScene:
    """The main bloom moves along a figure eight seen from above while the second circles twice: 301 frames, 8 keys.

    load_scale: factor of the loads; at 5 a bloom moves by half the flower's height between distant keys.
    """
    # how hard the main bloom is pulled along x and y, and the second round its circle [weights]
    bloom_loads = (1.2, 0.5, 0.35)
    made = scene("flower", tets=tets, progress=progress)
    body = made.body()
    phase = 2 * np.pi * np.arange(1, 9) / 8
    blow = require_positive(load_scale, "load_scale") * np.array(bloom_loads)
    main = np.stack([blow[0] * np.sin(phase), blow[1] * np.sin(2 * phase)], axis=1)
    second = blow[2] * np.stack([np.cos(2 * phase) - 1, np.sin(2 * phase)], axis=1)
    # rounded, so that the fourth and the last key are the rest shape exactly: noise would count as a direction
    loads = [
        _spread_bloom_load(body, made, "bloom", a) + _spread_bloom_load(body, made, "second bloom", b)
        for a, b in zip(main, second)
    ]
    keys = _space_keys_evenly(_solve_loaded_poses(body, np.round(loads, 9), progress), 300)
    return KeyframeScene(made, body, keys, frames=301, modes=8)


def _spread_bloom_load(body: BodySolid, flower: Scene, bloom: str, force: Array) -> Array:
    """Distribute a horizontal force (2,) [weights] over a bloom: (n, 3) [N]."""
    parts = np.concatenate([flower.parts[bloom], flower.parts[f"{bloom} disc"], flower.parts[f"{bloom} calyx"]])
    return body.distribute_force(parts, (*force, 0.0))


def build_fish_swim_scene(*, tets: int | None = None, progress: ProgressCallback | None = None) -> KeyframeScene:
    """A travelling wave along a free fish: 211 frames, 5 keys a quarter of a stroke apart."""
    # how hard the fish is bent into an arch and into an S [weights]
    fish_bend_loads = (0.6, 0.42)
    made = scene("fish", tets=tets, progress=progress)
    body = made.body()
    s = made.mesh.vertices[:, 0] / body.size
    arch, ess = _build_balanced_load(body, s**2), _build_balanced_load(body, s**3 + 0.15 * s**2)
    phase = np.pi / 2 * np.arange(5)
    loads = np.array([fish_bend_loads[0] * np.cos(p) * arch + fish_bend_loads[1] * np.sin(p) * ess for p in phase])
    return KeyframeScene(
        made, body, _space_keys_evenly(_solve_loaded_poses(body, loads, progress), 210), frames=211, modes=12
    )


def _build_balanced_load(body: BodySolid, profile: Array) -> Array:
    """Lateral loads (n, 3) [N] of one body weight in total without resultant force or torque."""
    load = np.zeros((body.vertex_count, 3))
    load[:, 1] = body.vertex_masses * profile
    rigid = body.compute_rigid_body_modes()
    load -= (body.mass @ (rigid @ (rigid.T @ load.ravel()))).reshape(-1, 3)
    return np.asarray(load * (body.weight / np.abs(load).sum()))


def build_dinosaur_step_scene(
    foot: str = "front left", *, stride: float = 0.40, lift: float = 0.28, tets: int | None = None,
    progress: ProgressCallback | None = None,
) -> KeyframeScene:  # fmt: skip
    """One foot is lifted and set down a stride ahead while the others stand: 121 frames, 2 keys."""
    # duration of a step [s]: half a period of the leg, not of the whole animal
    step_duration = 0.72
    made = scene("dinosaur", tets=tets, progress=progress)
    swing = find_soles(made)[require_choice(foot, "foot", tuple(FOOT_SIDES))]
    stepping = replace(_stretch_time(made), fixed=np.setdiff1d(made.fixed, swing))
    pins = [
        _build_sole_pins(made, swing, (0.55 * stride, 0.0, lift), 25.0),
        _build_sole_pins(made, swing, (stride, 0.0, 0.0), 0.0),
    ]
    body = stepping.body()
    return KeyframeScene(
        stepping,
        body,
        _space_keys_evenly(_solve_pinned_poses(body, pins, progress), 120),
        frames=121,
        modes=18,
        dt=step_duration / 120,
    )


def _stretch_time(source: Scene) -> Scene:
    # The stepping animal is this much slower than the scene: softer, so that a step needs less than its weight.
    time_stretch = 4
    damping = stretch_rayleigh_damping(source.damping, time_stretch)
    return replace(source, young=source.young / time_stretch**2, damping=damping)


@dataclass(frozen=True, eq=False)
class KeyframeSequenceScene:
    """A scene and the steps that it takes, each holding the feet that stand; modes, dt [s]: as of a Storyboard."""

    scene: Scene
    steps: tuple[Segment, ...]
    modes: int
    dt: float

    def solve(self, **options: Any) -> ShotSequence:
        """Run `keyframe_sequence` on these steps; options override effort, modes and dt, or add to them."""
        # Tighter than usual: a foot that lands off its place stands there for the next steps.
        walk_effort = 1e-5
        made = self.scene
        own = {"damping": made.damping, "effort": walk_effort, "modes": self.modes, "dt": self.dt}
        material = MaterialStVK(made.young, made.poisson, made.density)
        return keyframe_sequence(made.mesh, material, self.steps, **{**own, **options})


def build_dinosaur_walk_scene(
    steps: int = 5, *, frames: int = 121, stride: float = 0.5, lift: float = 0.22, tets: int | None = None,
    progress: ProgressCallback | None = None,
) -> KeyframeSequenceScene:  # fmt: skip
    """The dinosaur walks, one foot at a time: every step has a key with the foot lifted and one with it landed.

    frames: per step, including the transition; stride, lift [m]: of a foot; the first two feet go half a stride.
    """
    # How hard the whole animal is pushed ahead while a foot is up [m/s²]: lifting a front leg tips it back.
    forward_acceleration = {"front": 0.6, "hind": 0.2}
    last = require_integer(frames, "frames", minimum=5) - 1
    made = _stretch_time(scene("dinosaur", tets=tets, progress=progress))
    feet, order = find_soles(made), [GAIT_ORDER[i % len(GAIT_ORDER)] for i in range(require_integer(steps, "steps"))]
    pins = _build_walk_pins(
        made, feet, order, require_positive(stride, "stride (m)"), require_positive(lift, "lift (m)")
    )
    pushes = np.array([(forward_acceleration[foot.split()[0]] * up, 0.0, 0.0) for foot in order for up in (1, 0)])
    poses = _solve_pinned_poses(replace(made, fixed=made.fixed[:0]).body(), pins, progress, pushes)
    segments = tuple(
        Segment({round(FOOT_UP_PHASE * last): up, last: down}, last + 1, np.setdiff1d(made.fixed, feet[foot]))
        for foot, up, down in zip(order, poses[::2], poses[1::2])
    )
    return KeyframeSequenceScene(made, segments, modes=10, dt=WALK_STEP_DURATION / last)


# the order in which a walking quadruped lifts its feet
GAIT_ORDER = ("front left", "hind right", "front right", "hind left")
# A step of a walk [s], and how far up a foot's toes point [degrees].
WALK_STEP_DURATION, TOE_PITCH = 0.8, 12.0
# When in its step a foot is up: before half of it, since a foot set free swings back first, and then sinks less.
FOOT_UP_PHASE = 0.4


def _build_walk_pins(
    dinosaur: Scene, feet: Mapping[str, IndexArray], order: Sequence[str], stride: float, lift: float
) -> list[dict[int, Array]]:
    """Pins of all soles for every key: for each step first the foot lifted halfway to its target, then landed."""
    at = dict.fromkeys(FOOT_SIDES, 0.0)
    pins = []
    for number, foot in enumerate(order):
        ahead = at[foot] + (stride if number >= 2 else stride / 2)
        for x, z, pitch in (((at[foot] + ahead) / 2, lift, TOE_PITCH), (ahead, 0.0, 0.0)):
            places = {name: (x, z, pitch) if name == foot else (at[name], 0.0, 0.0) for name in FOOT_SIDES}
            each = [
                _build_sole_pins(dinosaur, feet[name], (x, 0.0, z), pitch) for name, (x, z, pitch) in places.items()
            ]
            pins.append({vertex: shift for foot_pins in each for vertex, shift in foot_pins.items()})
        at[foot] = ahead
    return pins


def build_elephant_greeting_scene(
    *, tets: int | None = None, progress: ProgressCallback | None = None
) -> KeyframeScene:
    """A free elephant greets and comes to rest: 241 frames, 8 keys fitted to a skinned surface."""
    # All of a greeting [s]. The natural pace follows the turning in the tangents, and is four times as long.
    greeting_duration = 4.8
    made = _stretch_time(scene("elephant", tets=tets, progress=progress))
    body = made.body()
    poses = _fit_skin_poses(body, made, GREETING_POSES, progress)
    keys = _space_keys_evenly(np.array([*poses, np.zeros_like(poses[0])]), 240)
    return KeyframeScene(made, body, keys, frames=241, modes=5, dt=greeting_duration / 240, tangents=4)


# reach out, lift the trunk, offer it to the left with a foot and lower both, look for more on the right, thank, bow
GREETING_POSES = (
    ElephantPose(curl=45, nod=-6, flap=20, wag=15),
    ElephantPose(curl=110, nod=-14, flap=30, step=8, wag=-15),
    ElephantPose(curl=80, swing=35, nod=-8, turn=6, step=32, wag=15),
    ElephantPose(curl=20, swing=30, nod=4, turn=8, flap=10, step=12, wag=-10),
    ElephantPose(curl=15, swing=-45, nod=8, turn=-10, flap=25, wag=-15),
    ElephantPose(curl=60, swing=-25, nod=-4, turn=-6, flap=5, wag=15),
    ElephantPose(curl=30, swing=10, nod=-8, flap=28, wag=-10),
)


def _fit_skin_poses(
    body: BodySolid, elephant: Scene, bone_poses: Sequence[ElephantPose], progress: ProgressCallback | None
) -> Array:
    """Fit poses (k, n, 3) to the scene's skin in several bone poses."""
    skins = np.array([pose_elephant_skin(elephant.skin, each) for each in bone_poses])
    # all at once when the first is asked for: a sequence shares one factorisation
    fits = cache(lambda: fit_poses(body, elephant.skin, skins, progress=progress))
    key = hash_content(CACHE_VERSION, body.compute_content_hash(), skins)
    return _load_or_compute_poses(key, lambda k: fits()[k].displacement, len(skins), None)


def find_soles(dinosaur: Scene) -> dict[str, IndexArray]:
    """Floor vertices of each foot, by name."""
    x = dinosaur.mesh.vertices[dinosaur.fixed]
    side = np.sign(x[:, :2])
    return {name: dinosaur.fixed[(side == where).all(axis=1)] for name, where in FOOT_SIDES.items()}


def _build_sole_pins(dinosaur: Scene, sole: IndexArray, shift: Sequence[float], pitch: float) -> dict[int, Array]:
    """Pins that translate a sole by `shift` [m] and rotate it by `pitch` [degrees], toes up."""
    x = dinosaur.mesh.vertices[sole]
    centre = x.mean(axis=0)
    turned = Rotation.from_euler("y", -pitch, degrees=True).apply(x - centre)
    return dict(zip(sole.tolist(), turned + centre + np.asarray(shift) - x))


def _space_keys_evenly(poses: Array, last_frame: int) -> dict[int, Array]:
    """Place poses at equal intervals up to frame `last_frame`."""
    return {round(last_frame * (k + 1) / len(poses)): u for k, u in enumerate(poses)}


def _solve_pinned_poses(
    body: BodySolid, pins: list[dict[int, Array]], progress: ProgressCallback | None, accelerations: Array | None = None
) -> Array:
    """Static equilibria (k, n, 3) under several sets of pins of the same vertices, with accelerations (k, 3) [m/s²]."""
    targets = np.array([list(each.values()) for each in pins])
    accelerations = np.zeros((len(pins), 3)) if accelerations is None else accelerations
    key = hash_content(CACHE_VERSION, body.compute_content_hash(), np.array(list(pins[0])), targets, accelerations)
    return _load_or_compute_poses(
        key, lambda k: pose(body, pins=pins[k], gravity=accelerations[k]), len(pins), progress
    )


def _solve_loaded_poses(body: BodySolid, loads: Array, progress: ProgressCallback | None) -> Array:
    """Static equilibria (k, n, 3) under loads (k, n, 3) [N]."""
    return _load_or_compute_poses(
        hash_content(CACHE_VERSION, body.compute_content_hash(), loads),
        lambda k: pose(body, loads[k]),
        len(loads),
        progress,
    )


def _load_or_compute_poses(
    key: str, compute: Callable[[int], Array], count: int, progress: ProgressCallback | None
) -> Array:
    """Load compute(0), ..., compute(count - 1) as one array from the cache, or compute them."""
    cache_kind = "keys"

    def generate_poses() -> Iterator[Array]:
        for k in range(count):
            report_progress(progress, k / count, f"posing key {k + 1} of {count}")
            yield compute(k)

    return load_or_compute(cache_kind, key, lambda: {"poses": np.array(list(generate_poses()))})["poses"]
