"""`steer`: any motion becomes a controller that a game can run."""

from cajole.direct.steering.controller import Controller, ControllerRun, RealtimeController, load_controller
from cajole.direct.steering.disturbances import Push, Wind
from cajole.direct.steering.reference import Reference, build_reference
from cajole.direct.steering.report import SteerReport
from cajole.direct.steering.steer import steer

__all__ = [
    "Controller",
    "ControllerRun",
    "Push",
    "RealtimeController",
    "Reference",
    "SteerReport",
    "Wind",
    "build_reference",
    "load_controller",
    "steer",
]
