"""The heart of Figure 6, Jeon and Choi 2007: a generic beat is guided by sectional images of a patient."""

from __future__ import annotations

from cajole.animation import Animation
from cajole.direct.rerouting.images import ImageGoals, goals_from_images
from cajole.scenes.rerouting.heart_beat import FRAMES, beat, heart_pilot
from cajole.scenes.rerouting.heart_images import TIMES, heart_images, heart_section
from cajole.scenes.rerouting.heart_shape import heart_net, vessels
from cajole.scenes.rerouting.staging import ReroutePlan

# which of the vertices around the section are led
EVERY = 3
# [N]
LIMIT = 0.5
CAMERA = {"azimuth": -75.0, "elevation": 8.0, "fov": 34.0, "size": (720, 720), "floor_height": -0.085}


def image_goals(pilot: Animation) -> ImageGoals:
    """What the images ask for."""
    return goals_from_images(pilot, heart_images(pilot), TIMES, heart_section(), every=EVERY)


def heart() -> ReroutePlan:
    """Contours of four images over a beat."""
    return ReroutePlan(
        name="heart",
        title="Heart, guided by images",
        description="A heart of 3,372 nodes beats; a section of it shall be as a patient's images show it.",
        net=heart_net(),
        frames=FRAMES,
        run=heart_pilot,
        aims=lambda pilot: image_goals(pilot).goals,
        settings={"limit": LIMIT, "rest_lengths": beat(), "within": 5e-4},
        props=vessels(),
        camera=CAMERA,
        frames_shown=(0, *TIMES),
    )
