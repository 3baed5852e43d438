"""What a mode of the studio is, and what the project that it lives in offers it.

A mode runs on its project's solver thread alone: every method here is called there, one at a time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cajole.animation import Animation
from cajole.arrays import Array, IndexArray
from cajole.errors import InputError
from cajole.progress import ProgressCallback
from cajole.studio.content import ProjectContent, get_motion
from cajole.studio.messages import StateMessage
from cajole.studio.protocol import Answer, ServerMessage

Message = Mapping[str, Any]
Handler = Callable[[Any], Answer | Mapping[str, Any] | None]


# what json reads and writes: snapshots of modes, which each mode validates when it is restored
JsonObject = dict[str, Any]


@dataclass(frozen=True)
class ModeSnapshot:
    """State of a mode for the disk: a JSON document, and arrays by name."""

    document: JsonObject = field(default_factory=dict)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)


class ModeHost(Protocol):
    """What a project offers the mode that is at work in it."""

    def broadcast(self, message: ServerMessage | Mapping[str, Any]) -> None:
        """A message to every tab."""

    def show_live_frame(self, positions: Array, *, frame: int, ghost: Array | None = None, reply_seq: int = 0) -> None:
        """What the first view shows from now on: drawn vertices (k, 3) [m]; the newest wins.

        ghost: as many vertices of a body that is seen beside it at the same moment; seq: of the message that it
        answers, so that a tab knows how long that took.
        """

    def record_change(self, label: str | None = None, *, frames_changed: bool = True) -> None:
        """Something was done: tell the tabs, and save. label: what undo calls it; motion: whether frames differ."""

    def invalidate_frames(self) -> None:
        """Frames differ from now on, though nothing is kept yet: a hand is at work."""

    def resend_geometry(self) -> None:
        """What is drawn has other triangles from now on: `Mode.drawn` is told anew."""

    def resend_regions(self) -> None:
        """Vertices belong to other regions from now on: `Mode.zoned` is told anew."""

    def begin_job(self, title: str, *, stoppable: bool = False) -> ProgressCallback:
        """A progress callback for long work, shown as a job; it returns False once the author cancels or stops it.

        Each call also sends frames that tabs wait for, so that playing goes on.
        """

    def end_job(self) -> None:
        """The work that `working` announced is done."""

    @property
    def job_id(self) -> str | None:
        """What the present work is called in messages, None when there is none."""

    @property
    def has_stop_request(self) -> bool:
        """Whether the author stopped the present work and wants what it has."""


class StudioMode(ABC):
    """One verb at work on a project.

    commands: handlers by the names of docs/studio-protocol.md, each given a message whose values the handler checks
    itself; what it returns goes into the answer. Handlers raise CajoleError for what cannot be done.
    """

    name: str
    # class of the state message
    state_type: type[StateMessage] = StateMessage
    # streams whose frames never change while the mode is at work: tabs keep them
    immutable_streams: tuple[str, ...] = ()

    @property
    def drawn_content(self) -> ProjectContent | None:
        """What is drawn, where that is not what is open."""
        return None

    @property
    def region_labels(self) -> tuple[IndexArray, IndexArray] | None:
        """Regions that colour what is drawn: of each vertex of the body, and of the first view's guide; -1 for none."""
        return None

    @property
    def smoke_image(self) -> NDArray[np.uint8] | None:
        """Smoke (rows, columns) around what is drawn, as it is now; None where there is none."""
        return None

    @property
    @abstractmethod
    def commands(self) -> Mapping[Any, Handler]:
        """Handlers by name."""

    @property
    @abstractmethod
    def frames(self) -> int:
        """How many frames the time line has."""

    @property
    @abstractmethod
    def fps(self) -> float:
        """Frames a second."""

    @abstractmethod
    def build_state(self) -> StateMessage | dict[str, Any]:
        """lanes, meter, selection, trails, labels, undo, redo, and under its own name what only this mode has."""

    @abstractmethod
    def compute_live_vertices(self, frame: int) -> Array:
        """What the first view shows when the edit frame is `frame`: drawn vertices (k, 3) [m]."""

    @abstractmethod
    def compute_stream_vertices(self, stream: str, frame: int) -> Array | None:
        """Drawn vertices (k, 3) [m] of a frame of "result", "given" or "other"; None where there is none."""

    @abstractmethod
    def create_snapshot(self) -> ModeSnapshot:
        """All that `restore` needs."""

    def export_content(self) -> ProjectContent:
        """The result as the content of another mode. Raises InputError where there is none."""
        raise InputError(f"{self.name.capitalize()} has nothing to hand over yet; make a motion first")

    def export_animation(self, progress: ProgressCallback | None = None) -> Animation:
        """The resulting motion. Raises InputError where there is none."""
        return get_motion(self.export_content())

    def write_export(self, kind: str, path: Path) -> None:
        """Write a file of a kind that the registration of the mode lists in `exports`."""
        raise InputError(f"{self.name.capitalize()} has no {kind} to write; export the result")

    def get_tick_delay(self) -> float | None:
        """Seconds until `tick` wants to be called, None when never."""
        return None

    def tick(self) -> None:  # noqa: B027  most modes wait to be asked
        """Live modes go on."""

    def close(self) -> None:  # noqa: B027  most modes hold nothing
        """The project is closed or goes to another mode."""
