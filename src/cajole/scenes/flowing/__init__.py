"""Scenes for `steer` of flows: particles that must write their paths, and gusts that would prevent it."""

from cajole.scenes.flowing.leaves import Leaves, leaves
from cajole.scenes.flowing.swirl import Swirl, swirl

__all__ = ["PURPOSES", "Leaves", "Swirl", "leaves", "swirl"]

# the function of this package that makes a scene -> what must happen in it, whatever blows
PURPOSES = {
    "leaves": "a red leaf among seven others: it must write an S in every wind",
    "swirl": "smoke after one blow: three particles must go where they went in the full simulation",
}
