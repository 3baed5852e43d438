"""`modes`: natural vibration modes of a body about its rest shape."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cajole import checks
from cajole.arrays import Array
from cajole.body import Body
from cajole.body.embedded_mesh import require_body
from cajole.errors import InputError
from cajole.linalg import BACKENDS, find_lowest_eigenpairs
from cajole.progress import ProgressCallback
from cajole.storage import hash_content, load_from_cache, store_in_cache

# increase this if the result of the computation changes, so that the cache is not used for old results
CACHE_VERSION = 1


@dataclass(frozen=True, eq=False)
class Modes:
    """Vibration modes K φ = ω² M φ about rest.

    shapes: (3n, count) mass-orthonormal, zero at fixed vertices; eigenvalues: (count,) ω² [rad²/s²], ascending;
    rigid_count: number of rigid motions, which come first.
    """

    shapes: Array
    eigenvalues: Array
    rigid_count: int = 0

    def __repr__(self) -> str:
        shown = ", ".join(f"{value:.4g}" for value in self.frequencies[:3])
        return f"Modes({self.count} of {len(self.shapes) // 3} vertices: {shown}{' ...' * (self.count > 3)} Hz)"

    @property
    def count(self) -> int:
        """Number of modes."""
        return len(self.eigenvalues)

    @property
    def frequencies(self) -> Array:
        """Natural frequencies (count,) [Hz]."""
        return np.sqrt(np.maximum(self.eigenvalues, 0.0)) / (2.0 * np.pi)

    def shape(self, index: int) -> Array:
        """Mode `index` as a displacement (n, 3)."""
        at = checks.require_integer(index, "index", minimum=-self.count, maximum=self.count - 1)
        return self.shapes[:, at].reshape(-1, 3)


def modes(
    body: Body,
    count: int | None = None,
    *,
    rigid: bool = False,
    cache: bool = True,
    backend: str | None = None,
    progress: ProgressCallback | None = None,
) -> Modes:
    """Compute the `count` lowest modes of `body` at rest.

    count: default 30, or all modes of a small body.
    rigid: True to include the rigid motions of a free body first, and count them; otherwise elastic modes only.
    cache: store the result on disk under the content hash of the body.
    Raises InputError when the body has fewer than `count` modes, NotConverged when the eigensolver misses some.
    """
    require_body(body)
    if backend is not None:
        checks.require_choice(backend, "backend", BACKENDS)
    checks.require_bool(rigid, "rigid")
    checks.require_bool(cache, "cache")
    loose = body.compute_rigid_body_modes()
    zero = loose.shape[1]
    leading = zero if rigid else 0
    most = len(body.free_dofs) - zero + leading
    count = checks.require_integer(min(30, most) if count is None else count, "count (of modes)", maximum=most)
    elastic = max(count - leading, 0)
    values, shapes = _solve_elastic_modes(body, elastic, loose, cache, backend, progress)
    if leading:
        values = np.concatenate([np.zeros(leading), values])[:count]
        shapes = np.hstack([loose, shapes])[:, :count]
    return Modes(shapes, values, min(leading, count))


def count_modes(body: Body, *, rigid: bool = False) -> int:
    """Number of modes of `body`; rigid: count rigid motions, as in `modes`."""
    return len(body.free_dofs) - (0 if rigid else body.compute_rigid_body_modes().shape[1])


def compute_first_angular_frequency(body: Body) -> float:
    """ω₁ [rad/s] of the lowest mode with stiffness; mechanisms, as of ropes and flat nets, have none.

    Raises InputError for a body with mechanisms only.
    """
    count, most = 1, count_modes(body)
    while count <= most:
        found = find_lowest_angular_frequency(body, modes(body, count).eigenvalues)
        if found is not None:
            return found
        count = min(4 * count, most) if count < most else most + 1
    raise InputError("the body has no stiffness at rest in any direction, so it has no frequency; add springs to it")


def find_lowest_angular_frequency(body: Body, eigenvalues: Array) -> float | None:
    """ω [rad/s] of the lowest of the ascending `eigenvalues` [1/s²] that is nonzero; None if there is none."""
    # relative to the largest ratio of stiffness to mass, smaller eigenvalues are rounding
    largest = float((body.stiffness().diagonal() / body.mass.diagonal()).max())
    stiff = eigenvalues[eigenvalues > 1e-14 * largest]
    return float(np.sqrt(stiff[0])) if len(stiff) else None


def _solve_elastic_modes(
    body: Body, count: int, rigid_modes: Array, cache: bool, backend: str | None, progress: ProgressCallback | None
) -> tuple[Array, Array]:
    size = 3 * body.vertex_count
    if count == 0:
        return np.empty(0), np.empty((size, 0))
    key = hash_content("modes", CACHE_VERSION, body.compute_content_hash(), count)
    cache = cache and body.has_stable_content_hash
    stored = load_from_cache("modes", key) if cache else None
    if stored is not None and stored.keys() == {"values", "shapes"} and stored["shapes"].shape == (size, count):
        return stored["values"], stored["shapes"]
    dofs = body.free_dofs
    K, M = (sp.csr_array(matrix[dofs][:, dofs]) for matrix in (body.stiffness(), body.mass))
    null = rigid_modes[dofs] if rigid_modes.shape[1] else None
    values, vectors = find_lowest_eigenpairs(K, M, count, null_space=null, backend=backend, progress=progress)
    shapes = np.zeros((size, count))
    shapes[dofs] = vectors
    if cache:
        store_in_cache("modes", key, {"values": values, "shapes": shapes})
    return values, shapes
