"""The spacetime energy of an edit, a change z (T, r) of the modal coordinates over time, and its Green's functions.

Each mode has the energy ½ zᵀHz with H pentadiagonal in time. The forces energy, eq. (2), sums h/2 |z̈ + d ż + λz|²:
residuals a·(z_{i-1}, z_i, z_{i+1}) with d = α + βλ. The smooth energy, eq. (10), is μ/2 |z̈|² + ½ λz².
Frames that must not change are left out of H: the first two, with fixed ends the last two, and all frames outside a
window.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cajole import checks
from cajole.arrays import Array
from cajole.body.rayleigh import compute_modal_damping, parse_rayleigh_damping
from cajole.direct.editing import kernels_spacetime
from cajole.errors import InputError

END_CONDITIONS, ENERGY_KINDS = ("fixed", "free"), ("forces", "smooth")
# With fewer frames nothing is left between two fixed ends.
MIN_FRAMES = 5


@dataclass(frozen=True)
class EditSettings:
    """Settings of the energy.

    h [s]: time step; damping: (α [1/s], β [s]) of the change, not of the motion. ends: "fixed" keeps the last two
    frames, "free" does not; the first two never change. energy: "forces" eq. (2), or "smooth" eq. (10) with μ =
    smoothness / λ₁. window: the first and last frame of the energy, all when None; frames outside never change.
    """

    h: float
    damping: tuple[float, float] = (0.0, 0.0)
    ends: str = "fixed"
    energy: str = "forces"
    smoothness: float = 1.0
    window: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        checks.require_choice(self.ends, "ends", END_CONDITIONS)
        checks.require_choice(self.energy, "energy", ENERGY_KINDS)
        found: dict[str, float | tuple[float, float]] = {
            "h": checks.require_positive(self.h, "h (s)"),
            "damping": parse_rayleigh_damping(self.damping),
            "smoothness": checks.require_positive(self.smoothness, "smoothness"),
        }
        for name, value in found.items():
            if np.max(value) > 1e6:  # would only overflow
                raise InputError(f"{name} is {value}, larger than any motion needs; give at most 1e+06")
            object.__setattr__(self, name, value)
        if self.window is not None:
            try:
                start, stop = self.window
            except (TypeError, ValueError):
                found_value = checks.format_value(self.window)
                raise InputError(f"window must be a pair of frames (first, last), not {found_value}") from None
            start = checks.require_integer(start, "window's first frame", minimum=0)
            object.__setattr__(self, "window", (start, checks.require_integer(stop, "window's last frame", minimum=0)))


class SpacetimeEnergy:
    """H⁻¹ for all modes at once: eigenvalues (r,) λ; frames T, of which first_frame … last_frame may change."""

    def __init__(self, eigenvalues: Array, frames: int, settings: EditSettings):
        self.frames = checks.require_integer(frames, "frames", minimum=MIN_FRAMES)
        self.settings = settings
        lam = np.maximum(np.asarray(eigenvalues, dtype=np.float64), 0.0)
        self.eigenvalues, self.mode_count = lam, len(lam)
        h = settings.h
        self.first_frame, self.last_frame = find_editable_frames(settings, self.frames)
        self._responses: dict[int, Array] = {}
        # a free end is solved backwards in time, where the factors are known: H = BᵀB with B triangular
        self._is_time_reversed = settings.ends == "free" and settings.energy == "forces"
        if settings.energy == "smooth":
            self._factorise_smooth(lam, h, settings.smoothness)
        elif self._is_time_reversed:
            self._factorise_free_end(*build_averaged_stencil(lam, h, compute_modal_damping(settings.damping, lam)))
        else:
            self._factorise_fixed_ends(*build_forward_stencil(lam, h, compute_modal_damping(settings.damping, lam)))

    def compute_response(self, frame: int) -> Array:
        """H⁻¹ e_frame (T, r): response of every mode to a unit force at `frame`; zero in frames that cannot change."""
        if not self.first_frame <= frame <= self.last_frame:
            raise InputError(
                f"frame {frame} cannot change; frames {self.first_frame}..{self.last_frame} of {self.frames} can"
            )
        if frame not in self._responses:
            right = np.zeros((self.frames, self.mode_count))
            right[frame] = 1.0
            while len(self._responses) >= 16:
                self._responses.pop(next(iter(self._responses)))
            self._responses[frame] = self._solve_in_place(right, frame, frame)
        return self._responses[frame]

    def clear_cache(self) -> None:
        """Drop the cached responses."""
        self._responses.clear()

    def solve(self, rhs: Array) -> Array:
        """z (T, r) = H⁻¹ rhs, in place."""
        return self._solve_in_place(rhs, self.first_frame, self.last_frame)

    def compute_added_forces(self, z: Array) -> Array:
        """Modal forces (T, r) that a change z (T, r) adds: z̈ + d ż + λz, with the same finite differences."""
        h = self.settings.h
        build_stencil = build_averaged_stencil if self.settings.ends == "free" else build_forward_stencil
        a0, a1, a2 = build_stencil(self.eigenvalues, h, compute_modal_damping(self.settings.damping, self.eigenvalues))
        out = np.zeros_like(z)
        out[1:-1] = (a0 * z[:-2] + a1 * z[1:-1] + a2 * z[2:]) / h**2
        return out

    def _solve_in_place(self, x: Array, first: int, last: int) -> Array:
        inner = x[self.first_frame : self.last_frame + 1]
        begin, end = first - self.first_frame, last - self.first_frame
        if self._is_time_reversed:
            turned = np.ascontiguousarray(inner[::-1])
            kernels_spacetime.solve_pentadiagonal(
                self._D, self._l1, self._l2, len(inner) - 1 - end, len(inner) - 1 - begin, turned
            )
            inner[:] = turned[::-1]
        else:
            kernels_spacetime.solve_pentadiagonal(self._D, self._l1, self._l2, begin, end, inner)
        x[: self.first_frame] = 0.0
        x[self.last_frame + 1 :] = 0.0
        return x

    def _allocate_factors(self) -> tuple[Array, Array, Array]:
        D, l1, l2 = np.empty((3, self.last_frame - self.first_frame + 1, self.mode_count))
        return D, l1, l2

    def _factorise_fixed_ends(self, a0: Array, a1: Array, a2: Array) -> None:
        n = self.last_frame - self.first_frame + 1
        bands = (a0**2 + a1**2 + a2**2, a0 * a1 + a1 * a2, a0 * a2)
        self._factorise(*(np.tile(band, (n, 1)) for band in bands))

    def _factorise_free_end(self, a0: Array, a1: Array, a2: Array) -> None:
        """In reversed time BᵀB = L D Lᵀ with L constant along its diagonals."""
        self._D, self._l1, self._l2 = self._allocate_factors()
        self._D[:], self._l1[:], self._l2[:] = a2**2, a1 / a2, a0 / a2

    def _factorise_smooth(self, lam: Array, h: float, smoothness: float) -> None:
        """h³ (μ/h³ D₂ᵀD₂ + hΛ), μ in units of 1/λ of the first mode that has one."""
        n, r = self.last_frame - self.first_frame + 1, self.mode_count
        positive = lam[lam > 0]
        mu = smoothness / float(positive[0]) if len(positive) else 1.0
        H0, H1, H2 = np.full((n, r), 6.0), np.full((n, r), -4.0), np.full((n, r), 1.0)
        if self.settings.ends == "free":
            H0[-2], H0[-1], H1[-2] = 5.0, 1.0, -2.0
        self._factorise(mu * H0 + h**4 * lam, mu * H1, mu * H2)

    def _factorise(self, H0: Array, H1: Array, H2: Array) -> None:
        self._D, self._l1, self._l2 = self._allocate_factors()
        kernels_spacetime.factorise_pentadiagonal(H0, H1, H2, self._D, self._l1, self._l2)


def find_editable_frames(settings: EditSettings, frames: int) -> tuple[int, int]:
    """The first and the last frame that may change. Raises InputError if there are none."""
    start, stop = settings.window or (0, frames - 1)
    if stop > frames - 1:
        raise InputError(f"window ends at frame {stop}, but the last frame is {frames - 1}")
    if settings.window is not None and stop - start + 1 < MIN_FRAMES:
        raise InputError(f"window {start}..{stop} has {stop - start + 1} frames, but {MIN_FRAMES} are the fewest")
    if settings.ends == "free" and stop < frames - 1:
        raise InputError(
            f"window ends at frame {stop}, and a free end would tear the motion there; use ends='fixed', or let the "
            f"window end at the last frame, {frames - 1}"
        )
    return start + 2, stop - 2 if settings.ends == "fixed" else stop


def build_forward_stencil(eigenvalues: Array, h: float, damping: Array) -> tuple[Array, Array, Array]:
    """Weights of z_{i-1}, z_i, z_{i+1} in h² (z̈ + d ż + λz), the residual of eq. (2)."""
    return np.ones_like(eigenvalues), -2.0 - damping * h + h**2 * eigenvalues, 1.0 + damping * h


def build_averaged_stencil(eigenvalues: Array, h: float, damping: Array) -> tuple[Array, Array, Array]:
    """The same with the stiffness averaged over the three frames, as in Newmark's method, and central damping.

    With the forward stencil a free end would integrate stiff modes explicitly: they grow without bound for
    h²λ > 4 + 2dh.
    """
    k = 0.25 * h**2 * eigenvalues
    return 1.0 + k - 0.5 * damping * h, -2.0 + 2.0 * k, 1.0 + k + 0.5 * damping * h
