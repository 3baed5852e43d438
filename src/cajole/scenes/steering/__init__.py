"""Scenes for `steer`: motions in which something must happen, and pushes that would prevent it."""

from cajole.scenes.steering.bee import BeeLanding, bee_landing
from cajole.scenes.steering.creature import Rooted, rooted
from cajole.scenes.steering.strike import Strike, strike

__all__ = ["PURPOSES", "BeeLanding", "Rooted", "Strike", "bee_landing", "rooted", "strike"]

# the function of this package that makes a scene -> what must happen in it, whatever pushes
PURPOSES = {
    "bee_landing": "a flower in the wind: its bloom must be under a bee that follows its own path",
    "rooted": "a dinosaur on planted feet: its head must end where it should, however it gets there",
    "strike": "a T whose arms swing round: both ends must strike two hanging balls, and in time",
}
