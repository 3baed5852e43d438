"""`edit`: an editor for a finished animation, on the body that fits it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.animation import Animation, Contacts, animation_of
from cajole.arrays import Array, IndexArray
from cajole.body import Body, BodyAround, BodySolid, body_around
from cajole.direct.editing.editor import Editor
from cajole.direct.editing.report import WARPS, Options
from cajole.direct.editing.spacetime import FEWEST_FRAMES, Settings, changing
from cajole.direct.editing.subject import Subject
from cajole.direct.editing.unwarped import Unwarped
from cajole.direct.editing.warp import Warp
from cajole.dynamics import modes as modes_of
from cajole.dynamics.vibration import count_modes
from cajole.errors import InputError
from cajole.linalg.threads import blas_threads
from cajole.mesh import MeshTet, MeshTri
from cajole.mesh.line import require_surface
from cajole.progress import Progress

# Modes unless asked otherwise; fewer where the body has fewer.
MODES = 500
# A body made for an animation swings this often in its slowest mode while it plays, but not slower than SLOWEST [Hz].
SWINGS, SLOWEST = 4.0, 1.0
# Contacts in the energy unless asked otherwise: as many as leave a drag at a few milliseconds.
CLUSTER = 500
# Patches that one contact stands for, from the smallest: frames, and width in sizes of the mesh.
PATCHES = ((1, 0.05), (2, 0.1), (4, 0.1), (8, 0.15), (16, 0.2), (32, 0.3), (64, 0.5))
# Modes below this share of the largest, at a vertex, do not move it.
STILL = 1e-12


def edit(
    animation: Animation,
    body: Body | BodyAround | None = None,
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
    cluster: int | None = CLUSTER,
    whole: bool = False,
    fixed: ArrayLike | None = None,
    progress: Progress | None = None,
) -> Editor:
    """An editor of a finished animation: its changes are the least forces over space and time, eq. (2).

    animation: at least 5 frames, from any source, of tets or triangles. body: its rest shape, material and held
    vertices: a solid or shell of the same mesh, or for triangles what `body_around` gives; one is made when None.
    modes: how many vibrations a change is made of; 500 when None, or as many as there are.
    ends: "fixed" keeps the last two frames, "free" lets them go along. h [s]: timestep of the energy, the animation's
    own when None; damping (α [1/s], β [s]) of the change, the body's when None; energy: "forces", or "smooth" eq. (10)
    with smoothness μ in units of 1/λ₁.
    window: (first, last) frames, and region: vertices, outside of which nothing changes.
    warp: "composition", or "additive", the paper's own form, or "none", linear changes.
    contacts: those that the edit keeps, the animation's own when None; cluster: how many the energy may have, beyond
    which one stands for all of the same patch, None for all (the warp keeps each of them in any case).
    whole: whether a body that is not held may also move as a whole. fixed: vertices that the body made for an animation
    holds, when none is given; those that never move when None.
    Raises InputError for an animation of another mesh, too few frames, or more modes than the body has.
    """
    animation = animation_of(animation)
    checks.one_of(warp, "warp", WARPS)
    if animation.frames < FEWEST_FRAMES:
        raise InputError(f"the animation has {animation.frames} frames, but {FEWEST_FRAMES} are the fewest to edit")
    rate = 1.0 / animation.fps if h is None else h
    wanted = Settings(rate, (0.0, 0.0) if damping is None else damping, ends, energy, smoothness, window)
    changing(wanted, animation.frames)
    if contacts is None:
        contacts = animation.contacts
    else:
        checks.require_instance(contacts, Contacts, "contacts")
        contacts.require_within(animation.frames, animation.n)
        animation = replace(animation, contacts=contacts)
    fit = _fit(animation, body, fixed)
    inside = None if region is None else _region(region, animation.n)
    if inside is not None:
        fit = _restricted(fit, inside)
    if damping is None:
        wanted = replace(wanted, damping=(getattr(fit.body, "alpha", 0.0), getattr(fit.body, "beta", 0.0)))
    subject = _subject(animation, fit, modes, warp, whole, progress)
    stand_ins = contacts
    if contacts is not None and cluster is not None:
        stand_ins = _stand_ins(contacts, animation, checks.count(cluster, "cluster"))
    options = Options(
        len(subject.eigenvalues), warp, None if inside is None else tuple(inside.tolist()), whole, cluster
    )
    return Editor(subject, wanted, options, stand_ins)


def _stand_ins(contacts: Contacts, animation: Animation, most: int) -> Contacts:
    """At most that many contacts: all, or one for each patch, of the smallest patches that do; else of the largest."""
    found = contacts
    for frames, width in PATCHES:
        if len(found) <= most:
            return found
        found = contacts.clustered(animation.mesh, longest=frames, widest=width * animation.mesh.size)
    return found if len(found) <= most else contacts.clustered(animation.mesh)


@dataclass(frozen=True, eq=False)
class _Fit:
    """The body that fits an animation, and the mesh that is warped.

    around: how the animation's vertices lie in the body, None where they are the body's own. flying: whether nothing
    holds it. made: whether its stiffness is chosen by how long the animation is.
    """

    body: Body
    around: BodyAround | None
    mesh: MeshTet | MeshTri
    flying: bool
    made: bool

    def carried(self, shapes: Array) -> Array:
        """Mode shapes (3n, r) at the animation's vertices."""
        if self.around is None:
            return shapes
        W = self.around.embedding.matrix
        return np.asarray(W @ shapes.reshape(W.shape[1], -1)).reshape(3 * W.shape[0], -1)


def _fit(animation: Animation, body: Body | BodyAround | None, fixed: ArrayLike | None) -> _Fit:
    mesh, made = require_surface(animation.mesh, "edit"), body is None
    if body is None:
        fixed = still_vertices(animation) if fixed is None else fixed
        body = BodySolid(mesh, fixed=fixed) if isinstance(mesh, MeshTet) else body_around(mesh, fixed=fixed)
    elif fixed is not None:
        raise InputError("fixed is for a body that is made here; the one that was given says itself what it holds")
    around = body if isinstance(body, BodyAround) else None
    inner: object = around.body if around is not None else body
    if not isinstance(inner, Body):
        raise InputError(f"body must be a Body, what body_around gives, or None, not {type(body).__name__}")
    count = inner.count if around is None else len(around.embedding.weights)
    if count != animation.n:
        raise InputError(
            f"the animation has {animation.n} vertices, but the body is made for {count}; use the body of its mesh, "
            "or None to have one made"
        )
    # the rest shape is the body's: files that have none give the first frame for it
    own = require_surface(inner.drawn_mesh(), "edit") if around is None else around.mesh
    if not _joined_alike(mesh, own):
        raise InputError(
            f"the animation's {type(mesh).__name__} joins its vertices in another way than the body's mesh; "
            "use the body of its mesh, or None to have one made"
        )
    return _Fit(inner, around, own, len(inner.fixed) == 0, made)


def still_vertices(animation: Animation) -> IndexArray | None:
    """Vertices that are at one place in all frames, if not all are; None where there are none."""
    still = np.ones(animation.n, dtype=bool)
    for frame in range(1, animation.frames):
        still &= (animation.positions[frame] == animation.positions[0]).all(axis=1)
        if not still.any():
            return None
    return None if still.all() else np.flatnonzero(still)


def _joined_alike(mesh: MeshTet | MeshTri, own: MeshTet | MeshTri) -> bool:
    """Whether a mesh has the elements of another, in any order, or is a surface that runs along its edges."""
    if type(mesh) is type(own):
        return np.array_equal(_sorted(mesh.elements), _sorted(own.elements))
    n = len(own.vertices)
    return isinstance(own, MeshTet) and bool(np.isin(mesh.edges @ [n, 1], own.edges @ [n, 1]).all())


def _sorted(elements: IndexArray) -> IndexArray:
    rows = np.sort(elements, axis=1)
    return rows[np.lexsort(rows.T)]


def _region(region: ArrayLike, n: int) -> IndexArray:
    inside = np.unique(checks.index_array(checks.at_least_one_axis(region), "region", (None,), n))
    if len(inside) == 0:
        raise InputError("region names no vertex, so nothing could change; leave it out to edit all")
    return inside


def _restricted(fit: _Fit, inside: IndexArray) -> _Fit:
    """The modes of a part alone: every vertex that anything outside depends on is held."""
    if fit.around is None:
        held = np.setdiff1d(np.arange(fit.body.count), inside)
    else:
        outside = np.ones(len(fit.around.embedding.weights), dtype=bool)
        outside[inside] = False
        held = np.unique(fit.around.embedding.corners[outside])
    held = np.union1d(held, fit.body.fixed)
    if len(held) == fit.body.count:
        raise InputError("region leaves no vertex of the body free to move; make it larger")
    return replace(fit, body=fit.body.holding(held))


def _subject(
    animation: Animation, fit: _Fit, modes: int | None, warp: str, whole: bool, progress: Progress | None
) -> Subject:
    with blas_threads():
        if modes is None:
            modes = min(MODES, count_modes(fit.body, rigid=whole))
        found = modes_of(fit.body, modes, rigid=whole, progress=progress)
        shapes = np.ascontiguousarray(fit.carried(found.shapes))
        eigenvalues = found.eigenvalues
        if fit.made:
            slowest = 2.0 * np.pi * max(SLOWEST, SWINGS / animation.duration)
            eigenvalues = eigenvalues * (slowest**2 / eigenvalues[found.rigid])
        by_vertex = shapes.reshape(animation.n, -1)
        # twice over the shapes, which may be large, rather than a copy of their sizes
        largest = np.maximum(by_vertex.max(axis=1), -by_vertex.min(axis=1))
        moving = np.flatnonzero(largest > STILL * largest.max())
        held = np.setdiff1d(np.arange(animation.n), moving)
        of_moving = shapes if len(held) == 0 else by_vertex[moving].reshape(3 * len(moving), -1)
        return Subject(
            animation, fit.mesh, moving, np.ascontiguousarray(of_moving), eigenvalues,
            Unwarped() if warp == "none" else Warp(fit.mesh, held, form=warp), fit.flying, animation.contacts,
            fit.body.total_mass,
        )  # fmt: skip
