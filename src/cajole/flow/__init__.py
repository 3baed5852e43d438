"""A fluid in a box, on a grid."""

from cajole.flow.fluid import Flow, FlowForce, FlowForceInput, FlowMotion, Gust, evaluate_force

__all__ = ["Flow", "FlowForce", "FlowForceInput", "FlowMotion", "Gust", "evaluate_force"]
