"""A card of the demo, and the pictures and files of bodies and flows on cards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.animation import Animation
from cajole.animation.glb import choose_glb_options
from cajole.arrays import Array
from cajole.direct.steering.controller import FlowControllerRun
from cajole.pictures import picture
from cajole.pictures.image_files import resize_image, write_loop, write_still
from cajole.progress import ProgressCallback
from cajole.scenes.flow_scenes.flow_scene import FlowScene
from cajole.scenes.flow_scenes.pictures import PAPER_COLOR, render_flow_frames, write_flow_run

# [pixels], the same for all cards so that they align; paths per pixel: with denoising, eight show no noise at this size
STILL_SIZE, LOOP_SIZE, SAMPLES_PER_PIXEL = (576, 384), (480, 320), 8
# frames of a loop
MAX_LOOP_FRAMES = 36
# [bytes] a size that browsers open without a pause
MAX_GLB_BYTES = 13_000_000
# of flows: frames per second of the loop, and the visible share of the height of the box
FLOW_LOOP_FPS, VISIBLE_HEIGHT_FRACTION = 15.0, 0.72


@dataclass(frozen=True, eq=False)
class CardMediaBody:
    """Pictures and file of a body in motion.

    view: keywords of `picture`; still_frame: chosen by `picture` if None; input_animation: shown to its left.
    """

    animation: Animation
    view: Mapping[str, Any] = field(default_factory=dict)
    still_frame: int | None = None
    input_animation: Animation | None = None
    suffix: str = ".glb"

    @property
    def frames(self) -> int:
        return self.animation.frames

    @property
    def fps(self) -> float:
        return self.animation.fps

    @property
    def background(self) -> tuple[float, ...]:
        return tuple(float(c) for c in self.view.get("background", (0.8, 0.8, 0.8)))

    def write(self, path: Path) -> None:
        self.animation.write(path, **choose_glb_options(self.animation, MAX_GLB_BYTES))

    def write_still(self, path: Path) -> None:
        near = {} if self.still_frame is None else {"frame": self.still_frame, "in_view": [self.still_frame]}
        self._render(path, samples=SAMPLES_PER_PIXEL, renderer="auto", size=STILL_SIZE, **near)

    def write_loop(self, path: Path, progress: ProgressCallback | None) -> None:
        frames = range(0, self.frames - 1, -(-self.frames // MAX_LOOP_FRAMES))
        self._render(path, frames=frames, size=LOOP_SIZE, progress=progress)

    def _render(self, path: Path, **options: Any) -> None:
        own = {**self.view, **options}
        if self.input_animation is None:
            picture(self.animation, path, **own)
        else:
            picture(self.input_animation, path, compare=self.animation, **own)


@dataclass(frozen=True, eq=False)
class CardMediaFlow:
    """Pictures and file of a flow: the run without control, and beside it the run with control."""

    scene: FlowScene
    uncontrolled: FlowControllerRun
    controlled: FlowControllerRun
    suffix: str = ".npz"

    @property
    def frames(self) -> int:
        return len(self.controlled.states)

    @property
    def fps(self) -> float:
        return 1.0 / self.controlled.controller.reference.dt

    @property
    def background(self) -> tuple[float, ...]:
        return tuple((PAPER_COLOR / 255.0).tolist())

    def write(self, path: Path) -> None:
        write_flow_run(self.scene, self.controlled, path)

    def write_still(self, path: Path) -> None:
        write_still(path, self.render_frames(self.frames - 1, STILL_SIZE)[-1])

    def write_loop(self, path: Path, progress: ProgressCallback | None) -> None:
        write_loop(path, self.render_frames(-(-self.frames // MAX_LOOP_FRAMES), LOOP_SIZE), FLOW_LOOP_FPS)

    def render_frames(self, stride: int, size: tuple[int, int]) -> NDArray[np.uint8]:
        """(k, height, width, 3) every `stride`-th frame of both runs side by side, cropped around the paths."""
        rows, columns = self._find_crop()
        runs = [
            render_flow_frames(self.scene, run, every=stride)[:, rows, columns]
            for run in (self.uncontrolled, self.controlled)
        ]
        both = np.concatenate(runs, axis=2)
        return np.array([resize_image(one, size) for one in both])

    def _find_crop(self) -> tuple[slice, slice]:
        """Rows and columns of a frame around the paths; two crops side by side have the aspect ratio of a card."""
        paths = self.controlled.controller.reference.particles / self.scene.flow.size
        x, y = (0.5 * (paths.min(axis=(0, 1)) + paths.max(axis=(0, 1)))).tolist()
        side = render_flow_frames(self.scene, self.controlled, every=self.frames)[0].shape[0]
        high, wide = round(VISIBLE_HEIGHT_FRACTION * side), round(0.75 * VISIBLE_HEIGHT_FRACTION * side)
        top, left = (round(side * place - 0.5 * reach) for place, reach in ((1.0 - y, high), (x, wide)))
        top, left = min(max(top, 0), side - high), min(max(left, 0), side - wide)
        return slice(top, top + high), slice(left, left + wide)


@dataclass(frozen=True, eq=False)
class DemoCard:
    """One card of the demo: texts, pictures and numbers.

    command: one that makes or opens the same; numbers: values for programs; facts: texts for people, by their names.
    curves: (frames,) each, the last one is the result; caption: the quantity of the curves. seconds: of computing,
    without rendering.
    """

    title: str
    description: str
    verb: str
    command: str
    media: CardMediaBody | CardMediaFlow
    numbers: Mapping[str, Any]
    facts: Mapping[str, str]
    curves: tuple[Array, ...]
    caption: str
    seconds: float
