"""What tests of the studio share: the clock of undo; of enrich mode also a desk, and the mode on it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from enrich_mode_cases import content
from fake_desk import FakeDesk
from mode_cases import do
from steer_mode_cases import Clock

from cajole.studio.modes import undo
from cajole.studio.modes.enrich.mode import EnrichMode


@pytest.fixture(autouse=True)
def undo_clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock by which changes that follow each other quickly become one step of undo: it moves by the test alone."""
    clock = Clock()
    monkeypatch.setattr(undo, "time", SimpleNamespace(monotonic=clock))
    return clock


@pytest.fixture
def desk() -> FakeDesk:
    return FakeDesk()


@pytest.fixture
def mode(desk: FakeDesk) -> EnrichMode:
    """Enrich, at the cube with a shell of 98 vertices, in few steps."""
    made = EnrichMode(desk, content())
    do(made, "shell", levels=2)
    do(made, "cloth", substeps=2)
    return made
