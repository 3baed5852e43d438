"""Built-in scenes for `steer`: motions with a target event, and pushes that would prevent it."""

from cajole.scenes.steer_scenes.bee import BeeLandingScene, build_bee_landing_scene
from cajole.scenes.steer_scenes.dinosaur import RootedDinosaurScene, build_rooted_scene
from cajole.scenes.steer_scenes.strike import StrikeScene, build_strike_scene

__all__ = [
    "STEER_SCENE_DESCRIPTIONS",
    "BeeLandingScene",
    "RootedDinosaurScene",
    "StrikeScene",
    "build_bee_landing_scene",
    "build_rooted_scene",
    "build_strike_scene",
]

# NAME of build_NAME_scene -> what must happen in it, whatever pushes
STEER_SCENE_DESCRIPTIONS = {
    "bee_landing": "a flower in the wind: its bloom must be under a bee that follows its own path",
    "rooted": "a dinosaur on planted feet: its head must end where it should, however it gets there",
    "strike": "a T whose arms swing round: both ends must strike two hanging balls, and in time",
}
