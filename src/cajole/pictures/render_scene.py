"""Scene of a picture: the subject, ghosts, a comparison beside it, props, marks and arrows, and a camera that fits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cajole.arrays import Array
from cajole.checks import require_positive, require_real_array, require_unit_interval_array
from cajole.errors import InputError
from cajole.pictures.camera import CameraView, fit_camera
from cajole.pictures.environment import RenderEnvironment
from cajole.pictures.render_mesh import (
    RenderMesh,
    build_arrow_mesh,
    build_edge_mesh,
    build_ghost_mesh,
    build_marker_mesh,
)
from cajole.pictures.renderable import Renderable


@dataclass(frozen=True, eq=False)
class RenderScene:
    """Subjects with opacity and offset (3,) [m], props with opacity, static meshes of marks and arrows, and shading.

    low, high: (3,) corners [m] of the box around subjects and marks; radius [m]: half its diagonal; frames_in_view: the
    frames that fit in the picture, all if None.
    """

    instances: tuple[tuple[Renderable, float, Array], ...]
    props: tuple[tuple[Renderable, float], ...]
    annotation_meshes: tuple[RenderMesh, ...]
    smooth: bool | None
    wireframe: bool
    low: Array
    high: Array
    radius: float
    frames_in_view: Sequence[int] | None = None

    @property
    def centre(self) -> Array:
        """Middle (3,) [m] of the box around everything, over the frames in view."""
        return (self.low + self.high) / 2

    def iter_point_sets(self) -> Iterator[Array]:
        """All sets of points (n, 3) that must be visible, over the frames in view, in units of the radius."""
        for subject, _, shift in self.instances:
            yield from (
                (cloud + shift - self.centre) / self.radius
                for cloud in _iter_vertex_positions(subject, self.frames_in_view)
            )
        yield from (extra.to_scene_units(self.centre, self.radius).vertices for extra in self.annotation_meshes)

    def build_meshes(self, frame: int) -> list[RenderMesh]:
        """All meshes at one frame, in units of the radius."""
        # transparent meshes are blended in this order: water before ghosts
        actors = [replace(prop.build_mesh(frame), opacity=opacity) for prop, opacity in self.props]
        actors += self.annotation_meshes
        for subject, opacity, shift in self.instances:
            dressed = (
                self._build_opaque_meshes(subject, frame)
                if opacity >= 1
                else [self._build_ghost(subject, frame, opacity)]
            )
            actors += [replace(actor, vertices=actor.vertices + shift) for actor in dressed]
        return [actor.to_scene_units(self.centre, self.radius) for actor in actors]

    def _build_opaque_meshes(self, renderable: Renderable, frame: int) -> list[RenderMesh]:
        actor = renderable.build_mesh(frame, smooth=self.smooth)
        if not self.wireframe:
            return [actor]
        return [
            actor,
            build_edge_mesh(renderable.compute_positions(frame), renderable.mesh.edges, 0.0016 * self.radius),
        ]

    def _build_ghost(self, renderable: Renderable, frame: int, opacity: float) -> RenderMesh:
        return build_ghost_mesh(renderable.build_mesh(frame, smooth=True), opacity, 0.003 * self.radius)


def build_render_scene(
    renderable: Renderable,
    ghosts: tuple[tuple[Renderable, float], ...],
    comparison: tuple[Renderable, Array] | None,
    marker_points: ArrayLike | None,
    arrow_arrays: tuple[ArrayLike, ArrayLike] | None,
    *,
    smooth: bool | None,
    wireframe: bool,
    props: tuple[tuple[Renderable, float], ...] = (),
    mark_size: float | None = None,
    frames_in_view: Sequence[int] | None = None,
) -> RenderScene:
    """Place subjects, ghosts, marks (k, 3) [m] and arrows; comparison: another subject and its direction (3,).

    mark_size: radius of marks [m], 2.2 % of the scene's radius if None. frames_in_view: frames that fit in the picture.
    """
    no_offset = np.zeros(3)
    instances = [(renderable, 1.0, no_offset), *((ghost, opacity, no_offset) for ghost, opacity in ghosts)]
    if comparison is not None:
        instances.append(
            (comparison[0], 1.0, _compute_comparison_offset([s for s, _, _ in instances], *comparison, frames_in_view))
        )
    marker_positions = (
        np.empty((0, 3)) if marker_points is None else require_real_array(marker_points, "marks", (None, 3))
    )
    origins, vectors = _check_arrows(arrow_arrays)
    boxes = [_compute_bounds(player, frames_in_view) + shift for player, _, shift in instances]
    corners = np.concatenate([*boxes, marker_positions, origins, origins + vectors])
    low, high = corners.min(axis=0), corners.max(axis=0)
    radius = float(np.linalg.norm(high - low)) / 2
    if not radius > 0:
        raise InputError(
            "all points of the subject are in one place, so that there is nothing to picture; check its scale"
        )
    # marks and arrow heads extend beyond their points
    size = 0.022 * radius if mark_size is None else require_positive(mark_size, "mark_size (m)")
    radius += size if len(marker_positions) + len(origins) else 0.0
    annotation_meshes = (
        [build_marker_mesh(marker_positions, size)] if len(marker_positions) else []
    ) + _build_arrow_meshes(origins, vectors)
    return RenderScene(
        tuple(instances), props, tuple(annotation_meshes), smooth, wireframe, low, high, radius, frames_in_view
    )


def build_environment(scene: RenderScene, settings: Mapping[str, Any]) -> RenderEnvironment:
    """The studio around a scene, with the camera fitted to all frames in view."""
    view = CameraView(*(settings[name] for name in ("size", "azimuth", "elevation", "fov")))
    camera = fit_camera(view, scene.iter_point_sets(), radius=1.0)
    height = scene.low[2] if settings["floor_height"] is None else settings["floor_height"]
    floor = float(require_real_array([height], "floor_height", (1,))[0] - scene.centre[2]) / scene.radius
    return RenderEnvironment(
        camera, floor, *(require_unit_interval_array(settings[name], name, (3,)) for name in ("background", "floor"))
    )


def _compute_comparison_offset(
    renderables: list[Renderable], other: Renderable, direction: Array, frames_in_view: Sequence[int] | None
) -> Array:
    """Offset (3,) [m] of another subject along a unit direction that clears all renderables."""
    ours = np.array([_compute_extent_along(player, direction, frames_in_view) for player in renderables])
    low, high = _compute_extent_along(other, direction, frames_in_view)
    width = max(float(np.ptp(ours)), high - low)
    return (float(ours[:, 1].max()) - low + 0.12 * width) * direction


def _compute_extent_along(
    renderable: Renderable, direction: Array, frames_in_view: Sequence[int] | None
) -> tuple[float, float]:
    along = [cloud @ direction for cloud in _iter_vertex_positions(renderable, frames_in_view)]
    return min(float(a.min()) for a in along), max(float(a.max()) for a in along)


def _compute_bounds(renderable: Renderable, frames_in_view: Sequence[int] | None) -> Array:
    """Bounding box (2, 3) [m] over the frames in view."""
    ends = np.array(
        [[cloud.min(axis=0), cloud.max(axis=0)] for cloud in _iter_vertex_positions(renderable, frames_in_view)]
    )
    return np.array([ends[:, 0].min(axis=0), ends[:, 1].max(axis=0)])


def _iter_vertex_positions(renderable: Renderable, frames_in_view: Sequence[int] | None) -> Iterator[Array]:
    """Positions of used vertices (k, 3) [m] at the frames in view, or at 240 evenly spaced ones of them."""
    used = renderable.mesh.used_vertex_mask
    wanted = range(renderable.frames) if frames_in_view is None else frames_in_view
    frames = {wanted[k] for k in np.linspace(0, len(wanted) - 1, min(len(wanted), 240)).round().astype(int)}
    # later frames than the last repeat it
    return (
        renderable.compute_positions(frame)[used]
        for frame in sorted({min(frame, renderable.frames - 1) for frame in frames})
    )


def _check_arrows(arrow_arrays: tuple[ArrayLike, ArrayLike] | None) -> tuple[Array, Array]:
    if arrow_arrays is None:
        return np.empty((0, 3)), np.empty((0, 3))
    try:
        origins, vectors = arrow_arrays
    except (TypeError, ValueError):
        raise InputError(
            f"arrows must be two arrays (k, 3), origins and vectors [m], not a {type(arrow_arrays).__name__}"
        ) from None
    starts = require_real_array(origins, "arrows[0]", (None, 3))
    return starts, require_real_array(vectors, "arrows[1]", (len(starts), 3))


def _build_arrow_meshes(origins: Array, vectors: Array) -> list[RenderMesh]:
    return [build_arrow_mesh(origins, vectors)] if vectors.any() else []
