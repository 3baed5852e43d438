"""The five verbs, and what they share: the Riccati sweep over implicit steps."""

from cajole.direct.keyframing import Fit, Key, KeyframeReport, Load, PoseSession, Shot, fit_pose, fit_poses, keyframe

__all__ = ["Fit", "Key", "KeyframeReport", "Load", "PoseSession", "Shot", "fit_pose", "fit_poses", "keyframe"]
