"""Bodies in rest and motion: static poses, simulation in time, vibration modes."""

from cajole.dynamics.modes import Modes, modes
from cajole.dynamics.pose import pose
from cajole.dynamics.simulate import State, simulate

__all__ = ["Modes", "State", "modes", "pose", "simulate"]
