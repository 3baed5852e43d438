"""Cards of solids: a keyframed flower, a steered T, an edited beam, and two scenes that only move."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import EARTH_GRAVITY, BodySolid
from cajole.cli.gallery.card import DemoItem
from cajole.cli.gallery.films import FilmBody
from cajole.dynamics import modes, simulate
from cajole.progress import Progress
from cajole.scenes import Scene, scene, shots, steering
from cajole.scenes.editing import edit_scene
from cajole.scenes.steering.staging import takes

Force = Callable[[float], Array]

# steps are half as long as the loop's frames are apart: quick to watch, smooth to simulate
FPS, FRAMES = 32.0, 69
# mass damping [1/s]: a swing fades to a tenth within the loop's two seconds, so that it closes
FADING = 2.0
# the seed of the push that is shown: without control it spoils the strike clearly
PUSHED = 10
# one linear solve a step where the mesh is large: the demo shall take minutes on two cores
QUICK = "bdf2"


def flower_eight(progress: Progress | None) -> DemoItem:
    """Eight poses become a motion: the first verb."""
    started = time.perf_counter()
    board = shots.flower_eight(progress=progress)
    shot = board.shoot(effort=1e-2, starts="zero")
    stride = -(-shot.animation.frames // FRAMES)
    moved = shot.animation
    shown = Animation(
        moved.mesh, moved.positions[::stride], fps=moved.fps / stride, skin=board.scene.skin, name="flower"
    )
    missed, added = max(shot.report.errors), shot.report.mean_gentleness
    story = (
        f"Eight poses, a figure of eight seen from above, become one motion: each met within {100 * missed:.2g} % of "
        f"its size, with {added:.2g} body weights of added force."
    )
    told = _Told("Keyframed flower", story, "keyframe", "cajole studio flower")
    return told.card(shown, board.body, modes(board.body, 3).frequencies, started, board.scene.camera)


def strike(progress: Progress | None) -> DemoItem:
    """One push, three takes: what a controller is for."""
    started = time.perf_counter()
    stage = steering.strike(progress=progress)
    controller, push = stage.controller(), stage.random_push(PUSHED)
    free, led = controller.run(force=push, controlled=False), controller.run(force=push)
    staged, moved = takes(stage, [controller.run(), free, led], every=-(-stage.reference.steps // FRAMES))
    gap, added = max(stage.misses(free)), float(np.sqrt((led.gentleness**2).mean()))
    story = (
        f"Left: the motion that strikes both balls. Middle: pushed, it passes by up to {100 * gap:.0f} cm. Right: the "
        f"same push, steered back with {added:.2g} body weights of added force, and it strikes both."
    )
    told = _Told("Steered T", story, "steer", "cajole studio strike")
    return told.card(moved, staged.body(), modes(stage.body, 3).frequencies, started, staged.camera)


def twist(progress: Progress | None) -> DemoItem:
    """Four corners of one frame, dragged two turns around; the rest of the motion is what follows from that."""
    started = time.perf_counter()
    stage = edit_scene("twist")
    editor = stage.edited(progress=progress)
    every = -(-stage.animation.frames // FRAMES)
    made = editor.animation()
    shown = replace(made, positions=made.positions[::every], fps=made.fps / every)
    body, missed = cast(BodySolid, stage.body), max(editor.misses().values())
    story = (
        f"A beam that did nothing. In {len(stage.moves)} small drags four corners are turned by 720 degrees in one "
        f"frame; they land within {100 * missed:.1g} % of the size, and the motion before and after follows."
    )
    told = _Told("Twisted beam", story, "edit", "cajole edit twist --output twist.glb")
    return told.card(shown, body, modes(body, 3).frequencies, started, stage.camera)


def fish(progress: Progress | None) -> DemoItem:
    """A kick on a body that nothing holds."""
    stage = _Stage.of("fish", 1.0, progress)
    kick = stage.pushed("tail", (0.0, 0.65, 0.0)) - stage.pushed("body", (0.0, 0.65, 0.0))
    # what would carry it out of the picture is taken off: net force and net torque
    rigid = stage.body.rigid_motions()
    balanced = kick.ravel() - stage.body.mass @ (rigid @ (rigid.T @ kick.ravel()))
    force = _during(0.16, balanced.reshape(-1, 3))
    return stage.shot("Nothing holds it: a kick of 0.16 s on the tail sends waves through it.", force=force)


def bridge(progress: Progress | None) -> DemoItem:
    """An earthquake, in the frame of the ground."""
    stage = _Stage.of("bridge", 1.1, progress)
    masses = stage.body.vertex_masses[:, None]

    def quake(t: float) -> Array:
        shape = np.sin(np.pi * min(t / 1.2, 1.0)) * EARTH_GRAVITY
        across, up = 0.9 * np.sin(2 * np.pi * 1.1 * t), 0.5 * np.sin(2 * np.pi * 1.6 * t)
        return -masses * shape * np.array([0.0, across, up])

    story = "An earthquake shakes the ground for 1.2 s; the camera moves with the ground."
    return stage.shot(story, force=quake, integrator=QUICK)


@dataclass(frozen=True)
class _Told:
    """What a card says of itself, whatever moves on it."""

    title: str
    story: str
    verb: str
    command: str

    def card(
        self, moved: Animation, body: BodySolid, frequencies: Array, started: float, camera: Mapping[str, Any]
    ) -> DemoItem:
        """The card of a solid in motion; what it tells is of the body alone, whichever verb moved it."""
        seconds = time.perf_counter() - started
        reach = np.linalg.norm(moved.displacements, axis=2).max(axis=1)
        numbers = _numbers(moved, body, frequencies, reach)
        shown = FilmBody(moved, camera)
        told = "how far its farthest vertex is from rest"
        return DemoItem(
            self.title, self.story, self.verb, self.command, shown, numbers, _facts(numbers), (reach,), told, seconds
        )


def _numbers(moved: Animation, body: BodySolid, frequencies: Array, reach: Array) -> dict[str, Any]:
    return {
        "vertices": body.count,
        "tets": len(body.mesh.tets),
        "frequencies_Hz": [float(f) for f in frequencies],
        "largest_displacement_m": float(reach.max()),
        "largest_displacement_sizes": float(reach.max() / body.size),
        "largest_energy_J": float(max(body.energy(u) for u in moved.displacements)),
    }


def _facts(numbers: Mapping[str, Any]) -> dict[str, str]:
    reach, share = numbers["largest_displacement_m"], numbers["largest_displacement_sizes"]
    return {
        "body": f"{numbers['vertices']:,} vertices, {numbers['tets']:,} tets",
        "first frequencies": " · ".join(f"{f:.2f}" for f in numbers["frequencies_Hz"]) + " Hz",
        "strain energy": f"up to {numbers['largest_energy_J']:,.0f} J",
        "moves up to": f"{reach:.2f} m, {share:.0%} of its size",
    }


@dataclass(frozen=True, eq=False)
class _Stage:
    """A scene made as stiff as its lowest frequency says, so that every item swings at a speed made for watching."""

    scene: Scene
    body: BodySolid
    frequencies: Array
    started: float
    progress: Progress | None

    @classmethod
    def of(cls, name: str, hertz: float, progress: Progress | None) -> _Stage:
        made, started = scene(name, progress=progress), time.perf_counter()
        made = replace(made, damping=(FADING, made.damping[1]))
        soft = modes(made.body(), 3).frequencies
        # ω² is proportional to Young's modulus
        stiff = replace(made, young=made.young * float(hertz / soft[0]) ** 2)
        return cls(stiff, stiff.body(), soft * hertz / soft[0], started, progress)

    def pushed(self, part: str, share: tuple[float, float, float]) -> Array:
        """A force (n, 3) [N] on the vertices of one part, spread by mass; `share` is in body weights."""
        return self.body.spread(self.scene.parts[part], share)

    def shot(self, story: str, **options: Any) -> DemoItem:
        moved = simulate(self.body, FRAMES, 1 / FPS, progress=self.progress, **options)
        animation = replace(moved, skin=self.scene.skin, name=self.scene.name)
        told = _Told(self.scene.title, story, "simulate", f"cajole demo --scene {self.scene.name}")
        return told.card(animation, self.body, self.frequencies, self.started, self.scene.camera)


def _during(seconds: float, force: Array) -> Force:
    """A half sine of `seconds`, so that nothing rings as it starts and stops."""
    return lambda t: force * max(np.sin(np.pi * t / seconds), 0.0) * (t < seconds)
