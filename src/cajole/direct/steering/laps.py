"""How often a loop is gone through backwards until its gains no longer change."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cajole.arrays import Array
from cajole.direct.steering.motion import Reference

# The gains of a loop have settled when a lap repeats them to this; laps that gains of a loop may need, and steps: the
# shorter a lap is beside the time it takes to come back, the more of them.
SETTLED, MOST_LAPS, MOST_STEPS = 1e-10, 50, 20_000
# Steps of a lap whose gains are watched, about: all of them would take as long to compare as to make.
WATCHED = 64
# On stiff models rounding stops it earlier: at changes below this that no longer become less. Laps shorter than a
# period change little each, long before they are done.
FLOOR, SHORT_FLOOR = 1e-4, 1e-9


@dataclass
class Laps:
    """most: how many; window: laps in a period of the slowest vibration, within which changes rise and fall again."""

    most: int
    window: int
    _changes: list[float] = field(default_factory=list)

    @classmethod
    def of(cls, reference: Reference) -> Laps:
        """Those of a loop; a motion that ends is gone through once."""
        if not reference.loop:
            return cls(1, 1)
        lap = reference.steps * reference.dt
        return cls(
            max(MOST_LAPS, MOST_STEPS // reference.steps), int(np.ceil(2.0 * np.pi / (reference.model.frequency * lap)))
        )

    def settled(self, before: Array, gains: Array) -> bool:
        """Whether a lap that turned the gains `before` (., r, 2r) into `gains` need not be followed by another.

        Gains settle before values do: rounding of stiff modes is large in these and drops out of those.
        """
        scale = float(np.abs(gains).max())
        self._changes.append(float(np.abs(gains - before).max()) / scale if scale > 0 else 0.0)
        late, early = self._changes[-self.window :], self._changes[: -self.window]
        floor = FLOOR if self.window == 1 else SHORT_FLOOR
        return late[-1] <= SETTLED or (late[-1] < floor and bool(early) and min(late) >= min(early))
