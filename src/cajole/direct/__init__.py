"""The five verbs, and what they share: the Riccati sweep over implicit steps."""

from cajole.direct.keyframing import Key, KeyframeReport, Shot, keyframe

__all__ = ["Key", "KeyframeReport", "Shot", "keyframe"]
