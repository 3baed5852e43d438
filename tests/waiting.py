"""Waiting for states in tests: no test passes or fails by how long something takes."""

from __future__ import annotations

import time
from collections.abc import Callable

# The only time limit of the tests [s]. It ends a test that would wait forever; no machine is slow enough to reach it.
PATIENCE = 600.0
# [s] between two looks at a state
POLL = 0.005


def wait_until(is_so: Callable[[], object], what: str) -> None:
    """Return once `is_so()` is true. Raises TimeoutError naming `what` after PATIENCE."""
    end = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > end:
            raise TimeoutError(f"{what} did not happen within {PATIENCE:.0f} s")
        time.sleep(POLL)
