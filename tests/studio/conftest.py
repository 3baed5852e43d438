"""What tests of enrich mode share: a desk, and the mode on it."""

from __future__ import annotations

import pytest
from enrich_mode_cases import content
from fake_desk import FakeDesk
from mode_cases import do

from cajole.studio.modes.enrich import EnrichMode


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
