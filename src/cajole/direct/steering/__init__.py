"""`steer`: any motion becomes a controller that a game can run."""

from cajole.direct.steering.controller import Controller, steer
from cajole.direct.steering.disturbances import Push, Wind
from cajole.direct.steering.files import load_controller
from cajole.direct.steering.live import Live
from cajole.direct.steering.motion import Reference
from cajole.direct.steering.references import reference
from cajole.direct.steering.runs import Run, SteerReport

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
