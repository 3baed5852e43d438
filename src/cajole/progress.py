"""Progress callbacks, which can also cancel the work."""

from __future__ import annotations

from collections.abc import Callable

from cajole.errors import Cancelled

# called as progress(fraction, text): the fraction done in [0, 1] and what is being done; returning False stops the work
ProgressCallback = Callable[[float, str], bool | None]


def report_progress(progress: ProgressCallback | None, fraction: float, text: str) -> None:
    """Report the fraction done, in [0, 1], to the callback; raise Cancelled if it returns False."""
    if progress is not None and progress(min(max(float(fraction), 0.0), 1.0), text) is False:
        raise Cancelled(f"stopped at {fraction:.0%} ({text}), as the progress callback asked")


def build_subprogress(progress: ProgressCallback | None, start: float, stop: float) -> ProgressCallback | None:
    """A callback for a part of the work: its range 0 to 1 maps to `start` to `stop` of the whole."""
    return None if progress is None else lambda fraction, text: progress(start + (stop - start) * fraction, text)
