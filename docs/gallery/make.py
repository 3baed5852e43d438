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
from cajole.cli.gallery.card import (FLOW_LOOP_FPS, CardMediaFlow)
from cajole.direct import ControllerRun
from cajole.mesh import Skin
from cajole.pictures.image_files import (write_loop, write_still)
from cajole.pictures.renderable import (INPUT_COLOR, OUTPUT_COLOR)
from cajole.scenes import (flow_scenes, keyframe_scenes, steer_scenes)
from cajole.scenes.edit_scenes import (render_edit_loop, render_edit_frame, load_edit_scene)
from cajole.scenes.enrich_scenes import (EnrichScene, render_enrich_loop, render_enrich_frame, load_enrich_scene)
from cajole.scenes.flow_scenes.flow_scene import (FlowScene)
from cajole.scenes.reroute_scenes import (load_reroute_scene)
from cajole.scenes.steer_scenes.composite import (combine_strike_runs, combine_with_bee)

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


def keyed(name: str, make: Callable[[], keyframe_scenes.KeyframeScene]) -> None:
    board = make()
    motion = replace(board.solve(starts="pd").animation, skin=board.scene.skin)
    poses = [board.body.vertices + key for key in board.keys.values() if np.abs(key).max() > 0]
    frame = next(frame for frame, key in board.keys.items() if np.abs(key).max() > 0)
    draw(name, motion, frame, board.scene.camera, ghost=poses[1 : 1 + max(1, min(2, len(poses) - 1))] or poses[:1])


def walk(name: str) -> None:
    board = keyframe_scenes.build_dinosaur_walk_scene()
    motion = replace(board.solve(starts="pd").animation, skin=board.scene.skin)
    draw(name, motion, motion.frames // 3, board.scene.camera, ghost=motion.frame(0))


def edited(name: str) -> None:
    scene = load_edit_scene(name)
    editor = scene.apply_drags()
    frame = scene.drags[0].frame
    render_edit_frame(scene, editor, frame, place(name, ".jpg"), size=STILL, renderer="draft")
    every = -(-scene.animation.frames // FRAMES)
    render_edit_loop(scene, editor, place(name, ".webp"), every=every, size=LOOP)


def enriched(name: str, scene: EnrichScene, material: str, frames: int, frame: int, **settings: Any) -> None:
    result = scene.solve(material, frames=frames, **settings)
    render_enrich_frame(scene, result, frame, place(name, ".jpg"), variant=material, size=STILL, in_view=[frame])
    render_enrich_loop(scene, result, place(name, ".webp"), variant=material, size=LOOP, frames=spread(frames))


def flag(name: str) -> None:
    """Three pictures side by side, each with its tree: the preview, the cloth left alone, the cloth that is told."""
    scene, color = load_enrich_scene("flag"), load_enrich_scene("flag").get_variant().color
    runs = [scene.solve(frames=CAUGHT, collisions="fast", tracked=told).animation for told in (False, True)]
    shown = [painted(scene.guide, INPUT_COLOR), *(painted(run, color) for run in runs)]

    def beside(size: tuple[int, int], frames: Sequence[int]) -> np.ndarray:
        """(frames, height, width, 3) of all three."""
        own = {"props": scene.props, **scene.camera, "in_view": IN_VIEW, "size": (size[0] // 3, size[1])}
        return np.concatenate([cj.picture(each, frames=frames, **own) for each in shown], axis=2)

    write_still(place(name, ".jpg"), beside(STILL, [CAUGHT - 4])[0])
    write_loop(place(name, ".webp"), beside(LOOP, range(NEAR, CAUGHT)), 0.5 * scene.guide.fps)


def strike(name: str) -> None:
    stage = steer_scenes.build_strike_scene()
    controller, push = stage.create_controller(), stage.sample_push(PUSHED)
    runs = [controller.run(), controller.run(force=push, controlled=False), controller.run(force=push)]
    staged, motion = combine_strike_runs(stage, runs, every=-(-stage.reference.step_count // (2 * FRAMES)))
    draw(name, motion, motion.frames // 2, staged.camera)


def bee(name: str) -> None:
    stage = steer_scenes.build_bee_landing_scene()
    run = stage.create_controller().run(force=stage.sample_push(PUSHED))
    every = -(-stage.reference.step_count // (2 * FRAMES))
    staged, motion = combine_with_bee(stage, run, every=every)
    lap = len(stage.bee_path)
    landed = int(np.linalg.norm(stage.compute_landing_path(run)[:lap] - stage.bee_path, axis=1).argmin())
    draw(name, motion, min(landed // every, motion.frames - 1), staged.camera)


def rooted(name: str) -> None:
    stage = steer_scenes.build_rooted_scene()
    controller, push = stage.create_controller(), stage.sample_push(PUSHED)

    def dressed(run: ControllerRun) -> cj.Animation:
        return replace(run.animation, skin=stage.scene.skin)

    led, free = dressed(controller.run(force=push)), dressed(controller.run(force=push, controlled=False))
    draw(name, led, led.frames - 1, stage.scene.camera, ghost=free)


def flowed(name: str, scene: FlowScene) -> None:
    """A take that is left alone, and the same take steered."""
    controller, force = scene.create_controller(), scene.build_disturbance()
    film = CardMediaFlow(scene, controller.run(force, controlled=False), controller.run(force))
    write_still(place(name, ".jpg"), film.render_frames(film.frames - 1, STILL)[-1])
    write_loop(place(name, ".webp"), film.render_frames(-(-film.frames // FRAMES), LOOP), FLOW_LOOP_FPS)


def rerouted(name: str) -> None:
    scene = load_reroute_scene(name)
    led = painted(scene.solve().animation, OUTPUT_COLOR)
    frame = scene.goals[0].frame
    draw(name, led, frame, scene.camera, ghost=painted(scene.pilot, INPUT_COLOR), props=scene.props)


def painted(motion: cj.Animation, color: Any) -> cj.Animation:
    return replace(motion, skin=Skin(motion.mesh.surface, np.asarray(color)))


def makers() -> dict[str, Callable[[str], None]]:
    """What draws each entry."""
    own: dict[str, Callable[[str], None]] = {
        "flower-eight": lambda name: keyed(name, keyframe_scenes.build_flower_figure_eight_scene),
        "fish-swim": lambda name: keyed(name, keyframe_scenes.build_fish_swim_scene),
        "dinosaur-step": lambda name: keyed(name, keyframe_scenes.build_dinosaur_step_scene),
        "elephant": lambda name: keyed(name, keyframe_scenes.build_elephant_greeting_scene),
        "walk": walk,
        "box": lambda name: enriched(name, load_enrich_scene("box"), "cloth", 30, 21),
        "bag": lambda name: enriched(name, load_enrich_scene("bag"), "silk", 60, 36),
        "walker": lambda name: enriched(name, load_enrich_scene("walker"), "story", 64, 60, dt=1 / 60),
        "flag": flag,
        "strike": strike,
        "bee": bee,
        "rooted": rooted,
        "swirl": lambda name: flowed(name, flow_scenes.build_swirl_scene()),
        # half as fine and from fewer runs than the scene itself, whose basis takes minutes
        "leaves": lambda name: flowed(name, flow_scenes.build_leaves_scene(cells=128, runs=16)),
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
