"""Solve for linear targets whose warped positions meet the constraints of an edit.

A constraint asks for a position in the warped motion, but its rows are linear in the modes. The unknowns are the
whitened linear targets y, in which the energy is ½|y|². `FrameConstraintSolver` solves for the constraints of one frame
and improves its Jacobian from move to move. `solve_all_constraints` solves for constraints of several frames together,
with a first Jacobian made of those of the single frames. Both use `levenberg_marquardt`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.direct.editing.constraints import VertexConstraint
from cajole.direct.editing.edit_model import EditModel
from cajole.direct.editing.linear_constraints import LinearConstraints
from cajole.direct.editing.reach import REACHED_TOLERANCE, bound_drag_distances
from cajole.linalg.levenberg_marquardt import LeastSquaresResult, LevenbergMarquardtOptions, levenberg_marquardt


@dataclass(frozen=True)
class TargetSolverOptions:
    """Tolerances and limits of the search for linear targets."""

    # Largest residual at convergence, as a fraction of the drag.
    tolerance: float = 1e-4
    # Step of the finite differences of the Jacobian, in body sizes.
    difference_step: float = 1e-5
    # Above this number of rows the Jacobian is not computed again during an interactive move or a far drag.
    max_difference_rows: int = 12
    # A target farther away than this [body sizes], if it is not reached at once, is approached in this number of steps;
    # each may leave this share of its length.
    continuation_distance: float = 0.02
    continuation_steps: int = 8
    continuation_tolerance: float = 0.05
    # Bound on the linear displacement: this multiple of the drag, or of the present displacement. It keeps targets that
    # cannot be reached from driving the linear displacement to infinity.
    trust_bound: float = 6.0
    trust_bound_growth: float = 1.5
    # For several vertices: first use only directions that move them by this share of their own length. After a full
    # turn bending has no first-order effect, and should not be used for the last tenth of a thousandth.
    regularisation: float = 0.03
    # Searches with a new Jacobian; each must leave less than this share of the residual to be followed by another one.
    max_restarts: int = 4
    restart_reduction: float = 0.5
    # An interactive move evaluates this often, and recomputes a stale Jacobian at most every this many moves. With 5
    # and 1 a move took twice as long and left as large a residual; later moves and the commit correct it.
    interactive_evaluations: int = 3
    jacobian_refresh_interval: int = 4


def compute_drag_distances(model: EditModel, constraints: Sequence[VertexConstraint]) -> Array:
    """(k,) [m] how far each constraint has moved its vertex, with the lower bound of `reach`."""
    distances = []
    for constraint in constraints:
        requested = constraint.directions @ model.compute_requested_displacement(constraint)
        distances.append(max(constraint.drag_distance, float(np.linalg.norm(requested))))
    return bound_drag_distances(np.array(distances), model.size)


def compute_residuals(
    model: EditModel, linear_constraints: LinearConstraints, multipliers: Array, constraints: Sequence[VertexConstraint]
) -> list[Array]:
    """Residuals N x - N t [m] of constraints of any frames, under multipliers (c,) of the linear constraints."""
    frames = sorted({constraint.frame for constraint in constraints})
    residuals: list[Array] = [np.empty(0)] * len(constraints)
    z = np.stack([linear_constraints.solve_frame(frame, multipliers) for frame in frames], axis=1)
    for frame, displacement in zip(frames, model.compute_linear_displacements(z)):
        indices = [k for k, constraint in enumerate(constraints) if constraint.frame == frame]
        found = model.compute_residuals(frame, [constraints[k] for k in indices], displacement)
        for k, residual in zip(indices, found):
            residuals[k] = residual
    return residuals


class FrameConstraintSolver:
    """Solver for the constraints of one frame, which an active drag moves.

    linear_constraints: all rows of the edit; row_indices: those of `constraints`, in order. The unknowns are the
    whitened targets y of these rows: nearly parallel rows, as those of neighbouring vertices, are then harmless. The
    linear displacement of the frame is base + Σ y_k unit_k.
    """

    def __init__(
        self,
        model: EditModel,
        linear_constraints: LinearConstraints,
        constraints: Sequence[VertexConstraint],
        row_indices: IndexArray,
        options: TargetSolverOptions | None = None,
    ):
        self.model, self.constraints, self.frame = model, list(constraints), constraints[0].frame
        self.options = options or TargetSolverOptions()
        self._linear_constraints, self._row_indices = linear_constraints, row_indices
        self._whitened_targets = linear_constraints.whiten(linear_constraints.targets)
        self.unknowns = self._whitened_targets[row_indices]
        count = len(row_indices)
        # column 0: the other rows alone; column k: a unit target of row k alone
        columns = np.zeros((len(linear_constraints), count + 1))
        columns[:, 0] = self._whitened_targets
        columns[row_indices, 0] = 0.0
        columns[row_indices, np.arange(1, count + 1)] = 1.0
        multipliers = linear_constraints.solve_whitened_multipliers(columns)
        displacements = model.compute_linear_displacements(linear_constraints.solve_frame(self.frame, multipliers))
        self._base_displacement = displacements[0]
        self._unit_displacements = np.ascontiguousarray(displacements[1:].reshape(count, -1))
        self._scaling, self._trust_bound = linear_constraints.get_unwhitening_block(row_indices), np.inf
        self._jacobian: Array | None = None
        self._moves_since_refresh = 0
        # the last evaluation: its unknowns, the displacements of the vertices, the largest linear displacement
        self._cached_unknowns, self._cached_displacements, self._max_displacement = np.empty(0), np.empty((0, 3)), 0.0

    @property
    def linear_targets(self) -> Array:
        """Linear targets of the rows of the constraints, which are the last rows; the other rows keep theirs."""
        self._whitened_targets[self._row_indices] = self.unknowns
        return self._linear_constraints.unwhiten(self._whitened_targets, self._row_indices)

    def compute_linear_displacement(self, unknowns: Array | None = None) -> Array:
        """(n, 3) [m] linear displacement of the frame, at the present unknowns when None."""
        y = self.unknowns if unknowns is None else unknowns
        return np.asarray(
            self._base_displacement + (y @ self._unit_displacements).reshape(self._base_displacement.shape)
        )

    def compute_residual(self, unknowns: Array) -> Array:
        """Residuals [m] of all rows; inf outside the trust bound."""
        # the first evaluation of a move is the last one of the move before
        if not np.array_equal(unknowns, self._cached_unknowns):
            displacement = self.compute_linear_displacement(unknowns)
            self._cached_unknowns, self._max_displacement = unknowns.copy(), float(np.abs(displacement).max())
            self._cached_displacements = self.model.warp_vertices(self.frame, self.constraints, displacement)
        if self._max_displacement > self._trust_bound:
            return np.full(len(self._row_indices), np.inf)
        return np.concatenate(self.model.subtract_targets(self.frame, self.constraints, self._cached_displacements))

    def compute_difference_jacobian(self, unknowns: Array) -> Array:
        """∂r/∂y (k, k) by finite differences that move no vertex by more than the difference step."""
        largest = np.abs(self._unit_displacements).max(axis=1, initial=0.0)
        steps = np.where(
            largest > 0.0, self.options.difference_step * self.model.size / np.maximum(largest, 1e-300), 1.0
        )
        residuals = [
            np.concatenate(
                self.model.compute_residuals(
                    self.frame, self.constraints, self.compute_linear_displacement(unknowns + change)
                )
            )
            for change in (0.0 * unknowns, *np.diag(steps))
        ]
        return np.stack([(residual - residuals[0]) / step for residual, step in zip(residuals[1:], steps)], axis=1)

    def compute_row_jacobian(self) -> Array:
        """∂r/∂p (k, k) of the linear targets p of the constraints' own rows."""
        block = self._linear_constraints.get_unwhitening_block(self._row_indices)
        return np.asarray(np.linalg.solve(block.T, self.compute_difference_jacobian(self.unknowns).T).T)

    def solve(self, constraints: Sequence[VertexConstraint], *, approximate: bool = False) -> LeastSquaresResult:
        """Meet the same constraints with new targets; approximate: with few evaluations, for a mouse that moves on."""
        self.constraints = list(constraints)
        limits, drag_distance = self.options, float(compute_drag_distances(self.model, constraints).max())
        tolerance = limits.tolerance * drag_distance
        self._trust_bound = np.inf
        r0 = self.compute_residual(self.unknowns)
        self._trust_bound = max(limits.trust_bound * drag_distance, limits.trust_bound_growth * self._max_displacement)
        is_far = float(np.abs(r0).max()) > limits.continuation_distance * self.model.size
        if self._jacobian is None:
            self._jacobian = self.compute_difference_jacobian(self.unknowns)
        if approximate:
            result = self._solve_approximately(self._jacobian, r0, tolerance)
        else:
            result = self._solve_fully(self._jacobian, r0, tolerance, is_far)
            if is_far and np.abs(result.residual).max() > LevenbergMarquardtOptions.stall_tolerance_factor * tolerance:
                again = self._solve_by_continuation(self.unknowns, tolerance)
                again.residual_history = result.residual_history + again.residual_history
                result = min(result, again, key=lambda each: float(np.linalg.norm(each.residual)))
        self.unknowns, self._jacobian = result.x, result.jacobian
        return result

    def _solve_approximately(self, jacobian: Array, r0: Array, tolerance: float) -> LeastSquaresResult:
        """Few evaluations with the Jacobian at hand, which is recomputed from time to time if it is stale."""
        result = levenberg_marquardt(
            self.compute_residual,
            self.unknowns,
            jacobian,
            tolerance,
            self._scaling,
            r0=r0,
            options=LevenbergMarquardtOptions(max_evaluations=self.options.interactive_evaluations),
        )
        self._moves_since_refresh += 1
        is_stale = (
            np.linalg.norm(result.residual) > self.options.restart_reduction * np.linalg.norm(r0)
            and len(self.unknowns) <= self.options.max_difference_rows
        )
        if is_stale and self._moves_since_refresh >= self.options.jacobian_refresh_interval:
            result.jacobian, self._moves_since_refresh = self.compute_difference_jacobian(result.x), 0
        return result

    def _solve_fully(self, jacobian: Array, r0: Array, tolerance: float, refresh_jacobian: bool) -> LeastSquaresResult:
        """Regularised first for several vertices; without regularisation if that does not reach the targets."""
        refresh = (
            self.compute_difference_jacobian
            if refresh_jacobian and len(self.unknowns) <= self.options.max_difference_rows
            else None
        )
        near = LevenbergMarquardtOptions.stall_tolerance_factor * tolerance
        if len(self.unknowns) <= 3:
            return self._solve_with_restarts(jacobian, r0, tolerance, refresh, 0.0, near)
        reached = REACHED_TOLERANCE / self.options.tolerance * tolerance
        result = self._solve_with_restarts(jacobian, r0, tolerance, refresh, self.options.regularisation, reached)
        if np.abs(result.residual).max() <= reached:
            return result
        again = self._solve_with_restarts(jacobian, r0, tolerance, refresh, 0.0, near)
        again.residual_history = result.residual_history + again.residual_history[1:]
        return again

    def _solve_with_restarts(
        self,
        jacobian: Array,
        r0: Array,
        tolerance: float,
        refresh: Callable[[Array], Array] | None,
        regularisation: float,
        accept_tolerance: float,
    ) -> LeastSquaresResult:
        """Search with the given Jacobian, then with new ones while each search reduces the residual enough."""
        options = LevenbergMarquardtOptions(regularisation=regularisation)

        def search(x: Array, J: Array, r: Array) -> LeastSquaresResult:
            return levenberg_marquardt(
                self.compute_residual, x, J, tolerance, self._scaling, refresh, r0=r, options=options
            )

        result = search(self.unknowns, jacobian, r0)
        history = result.residual_history
        for _ in range(self.options.max_restarts):
            if np.abs(result.residual).max() <= accept_tolerance:
                break
            before = float(np.linalg.norm(result.residual))
            result = search(result.x, self.compute_difference_jacobian(result.x), result.residual)
            history = history + result.residual_history[1:]
            if np.linalg.norm(result.residual) > self.options.restart_reduction * before:
                break
        result.residual_history = history
        return result

    def _solve_by_continuation(self, unknowns: Array, tolerance: float) -> LeastSquaresResult:
        """Approach a far target in steps, with a new Jacobian after steps that fail: large bends need it."""
        limits = self.options
        gap, J, history = self.compute_residual(unknowns), self.compute_difference_jacobian(unknowns), list[float]()
        step_tolerance = limits.continuation_tolerance * float(np.abs(gap).max()) / limits.continuation_steps
        for remaining in np.linspace(1.0, 0.0, limits.continuation_steps + 1)[1:]:

            def compute_step_residual(y: Array, rest: Array = remaining * gap) -> Array:
                residual = self.compute_residual(y)
                history.append(float(np.abs(residual).max()))
                return residual - rest

            near = tolerance if remaining == 0.0 else max(tolerance, step_tolerance)
            found = levenberg_marquardt(compute_step_residual, unknowns, J, near, self._scaling)
            unknowns, J = found.x, found.jacobian
            if remaining > 0.0 and np.abs(found.residual).max() > near:
                J = self.compute_difference_jacobian(unknowns)
        return LeastSquaresResult(unknowns, self.compute_residual(unknowns), J, history)


def solve_all_constraints(
    model: EditModel,
    linear_constraints: LinearConstraints,
    constraints: Sequence[VertexConstraint],
    row_indices: Sequence[IndexArray],
) -> Array:
    """Linear targets (c,) of all rows that meet constraints of any frames; row_indices: their rows.

    The rows of other constraints keep their whitened targets, and so their share of the energy.
    """
    all_rows, counts = np.concatenate(list(row_indices)), [len(indices) for indices in row_indices]
    # positions of the rows of each constraint among the unknowns
    parts = np.split(np.arange(len(all_rows)), np.cumsum(counts)[:-1])
    scale = np.repeat(compute_drag_distances(model, constraints), counts)
    whitened_targets = linear_constraints.whiten(linear_constraints.targets)
    J = np.zeros((len(all_rows), len(all_rows)))
    for frame in {constraint.frame for constraint in constraints}:
        indices = [k for k, constraint in enumerate(constraints) if constraint.frame == frame]
        rows = np.concatenate([parts[k] for k in indices])
        solver = FrameConstraintSolver(model, linear_constraints, [constraints[k] for k in indices], all_rows[rows])
        J[np.ix_(rows, rows)] = solver.compute_row_jacobian()
    unwhitening = linear_constraints.get_unwhitening_block(all_rows)

    def compute_residual(y: Array) -> Array:
        whitened_targets[all_rows] = y
        multipliers = linear_constraints.solve_whitened_multipliers(whitened_targets[:, None])[:, 0]
        return np.concatenate(compute_residuals(model, linear_constraints, multipliers, constraints)) / scale

    whitened_targets[all_rows] = levenberg_marquardt(
        compute_residual,
        whitened_targets[all_rows].copy(),
        J @ unwhitening / scale[:, None],
        TargetSolverOptions.tolerance,
        unwhitening / scale[:, None],
    ).x
    return linear_constraints.unwhiten(whitened_targets, np.arange(len(linear_constraints)))
