"""Built-in flow scenes for `steer`: particles that must follow paths, and gusts that disturb them."""

from cajole.scenes.flow_scenes.leaves import LeavesScene, build_leaves_scene
from cajole.scenes.flow_scenes.swirl import SwirlScene, build_swirl_scene

__all__ = ["FLOW_SCENE_DESCRIPTIONS", "LeavesScene", "SwirlScene", "build_leaves_scene", "build_swirl_scene"]

# NAME of build_NAME_scene -> what must happen in it, whatever blows
FLOW_SCENE_DESCRIPTIONS = {
    "leaves": "a red leaf among seven others: it must write an S in every wind",
    "swirl": "smoke after one blow: three particles must go where they went in the full simulation",
}
