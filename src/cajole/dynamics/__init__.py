"""Bodies in rest and motion: static poses, simulation in time, vibration modes."""

from cajole.dynamics.modal_analysis import Modes, modes
from cajole.dynamics.obstacles import Ground, Obstacle, ObstacleMesh
from cajole.dynamics.simulation import InitialState, simulate
from cajole.dynamics.statics import pose

__all__ = ["Ground", "InitialState", "Modes", "Obstacle", "ObstacleMesh", "modes", "pose", "simulate"]
