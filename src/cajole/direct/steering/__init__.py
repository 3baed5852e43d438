"""`steer`: any motion becomes a controller that a game can run."""

from cajole.direct.steering.controller import Controller, Run, SteerReport, steer
from cajole.direct.steering.disturbances import Push, Wind
from cajole.direct.steering.files import load_controller
from cajole.direct.steering.live import Live
from cajole.direct.steering.motion import Reference, reference

__all__ = [
    "Controller",
    "Live",
    "Push",
    "Reference",
    "Run",
    "SteerReport",
    "Wind",
    "load_controller",
    "reference",
    "steer",
]
