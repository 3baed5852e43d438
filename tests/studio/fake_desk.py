"""A desk that keeps what a mode says, for tests without a server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from cajole.progress import Progress


class FakeDesk:
    """What modes need of a project, written down."""

    def __init__(self) -> None:
        self.said: list[dict[str, Any]] = []
        self.shown: list[tuple[int, np.ndarray]] = []
        self.ghosts: list[np.ndarray | None] = []
        self.labels: list[str | None] = []
        self.touches = 0
        self.stopped = False
        self.job: str | None = None
        self.go_on = True
        self.titles: list[str] = []
        self.redrawn = self.coloured = 0

    def say(self, message: Mapping[str, Any]) -> None:
        self.said.append(json.loads(json.dumps(dict(message), allow_nan=False)))

    def show(self, positions: np.ndarray, *, frame: int, ghost: np.ndarray | None = None, seq: int = 0) -> None:
        assert np.isfinite(positions).all()
        assert ghost is None or (np.isfinite(ghost).all() and ghost.shape == positions.shape)
        self.shown.append((frame, np.array(positions)))
        self.ghosts.append(ghost)

    def changed(self, label: str | None = None, *, motion: bool = True) -> None:
        self.labels.append(label)

    def touched(self) -> None:
        self.touches += 1

    def redraw(self) -> None:
        self.redrawn += 1

    def colour(self) -> None:
        self.coloured += 1

    def working(self, title: str, *, stoppable: bool = False) -> Progress:
        self.titles.append(title)
        self.job = f"job-{len(self.titles)}"
        return lambda fraction, text: self.go_on and not self.stopped

    def worked(self) -> None:
        self.titles.append("")
        self.job = None

    def of(self, kind: str) -> list[dict[str, Any]]:
        """All messages of a kind."""
        return [message for message in self.said if message["is"] == kind]
