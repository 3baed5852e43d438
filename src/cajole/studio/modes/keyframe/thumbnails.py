"""Small pictures of poses, for the cards of keys."""

from __future__ import annotations

import base64
import io
import time

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import Array
from cajole.pictures import picture
from cajole.studio.content import ProjectContent

# [pixels], twice what a card shows; [bytes] of a picture at most
THUMBNAIL_SIZE, MAX_THUMBNAIL_BYTES = (176, 112), 10_000
WEBP_QUALITIES = (80, 60, 40)
# what pictures of a scene share with it
CAMERA_KEYS = ("azimuth", "elevation", "fov")
# the slate behind the views, in both themes: pictures are no part of the page's colours
BACKGROUND_COLOR = (0.17, 0.19, 0.22)
# what views draw bodies in that have no colours of their own, --clay of tokens.css, sRGB
CLAY_COLOR = (0xC8 / 255, 0x49 / 255, 0x2A / 255)
# A body that takes longer to draw than this [s of work], and that so often, gets no further pictures: the hand would
# wait for them. The first one may only have been slow because nothing was compiled yet.
MAX_DRAW_SECONDS, MAX_SLOW_DRAWS = 1.0, 2


class PoseThumbnails:
    """Draws poses one at a time, until one has taken too long."""

    def __init__(self, content: ProjectContent):
        self._content = content
        self._colors = None if content.has_own_colors else CLAY_COLOR
        self.is_enabled = _has_pillow()
        self._slow_draws = 0

    def render_data_url(self, positions: Array) -> str | None:
        """The body's vertices (n, 3) [m] as a data URL of a small .webp; None where it cannot be small."""
        begin = time.thread_time()
        camera = {name: value for name, value in self._content.camera.items() if name in CAMERA_KEYS}
        subject = self._content.skin if self._content.skin is not None else self._content.mesh
        pixels = picture(
            subject,
            positions=positions,
            size=THUMBNAIL_SIZE,
            background=BACKGROUND_COLOR,
            floor=BACKGROUND_COLOR,
            colors=self._colors,
            renderer="draft",
            **camera,
        )
        self._slow_draws += time.thread_time() - begin > MAX_DRAW_SECONDS
        self.is_enabled = self._slow_draws < MAX_SLOW_DRAWS
        return _encode_webp(pixels)


def _encode_webp(pixels: NDArray[np.uint8]) -> str | None:
    from PIL import Image

    for quality in WEBP_QUALITIES:
        stream = io.BytesIO()
        Image.fromarray(pixels).save(stream, "webp", quality=quality)
        if stream.tell() <= MAX_THUMBNAIL_BYTES:
            return "data:image/webp;base64," + base64.b64encode(stream.getvalue()).decode("ascii")
    return None


def _has_pillow() -> bool:
    try:
        import PIL.Image  # noqa: F401
    except ImportError:
        return False
    return True
