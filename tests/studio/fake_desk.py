"""A desk that keeps what a mode says, for tests without a server."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from cajole.progress import ProgressCallback
from cajole.studio.protocol import ServerMessage, encode_message


class FakeDesk:
    """What modes need of a project, written down."""

    def __init__(self) -> None:
        self.said: list[dict[str, Any]] = []
        self.shown: list[tuple[int, np.ndarray]] = []
        self.ghosts: list[np.ndarray | None] = []
        self.labels: list[str | None] = []
        self.touches = 0
        self.has_stop_request = False
        self.job_id: str | None = None
        self.go_on = True
        self.titles: list[str] = []
        self.redrawn = self.coloured = 0

    def broadcast(self, message: ServerMessage) -> None:
        self.said.append(json.loads(encode_message(message)))

    def show_live_frame(
        self, positions: np.ndarray, *, frame: int, ghost: np.ndarray | None = None, reply_seq: int = 0
    ) -> None:
        assert np.isfinite(positions).all()
        assert ghost is None or (np.isfinite(ghost).all() and ghost.shape == positions.shape)
        self.shown.append((frame, np.array(positions)))
        self.ghosts.append(ghost)

    def record_change(self, label: str | None = None, *, frames_changed: bool = True) -> None:
        self.labels.append(label)

    def invalidate_frames(self) -> None:
        self.touches += 1

    def resend_geometry(self) -> None:
        self.redrawn += 1

    def resend_regions(self) -> None:
        self.coloured += 1

    def begin_job(self, title: str, *, stoppable: bool = False) -> ProgressCallback:
        self.titles.append(title)
        self.job_id = f"job-{len(self.titles)}"
        return lambda fraction, text: self.go_on and not self.has_stop_request

    def end_job(self) -> None:
        self.titles.append("")
        self.job_id = None

    def of(self, kind: str) -> list[dict[str, Any]]:
        """All messages of a kind."""
        return [message for message in self.said if message["is"] == kind]
