"""`edit`: open an editor for a finished animation, with a body for it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.animation import Animation, Contacts, require_animation
from cajole.arrays import Array, IndexArray
from cajole.body import Body, BodySolid, EmbeddedMesh, embed_in_solid
from cajole.body.rayleigh import get_rayleigh_damping
from cajole.direct.editing.edit_model import EditModel
from cajole.direct.editing.editor import Editor
from cajole.direct.editing.linear_constraints import NEGLIGIBLE_MODE_WEIGHT
from cajole.direct.editing.report import WARP_NAMES, EditOptions
from cajole.direct.editing.spacetime import MIN_FRAMES, EditSettings, find_editable_frames
from cajole.direct.editing.warp import IdentityWarp, Warp
from cajole.dynamics import modes as modes_of
from cajole.dynamics.modal_analysis import count_modes
from cajole.errors import InputError
from cajole.linalg.threads import limit_blas_threads
from cajole.mesh import MeshTet, MeshTri
from cajole.mesh.line import require_surface
from cajole.progress import ProgressCallback

# Contacts in the energy by default: a drag takes a few milliseconds with them.
DEFAULT_MAX_CONTACTS = 500
# Patches with one representative contact, from the smallest: frames, and width in sizes of the mesh.
CONTACT_PATCH_SIZES = ((1, 0.05), (2, 0.1), (4, 0.1), (8, 0.15), (16, 0.2), (32, 0.3), (64, 0.5))


def edit(
    animation: Animation,
    body: Body | EmbeddedMesh | None = None,
    modes: int | None = None,
    *,
    ends: str = "fixed",
    h: float | None = None,
    damping: tuple[float, float] | None = None,
    energy: str = "forces",
    smoothness: float = 1.0,
    window: tuple[int, int] | None = None,
    region: ArrayLike | None = None,
    warp: str = "composition",
    contacts: Contacts | None = None,
    cluster: int | None = DEFAULT_MAX_CONTACTS,
    whole: bool = False,
    fixed: ArrayLike | None = None,
    progress: ProgressCallback | None = None,
) -> Editor:
    """Open an editor for a finished animation; its changes minimise the added force over space and time, eq. (2).

    animation: at least 5 frames, from any source, of tets or triangles. body: its rest shape, material and fixed
    vertices: a solid or shell of the same mesh, or for triangles the result of `embed_in_solid`; generated when None.
    modes: number of vibration modes of a change; 500 when None, or all of a small body.
    ends: "fixed" keeps the last two frames, "free" does not. h [s]: time step of the energy, that of the animation when
    None; damping (α [1/s], β [s]) of the change, that of the body when None; energy: "forces", or "smooth" eq. (10)
    with smoothness μ in units of 1/λ₁. window: (first, last) frames, and region: vertices, outside of which nothing
    changes. warp: "composition", or "additive" as in the paper, or "none" for linear changes. contacts: to preserve,
    those of the animation when None; cluster: largest number in the energy, above which one contact represents a
    patch, None for all (the warp preserves every contact in any case). whole: True if a body without fixed vertices
    may also move rigidly. fixed: fixed vertices of a generated body; those that never move when None. Raises
    InputError for an animation of another mesh, too few frames, or more modes than the body has.
    """
    animation = require_animation(animation)
    checks.require_choice(warp, "warp", WARP_NAMES)
    if animation.frames < MIN_FRAMES:
        raise InputError(f"the animation has {animation.frames} frames, but {MIN_FRAMES} are the fewest to edit")
    rate = 1.0 / animation.fps if h is None else h
    settings = EditSettings(rate, (0.0, 0.0) if damping is None else damping, ends, energy, smoothness, window)
    find_editable_frames(settings, animation.frames)
    if contacts is None:
        contacts = animation.contacts
    else:
        checks.require_instance(contacts, Contacts, "contacts")
        contacts.require_within(animation.frames, animation.n)
        animation = replace(animation, contacts=contacts)
    edit_body = _select_body(animation, body, fixed)
    region_vertices = None
    if region is not None:
        indices = checks.require_index_array(checks.wrap_scalar(region), "region", (None,), animation.n)
        region_vertices = np.unique(indices)
        if len(region_vertices) == 0:
            raise InputError("region names no vertex, so nothing could change; leave it out to edit all")
        edit_body = _restrict_to_region(edit_body, region_vertices)
    if damping is None:
        settings = replace(settings, damping=get_rayleigh_damping(edit_body.body))
    model = _build_edit_model(animation, edit_body, modes, warp, whole, progress)
    clustered_contacts = contacts
    if contacts is not None and cluster is not None:
        clustered_contacts = _cluster_contacts(contacts, animation, checks.require_integer(cluster, "cluster"))
    options = EditOptions(
        len(model.eigenvalues),
        warp,
        None if region_vertices is None else tuple(region_vertices.tolist()),
        whole,
        cluster,
    )
    return Editor(model, settings, options, clustered_contacts)


def _cluster_contacts(contacts: Contacts, animation: Animation, max_contacts: int) -> Contacts:
    """At most max_contacts: all, or one per patch, for the smallest sufficient patches; else for the largest ones."""
    clustered = contacts
    for frames, width in CONTACT_PATCH_SIZES:
        if len(clustered) <= max_contacts:
            return clustered
        clustered = contacts.clustered(animation.mesh, max_frames=frames, max_width=width * animation.mesh.size)
    return clustered if len(clustered) <= max_contacts else contacts.clustered(animation.mesh)


@dataclass(frozen=True, eq=False)
class _EditBody:
    """The body of an animation, and the mesh that is warped.

    embedding_body: embedding of the animation's vertices in the body, None if they are those of the body. is_floating:
    True if no vertex is fixed. is_generated: True if its stiffness follows from the duration of the animation.
    """

    body: Body
    embedding_body: EmbeddedMesh | None
    mesh: MeshTet | MeshTri
    is_floating: bool
    is_generated: bool

    def interpolate_shapes(self, shapes: Array) -> Array:
        """Mode shapes (3n, r) at the animation's vertices."""
        if self.embedding_body is None:
            return shapes
        W = self.embedding_body.embedding.matrix
        return np.asarray(W @ shapes.reshape(W.shape[1], -1)).reshape(3 * W.shape[0], -1)


def _select_body(animation: Animation, body: Body | EmbeddedMesh | None, fixed: ArrayLike | None) -> _EditBody:
    mesh, made = require_surface(animation.mesh, "edit"), body is None
    if body is None:
        fixed = find_static_vertices(animation) if fixed is None else fixed
        body = BodySolid(mesh, fixed=fixed) if isinstance(mesh, MeshTet) else embed_in_solid(mesh, fixed=fixed)
    elif fixed is not None:
        raise InputError("fixed is for a body that is made here; the one that was given says itself what it holds")
    around = body if isinstance(body, EmbeddedMesh) else None
    inner: object = around.body if around is not None else body
    if not isinstance(inner, Body):
        raise InputError(f"body must be a Body, what body_around gives, or None, not {type(body).__name__}")
    count = inner.vertex_count if around is None else len(around.embedding.weights)
    if count != animation.n:
        raise InputError(
            f"the animation has {animation.n} vertices, but the body is made for {count}; use the body of its mesh, "
            "or None to have one made"
        )
    # the rest shape is the body's: files that have none give the first frame for it
    own = require_surface(inner.get_display_mesh(), "edit") if around is None else around.mesh
    if not _has_same_topology(mesh, own):
        raise InputError(
            f"the animation's {type(mesh).__name__} joins its vertices in another way than the body's mesh; "
            "use the body of its mesh, or None to have one made"
        )
    return _EditBody(inner, around, own, len(inner.fixed) == 0, made)


def find_static_vertices(animation: Animation) -> IndexArray | None:
    """Vertices that do not move in any frame; None if there are none, or if nothing moves."""
    still = np.ones(animation.n, dtype=bool)
    for frame in range(1, animation.frames):
        still &= (animation.positions[frame] == animation.positions[0]).all(axis=1)
        if not still.any():
            return None
    return None if still.all() else np.flatnonzero(still)


def _has_same_topology(mesh: MeshTet | MeshTri, body_mesh: MeshTet | MeshTri) -> bool:
    """True if the meshes have the same elements, in any order, or if mesh is a surface along edges of body_mesh."""
    if type(mesh) is type(body_mesh):
        return np.array_equal(_sort_elements(mesh.elements), _sort_elements(body_mesh.elements))
    n = len(body_mesh.vertices)
    return isinstance(body_mesh, MeshTet) and bool(np.isin(mesh.edges @ [n, 1], body_mesh.edges @ [n, 1]).all())


def _sort_elements(elements: IndexArray) -> IndexArray:
    rows = np.sort(elements, axis=1)
    return rows[np.lexsort(rows.T)]


def _restrict_to_region(edit_body: _EditBody, region: IndexArray) -> _EditBody:
    """Restrict to a region: fix every vertex of the body that vertices outside depend on."""
    if edit_body.embedding_body is None:
        held = np.setdiff1d(np.arange(edit_body.body.vertex_count), region)
    else:
        outside = np.ones(len(edit_body.embedding_body.embedding.weights), dtype=bool)
        outside[region] = False
        held = np.unique(edit_body.embedding_body.embedding.corners[outside])
    held = np.union1d(held, edit_body.body.fixed)
    if len(held) == edit_body.body.vertex_count:
        raise InputError("region leaves no vertex of the body free to move; make it larger")
    return replace(edit_body, body=edit_body.body.with_fixed_vertices(held))


def _build_edit_model(
    animation: Animation,
    edit_body: _EditBody,
    modes: int | None,
    warp: str,
    whole: bool,
    progress: ProgressCallback | None,
) -> EditModel:
    with limit_blas_threads():
        if modes is None:
            modes = min(500, count_modes(edit_body.body, rigid=whole))
        found = modes_of(edit_body.body, modes, rigid=whole, progress=progress)
        shapes = np.ascontiguousarray(edit_body.interpolate_shapes(found.shapes))
        eigenvalues = found.eigenvalues
        if edit_body.is_generated:
            # the slowest mode of a generated body has four periods in the animation, but at least 1 Hz
            slowest = 2.0 * np.pi * max(1.0, 4.0 / animation.duration)
            eigenvalues = eigenvalues * (slowest**2 / eigenvalues[found.rigid_count])
        by_vertex = shapes.reshape(animation.n, -1)
        # without a copy of the shapes, which may be large
        largest = np.maximum(by_vertex.max(axis=1), -by_vertex.min(axis=1))
        moving = np.flatnonzero(largest > NEGLIGIBLE_MODE_WEIGHT * largest.max())
        held = np.setdiff1d(np.arange(animation.n), moving)
        of_moving = shapes if len(held) == 0 else by_vertex[moving].reshape(3 * len(moving), -1)
        return EditModel(
            animation,
            edit_body.mesh,
            moving,
            np.ascontiguousarray(of_moving),
            eigenvalues,
            IdentityWarp() if warp == "none" else Warp(edit_body.mesh, held, form=warp),
            edit_body.is_floating,
            animation.contacts,
            edit_body.body.total_mass,
        )
