"""Bodies in rest and motion: static poses, simulation in time, vibration modes."""

from cajole.dynamics.obstacles import Ground, Obstacle, ObstacleMesh
from cajole.dynamics.simulation import State, simulate
from cajole.dynamics.statics import pose
from cajole.dynamics.vibration import Modes, modes

__all__ = ["Ground", "Modes", "Obstacle", "ObstacleMesh", "State", "modes", "pose", "simulate"]
