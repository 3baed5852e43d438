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

__all__ = [
    "Fit",
    "Key",
    "KeyframeReport",
    "Load",
    "PoseSession",
    "Segment",
    "Shot",
    "ShotSequence",
    "fit_pose",
    "fit_poses",
    "keyframe",
    "keyframe_sequence",
]
