"""Which frames a picture shows, and how fast a loop of them plays."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cajole import checks
from cajole.checks import count
from cajole.errors import InputError
from cajole.pictures.loops import LOOPS, STILLS
from cajole.pictures.subject import Shape, Subject, telling_frame

# of a loop when nothing is said: two seconds at 24 frames/s
LOOP_FRAMES = 48


def still_frame(thing: Shape, shown: Subject, frame: int | None) -> int:
    """The frame that a still shows: the one asked for, or the most telling one of `thing`."""
    if frame is None:
        return telling_frame(thing) if shown.frames > 1 else 0
    return _in_range(frame, shown.frames)


def loop_frames(shown: Subject, frame: int | None, frames: int | Iterable[int] | None, suffix: str | None) -> list[int]:
    """The frames of a loop: as asked, or all, but at most LOOP_FRAMES. Raises InputError where a still is meant."""
    if frame is not None:
        raise InputError(
            f"frame={frame} asks for a still, but frames or the path's suffix for a loop; give one of them"
        )
    if suffix in STILLS:
        raise InputError(f"frames asks for a loop, but {suffix} holds a still: choose {', '.join(LOOPS)}, or use strip")
    if shown.frames < 2:
        raise InputError("a loop needs an Animation of at least two frames; for a still choose .png or .jpg")
    return listed(min(LOOP_FRAMES, shown.frames) if frames is None else frames, shown.frames)


def listed(frames: int | Iterable[int], available: int, name: str = "frames") -> list[int]:
    """A list of frames, or so many of the available ones, evenly spaced. Raises InputError for what is none."""
    if isinstance(frames, int | np.integer | float | str | bytes):
        number = count(frames, name, most=available)  # type: ignore[arg-type]
        return [int(k) for k in np.linspace(0, available - 1, number).round()]
    try:
        chosen = [_in_range(frame, available) for frame in frames]
    except TypeError:
        raise InputError(f"{name} must be how many, or a list of frames, not {frames!r}") from None
    if not chosen:
        raise InputError(f"{name} is empty; choose some of 0..{available - 1}")
    return chosen


def _in_range(frame: int, available: int) -> int:
    if isinstance(frame, bool) or not isinstance(frame, int | np.integer):
        raise InputError(f"a frame must be a whole number, not {checks.shown(frame)}")
    if not 0 <= frame < available:
        raise InputError(f"frame {checks.shown(frame)} is outside 0..{available - 1}, the frames there are")
    return int(frame)


def rate(shown: Subject, chosen: list[int]) -> float:
    """Frames per second at which chosen frames show the motion at its own speed."""
    steps = chosen[-1] - chosen[0]
    return shown.fps * (len(chosen) - 1) / steps if steps > 0 else shown.fps
