"""Make the gallery's pictures, beside this file, and its page: a still and a loop of each scene of each verb.

python docs/gallery/make.py [NAME ...]

All of them take some minutes of a processor; scenes that are slow to make are read from the cache the next time.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from items import ITEMS, page

import cajole as cj
from cajole.cli.gallery.films import FLOW_FPS, FilmFlow
from cajole.direct import Run
from cajole.mesh import Skin
from cajole.pictures.loops import write_loop, write_still
from cajole.pictures.subject import INPUT, OUTPUT
from cajole.scenes import flowing, shots, steering
from cajole.scenes.editing import edit_loop, edit_picture, edit_scene
from cajole.scenes.enriching import EnrichScene, enrich_loop, enrich_picture, enrich_scene
from cajole.scenes.flowing.building import FlowScene
from cajole.scenes.rerouting import reroute_scene
from cajole.scenes.steering.staging import takes, with_bee

HERE = Path(__file__).parent
# [pixels]; frames of a loop at most, so that it stays small
STILL, LOOP, FRAMES = (480, 320), (360, 240), 20
# of the flag: frames until it hangs, from which one on it is near the tree, and those that the camera takes in
CAUGHT, NEAR, IN_VIEW = 28, 6, (10, 14, 18, 22, 26)
# a push that is seen to spoil the motion
PUSHED = 10


def place(name: str, suffix: str) -> Path:
    return HERE / f"{name}{suffix}"


def spread(frames: int) -> range:
    """Frames of a loop, evenly over a motion."""
    return range(0, frames, -(-frames // FRAMES))


def draw(name: str, motion: cj.Animation, frame: int, camera: Any, **options: Any) -> None:
    """A still of one frame and a loop of all, with the same things around."""
    own = {**camera, **options}
    cj.picture(motion, place(name, ".jpg"), frame=frame, renderer="draft", **{**own, "size": STILL})
    cj.picture(motion, place(name, ".webp"), frames=spread(motion.frames), renderer="draft", **{**own, "size": LOOP})


def keyed(name: str, make: Callable[[], shots.Storyboard]) -> None:
    board = make()
    motion = replace(board.shoot(starts="pd").animation, skin=board.scene.skin)
    poses = [board.body.vertices + key for key in board.keys.values() if np.abs(key).max() > 0]
    frame = next(frame for frame, key in board.keys.items() if np.abs(key).max() > 0)
    draw(name, motion, frame, board.scene.camera, ghost=poses[1 : 1 + max(1, min(2, len(poses) - 1))] or poses[:1])


def walk(name: str) -> None:
    board = shots.walk()
    motion = replace(board.shoot(starts="pd").animation, skin=board.scene.skin)
    draw(name, motion, motion.frames // 3, board.scene.camera, ghost=motion.frame(0))


def edited(name: str) -> None:
    scene = edit_scene(name)
    editor = scene.edited()
    frame = scene.moves[0].frame
    edit_picture(scene, editor, frame, place(name, ".jpg"), size=STILL, renderer="draft")
    every = -(-scene.animation.frames // FRAMES)
    edit_loop(scene, editor, place(name, ".webp"), every=every, size=LOOP)


def enriched(name: str, scene: EnrichScene, material: str, frames: int, frame: int, **settings: Any) -> None:
    result = scene.enriched(material, frames=frames, **settings)
    enrich_picture(scene, result, frame, place(name, ".jpg"), material=material, size=STILL, in_view=[frame])
    enrich_loop(scene, result, place(name, ".webp"), material=material, size=LOOP, frames=spread(frames))


def flag(name: str) -> None:
    """Three pictures side by side, each with its tree: the preview, the cloth left alone, the cloth that is told."""
    scene, color = enrich_scene("flag"), enrich_scene("flag").material().color
    runs = [scene.enriched(frames=CAUGHT, collisions="fast", tracked=told).animation for told in (False, True)]
    shown = [painted(scene.guide, INPUT), *(painted(run, color) for run in runs)]

    def beside(size: tuple[int, int], frames: Sequence[int]) -> np.ndarray:
        """(frames, height, width, 3) of all three."""
        own = {"props": scene.props, **scene.camera, "in_view": IN_VIEW, "size": (size[0] // 3, size[1])}
        return np.concatenate([cj.picture(each, frames=frames, **own) for each in shown], axis=2)

    write_still(place(name, ".jpg"), beside(STILL, [CAUGHT - 4])[0])
    write_loop(place(name, ".webp"), beside(LOOP, range(NEAR, CAUGHT)), 0.5 * scene.guide.fps)


def strike(name: str) -> None:
    stage = steering.strike()
    controller, push = stage.controller(), stage.random_push(PUSHED)
    runs = [controller.run(), controller.run(force=push, controlled=False), controller.run(force=push)]
    staged, motion = takes(stage, runs, every=-(-stage.reference.steps // (2 * FRAMES)))
    draw(name, motion, motion.frames // 2, staged.camera)


def bee(name: str) -> None:
    stage = steering.bee_landing()
    run = stage.controller().run(force=stage.random_push(PUSHED))
    every = -(-stage.reference.steps // (2 * FRAMES))
    staged, motion = with_bee(stage, run, every=every)
    lap = len(stage.flight)
    landed = int(np.linalg.norm(stage.spot_of(run)[:lap] - stage.flight, axis=1).argmin())
    draw(name, motion, min(landed // every, motion.frames - 1), staged.camera)


def rooted(name: str) -> None:
    stage = steering.rooted()
    controller, push = stage.controller(), stage.random_push(PUSHED)

    def dressed(run: Run) -> cj.Animation:
        return replace(run.animation, skin=stage.scene.skin)

    led, free = dressed(controller.run(force=push)), dressed(controller.run(force=push, controlled=False))
    draw(name, led, led.frames - 1, stage.scene.camera, ghost=free)


def flowed(name: str, scene: FlowScene) -> None:
    """A take that is left alone, and the same take steered."""
    controller, force = scene.controller(), scene.disturbance()
    film = FilmFlow(scene, controller.run(force, controlled=False), controller.run(force))
    write_still(place(name, ".jpg"), film.pictures(film.frames - 1, STILL)[-1])
    write_loop(place(name, ".webp"), film.pictures(-(-film.frames // FRAMES), LOOP), FLOW_FPS)


def rerouted(name: str) -> None:
    scene = reroute_scene(name)
    led = painted(scene.result().animation, OUTPUT)
    frame = scene.goals[0].frame
    draw(name, led, frame, scene.camera, ghost=painted(scene.pilot, INPUT), props=scene.props)


def painted(motion: cj.Animation, color: Any) -> cj.Animation:
    return replace(motion, skin=Skin(motion.mesh.surface, np.asarray(color)))


def makers() -> dict[str, Callable[[str], None]]:
    """What draws each entry."""
    own: dict[str, Callable[[str], None]] = {
        "flower-eight": lambda name: keyed(name, shots.flower_eight),
        "fish-swim": lambda name: keyed(name, shots.fish_swim),
        "dinosaur-step": lambda name: keyed(name, shots.dinosaur_step),
        "elephant": lambda name: keyed(name, shots.elephant_skins),
        "walk": walk,
        "box": lambda name: enriched(name, enrich_scene("box"), "cloth", 30, 21),
        "bag": lambda name: enriched(name, enrich_scene("bag"), "silk", 60, 36),
        "walker": lambda name: enriched(name, enrich_scene("walker"), "story", 64, 60, dt=1 / 60),
        "flag": flag,
        "strike": strike,
        "bee": bee,
        "rooted": rooted,
        "swirl": lambda name: flowed(name, flowing.swirl()),
        # half as fine and from fewer runs than the scene itself, whose basis takes minutes
        "leaves": lambda name: flowed(name, flowing.leaves(cells=128, runs=16)),
    }
    by_verb = {"edit": edited, "reroute": rerouted}
    return {name: own.get(name) or by_verb[item.verb] for name, item in ITEMS.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*ITEMS, []])
    asked = parser.parse_args().names
    (HERE.parent / "gallery.md").write_text(page(), encoding="utf-8")
    for name, make in makers().items():
        if not asked or name in asked:
            began = time.process_time()
            make(name)
            size = place(name, ".webp").stat().st_size / 1000
            print(f"{name}: {time.process_time() - began:.0f} s of CPU, loop {size:.0f} kB", flush=True)


if __name__ == "__main__":
    main()
