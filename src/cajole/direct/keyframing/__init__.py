"""`keyframe`: poses at frames become a physical motion (reduced space-time optimisation, Barbič et al. 2009)."""

from cajole.direct.keyframing.fitting import Fit, fit_pose, fit_poses
from cajole.direct.keyframing.keys import Key
from cajole.direct.keyframing.pulling import Load, Pull
from cajole.direct.keyframing.sequence import Segment, ShotSequence, keyframe_sequence
from cajole.direct.keyframing.session import PoseSession
from cajole.direct.keyframing.shot import KeyframeReport, Shot
from cajole.direct.keyframing.solve import keyframe

__all__ = [
    "Fit",
    "Key",
    "KeyframeReport",
    "Load",
    "PoseSession",
    "Pull",
    "Segment",
    "Shot",
    "ShotSequence",
    "fit_pose",
    "fit_poses",
    "keyframe",
    "keyframe_sequence",
]
