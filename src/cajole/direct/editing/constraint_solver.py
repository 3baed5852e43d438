"""Bringing held vertices where they belong, through the warp: linear targets are found that make them land.

A hold asks for a place in the warped motion, its rows are linear. Holds of one frame are moved by a `Grip`, which knows
what each of their rows does to that frame and learns how their vertices answer. Holds of several frames at once are met
together, started from the Jacobians that each frame has on its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.direct.editing.edit_model import EditModel
from cajole.direct.editing.linear_constraints import LinearConstraints
from cajole.direct.editing.reach import REACHED_TOLERANCE, bound_drag_distances
from cajole.direct.editing.vertex_constraints import VertexConstraint
from cajole.linalg.levenberg_marquardt import STALL_TOLERANCE_FACTOR, LeastSquaresResult, levenberg_marquardt

# A held vertex has landed when it is this close, as a share of how far the edit takes it.
TARGET_TOLERANCE = 1e-4
# Step of the finite differences of the Jacobian, in body sizes.
DIFFERENCE_STEP = 1e-5
# Parts of the way, where a target that is FAR [body sizes] is not met in one go, and the share of a part that may be
# missed on the way; rows of which differences are taken again and again.
CONTINUATION_STEPS, CONTINUATION_TOLERANCE, CONTINUATION_DISTANCE, MAX_ROWS_FOR_DIFFERENCES = 8, 0.05, 0.02, 12
# Linear changes beyond so many times what is asked for, or than before, run away from what cannot be reached.
TRUST_BOUND, TRUST_BOUND_GROWTH = 6.0, 1.5
# Several vertices are moved at first by what moves them by this share of its own length: after a full turn bending does
# nothing to first order, and should not be used to meet the last tenth of a thousandth.
REGULARISATION = 0.03
# Attempts with fresh differences where what was learned misleads, each worth it only if it leaves less than a share.
MAX_RESTARTS, RESTART_REDUCTION = 4, 0.5
# Looks that a rough move may take, and moves from one taking of differences to the next: a hand moves on, and what
# is left is made good by the next moves or the drop. With 5 and 1 a move took twice as long and left as much.
INTERACTIVE_EVALUATIONS, JACOBIAN_REFRESH_INTERVAL = 3, 4


def compute_requested_displacement(model: EditModel, constraint: VertexConstraint) -> Array:
    """(3,) [m] the change that would bring a vertex to its target, of which a hold asks for its directions alone."""
    there = model.get_input_position(constraint.frame, constraint.vertex)
    return constraint.target - (
        there
        if constraint.other_vertex < 0
        else there - model.get_input_position(constraint.frame, constraint.other_vertex)
    )


def compute_drag_distances(model: EditModel, constraints: Sequence[VertexConstraint]) -> Array:
    """(k,) [m] how far each constraint has taken its vertex, with the lower bound of `reach`."""
    distances = [
        max(hold.peak_distance, np.linalg.norm(hold.directions @ compute_requested_displacement(model, hold)))
        for hold in constraints
    ]
    return bound_drag_distances(np.array(distances), model.size)


def evaluate_vertex_displacements(
    model: EditModel, constraints: Sequence[VertexConstraint], linear_displacement: Array
) -> Array:
    """How far the vertices of holds of one frame, then those they are tied to, move under a linear change (n, 3)."""
    vertices = [hold.vertex for hold in constraints] + [
        hold.other_vertex for hold in constraints if hold.other_vertex >= 0
    ]
    return model.warp_vertices(constraints[0].frame, linear_displacement, vertices)


def compute_frame_residuals(
    model: EditModel, constraints: Sequence[VertexConstraint], vertex_displacements: Array
) -> Array:
    """How far the rows of holds of one frame are from what they ask for, their vertices moved as `looked` says."""
    others = iter(vertex_displacements[len(constraints) :])
    turn, out = model.compute_rigid_rotation(constraints[0].frame), list[Array]()
    for hold, moved in zip(constraints, vertex_displacements):
        there = moved - next(others) if hold.other_vertex >= 0 else moved
        out.append(hold.directions @ (turn @ there - compute_requested_displacement(model, hold)))
    return np.concatenate(out)


def compute_residuals(
    model: EditModel, linear_constraints: LinearConstraints, multipliers: Array, constraints: Sequence[VertexConstraint]
) -> list[Array]:
    """For each of the holds, of any frames, how far its rows are from what it asks for."""
    frames = sorted({hold.frame for hold in constraints})
    out: list[Array] = [np.empty(0)] * len(constraints)
    z = np.stack([linear_constraints.solve_frame(frame, multipliers) for frame in frames], axis=1)
    for frame, change in zip(frames, model.compute_linear_displacements(z)):
        at = [k for k, hold in enumerate(constraints) if hold.frame == frame]
        here = [constraints[k] for k in at]
        found = compute_frame_residuals(model, here, evaluate_vertex_displacements(model, here, change))
        ends = np.cumsum([len(constraints[k].directions) for k in at])
        for k, part in zip(at, np.split(found, ends[:-1])):
            out[k] = part
    return out


class FrameConstraintSolver:
    """Holds of one frame with the hand on them.

    rows: all rows of the edit; mine: which of them belong to the holds, in order. Unknowns are the whitened targets y
    of these rows, whose squares are the energy: rows that are nearly alike, as those of neighbouring vertices, then do
    no harm. The linear change of the frame is base + Σ y_k unit_k.
    """

    def __init__(
        self,
        model: EditModel,
        linear_constraints: LinearConstraints,
        constraints: Sequence[VertexConstraint],
        row_indices: IndexArray,
    ):
        self.model, self.constraints, self.frame = model, list(constraints), constraints[0].frame
        self._linear_constraints, self._row_indices, self._whitened_targets = (
            linear_constraints,
            row_indices,
            linear_constraints.whiten(linear_constraints.targets),
        )
        self.unknowns = self._whitened_targets[row_indices]
        whitened_targets = np.zeros((len(linear_constraints), len(row_indices) + 1))
        whitened_targets[:, 0] = self._whitened_targets
        whitened_targets[row_indices, 0] = 0.0
        whitened_targets[row_indices, np.arange(1, len(row_indices) + 1)] = 1.0
        made = model.compute_linear_displacements(
            linear_constraints.solve_frame(self.frame, linear_constraints.solve_whitened_multipliers(whitened_targets))
        )
        self._base_displacement, self._unit_displacements = (
            made[0],
            np.ascontiguousarray(made[1:].reshape(len(row_indices), -1)),
        )
        self._scaling, self._trust_bound = linear_constraints.get_unwhitening_block(row_indices), np.inf
        self._jacobian: Array | None = None
        self._moves_since_refresh = 0
        # targets of the last look, what it saw, and how large the linear change was
        self._cached_unknowns, self._cached_displacements, self._max_displacement = np.empty(0), np.empty((0, 3)), 0.0

    @property
    def linear_targets(self) -> Array:
        """The targets of the holds' rows, which are the last ones: others keep theirs."""
        self._whitened_targets[self._row_indices] = self.unknowns
        return self._linear_constraints.unwhiten(self._whitened_targets, self._row_indices)

    def compute_linear_displacement(self, unknowns: Array) -> Array:
        """(n, 3) the linear change of the frame."""
        return self._base_displacement + (unknowns @ self._unit_displacements).reshape(self._base_displacement.shape)

    def compute_residual(self, unknowns: Array) -> Array:
        """How far the rows are from what their holds ask for [m]; endlessly, where the linear change leaves bounds."""
        # a move begins where the last one has looked
        if not np.array_equal(unknowns, self._cached_unknowns):
            self._cache_evaluation(unknowns)
        if self._max_displacement > self._trust_bound:
            return np.full(sum(len(hold.directions) for hold in self.constraints), np.inf)
        return compute_frame_residuals(self.model, self.constraints, self._cached_displacements)

    def _cache_evaluation(self, unknowns: Array) -> None:
        """Keep how far the vertices move with the targets y, and how large the linear change is."""
        linear_displacement = self.compute_linear_displacement(unknowns)
        self._cached_unknowns, self._max_displacement = unknowns.copy(), float(np.abs(linear_displacement).max())
        self._cached_displacements = evaluate_vertex_displacements(self.model, self.constraints, linear_displacement)

    def compute_difference_jacobian(self, unknowns: Array) -> Array:
        """∂miss/∂y, by differences that move no vertex by more than a nudge."""
        farthest = np.abs(self._unit_displacements).max(axis=1, initial=0.0)
        difference_steps = np.where(
            farthest > 0.0, DIFFERENCE_STEP * self.model.size / np.maximum(farthest, 1e-300), 1.0
        )
        linear_displacements = [
            self.compute_linear_displacement(unknowns + step) for step in (0.0 * unknowns, *np.diag(difference_steps))
        ]
        residuals = [
            compute_frame_residuals(
                self.model, self.constraints, evaluate_vertex_displacements(self.model, self.constraints, change)
            )
            for change in linear_displacements
        ]
        return np.stack([(look - residuals[0]) / nudge for look, nudge in zip(residuals[1:], difference_steps)], axis=1)

    def solve(self, constraints: Sequence[VertexConstraint], *, approximate: bool = False) -> LeastSquaresResult:
        """Bring the same holds to other targets; rough: as near as a few looks lead, for a hand that moves on."""
        self.constraints = list(constraints)
        asked_for = float(compute_drag_distances(self.model, constraints).max())
        tolerance = TARGET_TOLERANCE * asked_for
        self._trust_bound = np.inf
        r0 = self.compute_residual(self.unknowns)
        self._trust_bound = max(TRUST_BOUND * asked_for, TRUST_BOUND_GROWTH * self._max_displacement)
        is_far = float(np.abs(r0).max()) > CONTINUATION_DISTANCE * self.model.size
        if self._jacobian is None:
            self._jacobian = self.compute_difference_jacobian(self.unknowns)
        result = self._solve_approximately(r0, tolerance) if approximate else self._solve_fully(r0, tolerance, is_far)
        if not approximate and np.abs(result.residual).max() > STALL_TOLERANCE_FACTOR * tolerance and is_far:
            again = self._solve_by_continuation(self.unknowns, tolerance)
            again.residual_history = result.residual_history + again.residual_history
            result = min(result, again, key=lambda each: float(np.linalg.norm(each.residual)))
        self.unknowns, self._jacobian = result.x, result.jacobian
        return result

    def _solve_approximately(self, r0: Array, tolerance: float) -> LeastSquaresResult:
        """With what was learned alone, unless that misleads."""
        J = self._jacobian if self._jacobian is not None else self.compute_difference_jacobian(self.unknowns)
        result = levenberg_marquardt(
            self.compute_residual,
            self.unknowns,
            J,
            tolerance,
            self._scaling,
            r0=r0,
            max_evaluations=INTERACTIVE_EVALUATIONS,
        )
        is_jacobian_stale = (
            np.linalg.norm(result.residual) > RESTART_REDUCTION * np.linalg.norm(r0)
            and len(self.unknowns) <= MAX_ROWS_FOR_DIFFERENCES
        )
        self._moves_since_refresh += 1
        if is_jacobian_stale and self._moves_since_refresh >= JACOBIAN_REFRESH_INTERVAL:
            result.jacobian, self._moves_since_refresh = self.compute_difference_jacobian(result.x), 0
        return result

    def _solve_fully(self, r0: Array, tolerance: float, refresh_jacobian: bool) -> LeastSquaresResult:
        """By strong directions first where there are several vertices, and by all where those do not do."""
        if len(self.unknowns) <= 3:
            return self._solve_with_restarts(r0, tolerance, refresh_jacobian, 0.0, STALL_TOLERANCE_FACTOR * tolerance)
        accept_tolerance = REACHED_TOLERANCE / TARGET_TOLERANCE * tolerance
        result = self._solve_with_restarts(r0, tolerance, refresh_jacobian, REGULARISATION, accept_tolerance)
        if np.abs(result.residual).max() <= accept_tolerance:
            return result
        again = self._solve_with_restarts(r0, tolerance, refresh_jacobian, 0.0, STALL_TOLERANCE_FACTOR * tolerance)
        again.residual_history = result.residual_history + again.residual_history[1:]
        return again

    def _solve_with_restarts(
        self, r0: Array, tolerance: float, refresh_jacobian: bool, regularisation: float, accept_tolerance: float
    ) -> LeastSquaresResult:
        """With what was learned, and where that misleads with differences taken anew, as long as it is worth it."""
        compute_jacobian = (
            self.compute_difference_jacobian
            if refresh_jacobian and len(self.unknowns) <= MAX_ROWS_FOR_DIFFERENCES
            else None
        )
        J = self._jacobian if self._jacobian is not None else self.compute_difference_jacobian(self.unknowns)
        result = levenberg_marquardt(
            self.compute_residual,
            self.unknowns,
            J,
            tolerance,
            self._scaling,
            compute_jacobian,
            regularisation=regularisation,
            r0=r0,
        )
        residual_history = result.residual_history
        for _ in range(MAX_RESTARTS):
            left = float(np.linalg.norm(result.residual))
            if np.abs(result.residual).max() <= accept_tolerance:
                break
            fresh = self.compute_difference_jacobian(result.x)
            result = levenberg_marquardt(
                self.compute_residual,
                result.x,
                fresh,
                tolerance,
                self._scaling,
                compute_jacobian,
                regularisation=regularisation,
                r0=result.residual,
            )
            residual_history = residual_history + result.residual_history[1:]
            if np.linalg.norm(result.residual) > RESTART_REDUCTION * left:
                break
        result.residual_history = residual_history
        return result

    def _solve_by_continuation(self, unknowns: Array, tolerance: float) -> LeastSquaresResult:
        """From y to the target in parts of the way, with differences taken anew: large bends need it."""
        gap, J, looks = self.compute_residual(unknowns), self.compute_difference_jacobian(unknowns), list[float]()
        part = CONTINUATION_TOLERANCE * float(np.abs(gap).max()) / CONTINUATION_STEPS
        for left in np.linspace(1.0, 0.0, CONTINUATION_STEPS + 1)[1:]:

            def miss(at: Array, rest: Array = left * gap) -> Array:
                whole = self.compute_residual(at)
                looks.append(float(np.abs(whole).max()))
                return whole - rest

            near = tolerance if left == 0.0 else max(tolerance, part)
            found = levenberg_marquardt(miss, unknowns, J, near, self._scaling)
            missed = np.abs(found.residual).max() > near
            unknowns, J = (
                found.x,
                self.compute_difference_jacobian(found.x) if missed and left > 0.0 else found.jacobian,
            )
        return LeastSquaresResult(unknowns, self.compute_residual(unknowns), J, looks)


def solve_all_constraints(
    model: EditModel,
    linear_constraints: LinearConstraints,
    constraints: Sequence[VertexConstraint],
    row_indices: Sequence[IndexArray],
) -> Array:
    """Targets (c,) of all rows that bring holds of any frames, with rows `mine`, where they belong.

    Rows of others keep their share of the energy, and follow with their targets.
    """
    all_rows, counts = np.concatenate(list(row_indices)), [len(rows_of) for rows_of in row_indices]
    # the unknowns are the rows of the holds one after another; those of a hold among them
    parts = np.split(np.arange(len(all_rows)), np.cumsum(counts)[:-1])
    scale, whitened_targets = (
        np.repeat(compute_drag_distances(model, constraints), counts),
        linear_constraints.whiten(linear_constraints.targets),
    )
    J = np.zeros((len(all_rows), len(all_rows)))
    for frame in {hold.frame for hold in constraints}:
        at = [k for k, hold in enumerate(constraints) if hold.frame == frame]
        here = np.concatenate([parts[k] for k in at])
        grip = FrameConstraintSolver(model, linear_constraints, [constraints[k] for k in at], all_rows[here])
        # by the targets of a frame's own rows alone; how whitened ones move those of all frames is known
        J[np.ix_(here, here)] = np.linalg.solve(
            linear_constraints.get_unwhitening_block(all_rows[here]).T,
            grip.compute_difference_jacobian(grip.unknowns).T,
        ).T
    scaling = linear_constraints.get_unwhitening_block(all_rows) / scale[:, None]
    J = J @ linear_constraints.get_unwhitening_block(all_rows) / scale[:, None]

    def evaluate_residual(y: Array) -> Array:
        whitened_targets[all_rows] = y
        return (
            np.concatenate(
                compute_residuals(
                    model,
                    linear_constraints,
                    linear_constraints.solve_whitened_multipliers(whitened_targets[:, None])[:, 0],
                    constraints,
                )
            )
            / scale
        )

    whitened_targets[all_rows] = levenberg_marquardt(
        evaluate_residual, whitened_targets[all_rows].copy(), J, TARGET_TOLERANCE, scaling
    ).x
    return linear_constraints.unwhiten(whitened_targets, np.arange(len(linear_constraints)))
