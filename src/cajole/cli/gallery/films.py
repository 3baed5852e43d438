"""What is shown of a card: a body in motion or two takes of a flow, as a still, a loop, and a file to go on with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cajole.animation import Animation
from cajole.animation.glb_size import glb_options
from cajole.direct.steering.flow_runs import FlowRun
from cajole.pictures import picture
from cajole.pictures.loops import resized, write_loop, write_still
from cajole.progress import Progress
from cajole.scenes.flowing.building import FlowScene
from cajole.scenes.flowing.pictures import PAPER, frames_of, write_take

# [pixels], one shape for all so that cards line up; light paths per pixel: denoised, eight show no noise at this size
STILL, LOOP, SAMPLES = (576, 384), (480, 320), 8
# a loop draws so many frames of a motion at most
DRAWN = 36
# a page opens a model of this size [bytes] without a pause
LARGEST_GLB = 13_000_000
# of flows: frames of the loop a second, and the share of the box's height that is shown
FLOW_FPS, SEEN = 15.0, 0.72


class Film(Protocol):
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

    def still(self, path: Path) -> None:
        """One picture, .jpg."""

    def loop(self, path: Path, progress: Progress | None) -> None:
        """The motion, .webp."""


@dataclass(frozen=True, eq=False)
class FilmBody:
    """animation: in its colours; view: keywords for `picture`; frame: of the still, where the scene has a best one;
    before: what it was made of, shown to its left.
    """

    animation: Animation
    view: Mapping[str, Any] = field(default_factory=dict)
    frame: int | None = None
    before: Animation | None = None
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
        self.animation.write(path, **glb_options(self.animation, LARGEST_GLB))

    def still(self, path: Path) -> None:
        near = {} if self.frame is None else {"frame": self.frame, "in_view": [self.frame]}
        self._picture(path, samples=SAMPLES, renderer="auto", size=STILL, **near)

    def loop(self, path: Path, progress: Progress | None) -> None:
        frames = range(0, self.frames - 1, -(-self.frames // DRAWN))
        self._picture(path, frames=frames, size=LOOP, progress=progress)

    def _picture(self, path: Path, **options: Any) -> None:
        own = {**self.view, **options}
        if self.before is None:
            picture(self.animation, path, **own)
        else:
            picture(self.before, path, compare=self.animation, **own)


@dataclass(frozen=True, eq=False)
class FilmFlow:
    """A take that is left alone, and beside it the same with control."""

    scene: FlowScene
    free: FlowRun
    led: FlowRun
    suffix: str = ".npz"

    @property
    def frames(self) -> int:
        return len(self.led.states)

    @property
    def fps(self) -> float:
        return 1.0 / self.led.controller.reference.dt

    @property
    def background(self) -> tuple[float, ...]:
        return tuple((PAPER / 255.0).tolist())

    def write(self, path: Path) -> None:
        write_take(self.scene, self.led, path)

    def still(self, path: Path) -> None:
        write_still(path, self.pictures(self.frames - 1, STILL)[-1])

    def loop(self, path: Path, progress: Progress | None) -> None:
        write_loop(path, self.pictures(-(-self.frames // DRAWN), LOOP), FLOW_FPS)

    def pictures(self, every: int, size: tuple[int, int]) -> NDArray[np.uint8]:
        """(k, height, width, 3) of each `every`-th frame: of both takes what is around the paths, side by side."""
        rows, columns = self._window()
        takes = [frames_of(self.scene, run, every=every)[:, rows, columns] for run in (self.free, self.led)]
        both = np.concatenate(takes, axis=2)
        return np.array([resized(one, size) for one in both])

    def _window(self) -> tuple[slice, slice]:
        """Rows and columns of a picture around the paths: two of it are as wide, for their height, as a card."""
        paths = self.led.controller.reference.particles / self.scene.flow.size
        x, y = (0.5 * (paths.min(axis=(0, 1)) + paths.max(axis=(0, 1)))).tolist()
        side = frames_of(self.scene, self.led, every=self.frames)[0].shape[0]
        high, wide = round(SEEN * side), round(0.75 * SEEN * side)
        top, left = (round(side * place - 0.5 * reach) for place, reach in ((1.0 - y, high), (x, wide)))
        top, left = min(max(top, 0), side - high), min(max(left, 0), side - wide)
        return slice(top, top + high), slice(left, left + wide)
