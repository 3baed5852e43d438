"""`keyframe`: poses at frames become a physical motion (reduced space-time optimisation, Barbič et al. 2009)."""

from cajole.direct.keyframing.keys import Key
from cajole.direct.keyframing.pose_fit import PoseFit, fit_pose, fit_poses
from cajole.direct.keyframing.pose_session import Load, LoadDrag, PoseSession
from cajole.direct.keyframing.sequence import Segment, ShotSequence, keyframe_sequence
from cajole.direct.keyframing.shot import KeyframeReport, Shot
from cajole.direct.keyframing.solve import keyframe

__all__ = [
    "Key",
    "KeyframeReport",
    "Load",
    "LoadDrag",
    "PoseFit",
    "PoseSession",
    "Segment",
    "Shot",
    "ShotSequence",
    "fit_pose",
    "fit_poses",
    "keyframe",
    "keyframe_sequence",
]
