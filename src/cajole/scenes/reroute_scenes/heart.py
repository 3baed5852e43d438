"""The heart of Figure 6, Jeon and Choi 2007: a generic heartbeat guided by sectional images of a patient."""

from __future__ import annotations

from cajole.animation import Animation
from cajole.direct.rerouting.image_goals import ImageGoals, build_image_goals
from cajole.scenes.reroute_scenes.heart_images import IMAGE_FRAMES, build_heart_section, render_heart_images
from cajole.scenes.reroute_scenes.heart_model import (
    FRAMES,
    build_heart_springs,
    build_vessels,
    compute_rest_lengths,
    simulate_heart_pilot,
)
from cajole.scenes.reroute_scenes.reroute_scene import ReroutePlan

# [N]
FORCE_LIMIT = 0.5
CAMERA = {"azimuth": -75.0, "elevation": 8.0, "fov": 34.0, "size": (720, 720), "floor_height": -0.085}


def build_heart_image_goals(pilot: Animation) -> ImageGoals:
    """Goals from the contours of the images."""
    # which of the vertices around the section are led
    contour_stride = 3
    return build_image_goals(
        pilot, render_heart_images(pilot), IMAGE_FRAMES, build_heart_section(), every=contour_stride
    )


def build_heart_plan() -> ReroutePlan:
    """The scene with contours of four images over one beat."""
    return ReroutePlan(
        name="heart",
        title="Heart, guided by images",
        description="A heart of 3,372 nodes beats; a section of it shall be as a patient's images show it.",
        net=build_heart_springs(),
        frames=FRAMES,
        simulate_pilot=simulate_heart_pilot,
        build_goals=lambda pilot: build_heart_image_goals(pilot).goals,
        reroute_options={"limit": FORCE_LIMIT, "rest_lengths": compute_rest_lengths(), "within": 5e-4},
        props=build_vessels(),
        camera=CAMERA,
        frames_shown=(0, *IMAGE_FRAMES),
    )
