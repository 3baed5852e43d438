"""Small pictures of poses for the cards of keys."""

from __future__ import annotations

import base64
import io
import time
from importlib.util import find_spec

from cajole.arrays import Array
from cajole.pictures import picture
from cajole.studio.content import ProjectContent


class PoseThumbnails:
    """Renders poses, until rendering has been too slow too often.

    size: [pixels], twice that of a card; max_bytes: of a picture; background: sRGB of the views in both themes; clay:
    sRGB of bodies without own colours, --clay of tokens.css; max_seconds, max_slow_draws: a body that takes longer to
    render [s of work], so often, gets no further pictures, because drags would wait for them. The first one may be
    slow because kernels are compiled.
    """

    size, max_bytes = (176, 112), 10_000
    background, clay = (0.17, 0.19, 0.22), (0xC8 / 255, 0x49 / 255, 0x2A / 255)
    max_seconds, max_slow_draws = 1.0, 2

    def __init__(self, content: ProjectContent):
        self._content = content
        self.is_enabled = find_spec("PIL") is not None
        self._slow_draws = 0

    def render_data_url(self, positions: Array) -> str | None:
        """The body's vertices (n, 3) [m] as a data URL of a .webp picture; None if it exceeds `max_bytes`."""
        from PIL import Image

        begin, content = time.thread_time(), self._content
        pixels = picture(
            content.mesh if content.skin is None else content.skin,
            positions=positions,
            size=self.size,
            background=self.background,
            floor=self.background,
            colors=None if content.has_own_colors else self.clay,
            renderer="draft",
            **{name: value for name, value in content.camera.items() if name in ("azimuth", "elevation", "fov")},
        )
        self._slow_draws += time.thread_time() - begin > self.max_seconds
        self.is_enabled = self._slow_draws < self.max_slow_draws
        for quality in (80, 60, 40):
            stream = io.BytesIO()
            Image.fromarray(pixels).save(stream, "webp", quality=quality)
            if stream.tell() <= self.max_bytes:
                return "data:image/webp;base64," + base64.b64encode(stream.getvalue()).decode("ascii")
        return None
