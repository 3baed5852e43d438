"""What a card of the demo is: a film, and what is told of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

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

# [pixels], one shape for all so that cards line up; light paths per pixel: denoised, eight show no noise at this size
STILL_SIZE, LOOP_SIZE, SAMPLES_PER_PIXEL = (576, 384), (480, 320), 8
# a loop draws so many frames of a motion at most
MAX_LOOP_FRAMES = 36
# a page opens a model of this size [bytes] without a pause
MAX_GLB_BYTES = 13_000_000
# of flows: frames of the loop a second, and the share of the box's height that is shown
FLOW_LOOP_FPS, VISIBLE_HEIGHT_FRACTION = 15.0, 0.72


class CardMedia(Protocol):
    """frames, fps: of the motion; background: sRGB around it; suffix: of the file that others can open."""

    @property
    def frames(self) -> int: ...

    @property
    def fps(self) -> float: ...

    @property
    def background(self) -> tuple[float, ...]: ...

    @property
    def suffix(self) -> str: ...

    def write(self, path: Path) -> None:
        """The file that others can open."""

    def write_still(self, path: Path) -> None:
        """One picture, .jpg."""

    def write_loop(self, path: Path, progress: ProgressCallback | None) -> None:
        """The motion, .webp."""


@dataclass(frozen=True, eq=False)
class CardMediaBody:
    """animation: in its colours; view: keywords for `picture`; frame: of the still, where the scene has a best one;
    before: what it was made of, shown to its left.
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
    """A take that is left alone, and beside it the same with control."""

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
        """(k, height, width, 3) of each `every`-th frame: of both takes what is around the paths, side by side."""
        rows, columns = self._find_crop()
        takes = [
            render_flow_frames(self.scene, run, every=stride)[:, rows, columns]
            for run in (self.uncontrolled, self.controlled)
        ]
        both = np.concatenate(takes, axis=2)
        return np.array([resize_image(one, size) for one in both])

    def _find_crop(self) -> tuple[slice, slice]:
        """Rows and columns of a picture around the paths: two of it are as wide, for their height, as a card."""
        paths = self.controlled.controller.reference.particles / self.scene.flow.size
        x, y = (0.5 * (paths.min(axis=(0, 1)) + paths.max(axis=(0, 1)))).tolist()
        side = render_flow_frames(self.scene, self.controlled, every=self.frames)[0].shape[0]
        high, wide = round(VISIBLE_HEIGHT_FRACTION * side), round(0.75 * VISIBLE_HEIGHT_FRACTION * side)
        top, left = (round(side * place - 0.5 * reach) for place, reach in ((1.0 - y, high), (x, wide)))
        top, left = min(max(top, 0), side - high), min(max(left, 0), side - wide)
        return slice(top, top + high), slice(left, left + wide)


@dataclass(frozen=True, eq=False)
class DemoCard:
    """One card of the demo: what happens, its film, and the numbers of it.

    command: one that makes or opens the same; numbers: for programs, and facts, the same for people, by what they are
    called. curves: (frames,) each, the last is what came out; told: what they show. seconds: of computing, not of
    pictures.
    """

    title: str
    description: str
    verb: str
    command: str
    media: CardMedia
    numbers: Mapping[str, Any]
    facts: Mapping[str, str]
    curves: tuple[Array, ...]
    caption: str
    seconds: float


CardBuilder = Callable[[ProgressCallback | None], DemoCard]
