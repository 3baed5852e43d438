"""Scenes are built once per test session, into the cache of the session."""

from __future__ import annotations

import pytest

from cajole.scenes import Scene, scene


@pytest.fixture(scope="session", params=["beam", "dinosaur", "fish", "elephant", "flower", "tee", "bridge"])
def built(request: pytest.FixtureRequest) -> Scene:
    return scene(request.param)
