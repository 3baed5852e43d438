"""`reroute`: nodes of a mass-spring simulation are led along new paths, after Jeon and Choi 2007."""

from cajole.direct.rerouting.cone_search import ConeSearchOptions
from cajole.direct.rerouting.goals import Goal, build_pose_goals
from cajole.direct.rerouting.image_goals import ImageGoals, build_image_goals
from cajole.direct.rerouting.path_similarity import PathSimilarity
from cajole.direct.rerouting.report import GoalPath, GoalReport, RerouteReport, RerouteResult
from cajole.direct.rerouting.reroute import METHODS, reroute
from cajole.direct.rerouting.sections import ImageSection

__all__ = [
    "METHODS",
    "ConeSearchOptions",
    "Goal",
    "GoalPath",
    "GoalReport",
    "ImageGoals",
    "ImageSection",
    "PathSimilarity",
    "RerouteReport",
    "RerouteResult",
    "build_image_goals",
    "build_pose_goals",
    "reroute",
]
