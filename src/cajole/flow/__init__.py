"""A fluid in a box, on a grid."""

from cajole.flow.flow import Flow
from cajole.flow.forces import FlowForce, Forces, Gust, force_of
from cajole.flow.motion import FlowMotion

__all__ = ["Flow", "FlowForce", "FlowMotion", "Forces", "Gust", "force_of"]
