"""When frames are made while a hand moves things: between its letters, so that it does not wait for them."""

from __future__ import annotations

# a hand moves as long as its last letter is this young [s]
HAND_REST = 0.15
# after so long without a frame [s] one is made, whether it fits or not
STARVED = 0.2
# the share of a new measurement in a running mean
FRESH = 0.3


class Rhythm:
    """When a hand's next letter comes, and whether a frame can be made before."""

    def __init__(self) -> None:
        self._heard = self._made = float("-inf")
        self._period = self._takes = 0.0

    def hear(self, at: float) -> None:
        """A letter of a hand came at a time [s]."""
        since = at - self._heard
        if since < HAND_REST:
            self._period += (FRESH if self._period else 1.0) * (since - self._period)
        self._heard = at

    def make(self, begin: float, end: float) -> None:
        """A frame was made from one time to the other [s]."""
        self._takes += (FRESH if self._takes else 1.0) * (end - begin - self._takes)
        self._made = end

    def rest(self, now: float) -> float:
        """Seconds until a frame may be begun, 0 for at once."""
        if now - self._heard >= HAND_REST or now + self._takes <= self._heard + self._period:
            return 0.0
        return max(0.0, min(self._heard + HAND_REST, self._made + STARVED) - now)
