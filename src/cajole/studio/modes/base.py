"""Interface between modes of the studio and the project that they belong to.

All methods are called on the solver thread of the project, one at a time.
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
from cajole.studio.protocol import Answer, Command, JsonObject, ServerMessage

# handlers by class of command
Handlers = Mapping[type[Command], Callable[[Any], Answer | None]]


@dataclass(frozen=True)
class ModeSnapshot:
    """State of a mode for the disk: a JSON document, and arrays by name."""

    document: JsonObject = field(default_factory=dict)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)


class ModeHost(Protocol):
    """Interface of a project for its mode."""

    def broadcast(self, message: ServerMessage) -> None:
        """Send a message to every tab."""

    def show_live_frame(self, positions: Array, *, frame: int, ghost: Array | None = None, reply_seq: int = 0) -> None:
        """Show drawn vertices (k, 3) [m] in the first view; newer ones replace those that wait.

        ghost: (k, 3) [m] of a body that is drawn beside it; reply_seq: `seq` of the command that it answers, so that
        the tab can measure the latency.
        """

    def record_change(self, label: str | None = None, *, frames_changed: bool = True) -> None:
        """Send the state to all tabs, and save; label: of the change, None if nothing new needs to be saved.

        frames_changed: tabs discard the frames that they have.
        """

    def invalidate_frames(self) -> None:
        """Make tabs discard the frames that they have, during a drag."""

    def resend_geometry(self) -> None:
        """Send `drawn_content` again, after its triangles or bounds have changed."""

    def resend_regions(self) -> None:
        """Send `region_labels` again, after they have changed."""

    def begin_job(self, title: str, *, stoppable: bool = False) -> ProgressCallback:
        """Start a job; its progress callback returns False once the user cancels or stops it.

        Each call of it also sends frames that tabs wait for, so that playback goes on.
        """

    def end_job(self) -> None:
        """End the job of `begin_job` as done."""

    @property
    def job_id(self) -> str | None:
        """Id of the job under way, None without one."""

    @property
    def has_stop_request(self) -> bool:
        """True if the user stopped the job and wants its result so far."""


class StudioMode(ABC):
    """A mode of an open project.

    Handlers of commands check what depends on the project, return the answer (None for an empty one), and raise
    CajoleError for what cannot be done.
    """

    name: str
    # streams whose frames never change in the mode, so that pages keep them
    immutable_streams: tuple[str, ...] = ()

    @property
    def drawn_content(self) -> ProjectContent | None:
        """Content that is drawn, None for the content that is open."""
        return None

    @property
    def region_labels(self) -> tuple[IndexArray, IndexArray] | None:
        """Region of each vertex of the body, and of the guide in the first view, -1 for none; None without regions."""
        return None

    @property
    def smoke_image(self) -> NDArray[np.uint8] | None:
        """Present smoke (rows, columns), None without smoke."""
        return None

    @property
    @abstractmethod
    def commands(self) -> Handlers: ...

    @property
    @abstractmethod
    def frames(self) -> int:
        """Number of frames of the time line."""

    @property
    @abstractmethod
    def fps(self) -> float:
        """Frames per second."""

    @abstractmethod
    def build_state(self) -> StateMessage:
        """The state, with a field of the mode's name; the project fills in revision, mode and frame."""

    @abstractmethod
    def compute_live_vertices(self, frame: int) -> Array:
        """Make `frame` the edit frame: drawn vertices (k, 3) [m] of the first view."""

    @abstractmethod
    def compute_stream_vertices(self, stream: str, frame: int) -> Array | None:
        """Drawn vertices (k, 3) [m] of a frame of "result", "given" or "other"; None where there is none."""

    @abstractmethod
    def create_snapshot(self) -> ModeSnapshot:
        """State for the disk; the mode is created from it again."""

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
        """Seconds until `tick` is to be called, None for never."""
        return None

    def tick(self) -> None:  # noqa: B027  most modes only answer commands
        """Advance what runs without commands."""

    def close(self) -> None:  # noqa: B027  most modes hold no resources
        """Called when the project is closed or switches to another mode."""
