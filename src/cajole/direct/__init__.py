"""The five verbs, and what they share: the Riccati sweep over implicit steps."""

from cajole.direct.keyframing import Key, KeyframeReport, Load, PoseSession, Shot, keyframe

__all__ = ["Key", "KeyframeReport", "Load", "PoseSession", "Shot", "keyframe"]
