"""`steer`: any motion becomes a controller that a game can run."""

from cajole.direct.steering.controller import Controller, ControllerRun, SteerReport, steer
from cajole.direct.steering.disturbances import Push, Wind
from cajole.direct.steering.realtime_controller import RealtimeController
from cajole.direct.steering.reference import Reference, build_reference
from cajole.direct.steering.serialization import load_controller

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
