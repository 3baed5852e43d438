"""The five verbs, and what they share: the Riccati sweep over implicit steps."""

from cajole.direct.keyframing import (
    Fit,
    Key,
    KeyframeReport,
    Load,
    PoseSession,
    Segment,
    Shot,
    ShotSequence,
    fit_pose,
    fit_poses,
    keyframe,
    keyframe_sequence,
)
from cajole.direct.steering import Controller, Live, Push, Reference, Run, SteerReport, Wind, reference, steer

__all__ = [
    "Controller",
    "Fit",
    "Key",
    "KeyframeReport",
    "Live",
    "Load",
    "PoseSession",
    "Push",
    "Reference",
    "Run",
    "Segment",
    "Shot",
    "ShotSequence",
    "SteerReport",
    "Wind",
    "fit_pose",
    "fit_poses",
    "keyframe",
    "keyframe_sequence",
    "reference",
    "steer",
]
