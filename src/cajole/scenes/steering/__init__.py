"""Scenes for `steer`: motions in which something must happen, and pushes that would prevent it."""

from cajole.scenes.steering.bee import BeeLanding, bee_landing
from cajole.scenes.steering.creature import Rooted, rooted
from cajole.scenes.steering.strike import Strike, strike

__all__ = ["BeeLanding", "Rooted", "Strike", "bee_landing", "rooted", "strike"]
