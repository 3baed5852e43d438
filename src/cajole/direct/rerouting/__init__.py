"""`reroute`: nodes of a mass-spring simulation are led along new paths, after Jeon and Choi 2007."""

from cajole.direct.rerouting.goals import Goal, pose_goals
from cajole.direct.rerouting.images import ImageGoals, goals_from_images
from cajole.direct.rerouting.measures import Likeness
from cajole.direct.rerouting.paper import Seeking
from cajole.direct.rerouting.report import GoalReport, Path, RerouteReport, RerouteResult
from cajole.direct.rerouting.reroute import METHODS, reroute
from cajole.direct.rerouting.sections import Section

__all__ = [
    "METHODS",
    "Goal",
    "GoalReport",
    "ImageGoals",
    "Likeness",
    "Path",
    "RerouteReport",
    "RerouteResult",
    "Section",
    "Seeking",
    "goals_from_images",
    "pose_goals",
    "reroute",
]
