"""NumPy twins: each compiled kernel equals the formula of its docstring, written with einsum."""

from __future__ import annotations

import numpy as np
import pytest

from bodies import Array, many_materials, solid_many, springs_many
from cajole.body import Body, BodySolid, BodySprings, kernels_solid, kernels_springs


def assemble(body: Body, elements: np.ndarray, blocks: Array) -> Array:
    """Sum blocks (m, k, k, 3, 3) of `elements` (m, k) into a dense matrix."""
    dense = np.zeros((body.vertex_count, body.vertex_count, 3, 3))
    for a in range(elements.shape[1]):
        for b in range(elements.shape[1]):
            np.add.at(dense, (elements[:, a], elements[:, b]), blocks[:, a, b])
    return dense.transpose(0, 2, 1, 3).reshape(3 * body.vertex_count, -1)


class Tets:
    """StVK by einsum: F = I + Σ u_a g_aᵀ, E = (FᵀF - I)/2, S = λ tr(E) I + 2μE."""

    def __init__(self, body: BodySolid):
        self.body, self.tets, self.g, self.V = body, body.mesh.tets, body.mesh.shape_gradients, body.mesh.volumes
        self.lam, self.mu = np.array([material.lame for material in many_materials(len(self.tets))]).T.copy()
        # what the compiled loops take, in their order
        self.elastic = (self.tets.astype(np.int32), np.array(self.g), np.array(self.V), self.lam, self.mu)
        self.places = (body.pattern.block_offsets, body.pattern.row_strides)

    def gradient(self, u: Array) -> Array:
        return np.einsum("eai,eaj->eij", u[self.tets], self.g)

    def stress(self, E: Array) -> Array:
        trace = np.einsum("eii->e", E)
        return np.einsum("e,e,ij->eij", self.lam, trace, np.eye(3)) + 2 * self.mu[:, None, None] * E

    def parts(self, u: Array) -> tuple[Array, Array, Array]:
        F = np.eye(3) + self.gradient(u)
        E = 0.5 * (np.einsum("eki,ekj->eij", F, F) - np.eye(3))
        return F, E, self.stress(E)

    def change(self, u: Array, v: Array) -> tuple[Array, Array, Array, Array]:
        F, _, S = self.parts(u)
        G = self.gradient(v)
        dE = 0.5 * (np.einsum("eki,ekj->eij", F, G) + np.einsum("eki,ekj->eij", G, F))
        return F, S, G, self.stress(dE)

    def energy(self, u: Array) -> float:
        _, E, S = self.parts(u)
        return float(0.5 * np.einsum("e,eij,eij->", self.V, E, S))

    def scattered(self, corner: Array) -> Array:
        out = np.zeros((self.body.vertex_count, 3))
        np.add.at(out, self.tets, corner)
        return out

    def force(self, u: Array) -> Array:
        F, _, S = self.parts(u)
        return self.scattered(np.einsum("e,eij,ejk,eak->eai", self.V, F, S, self.g))

    def force_change(self, u: Array, v: Array) -> Array:
        F, S, G, dS = self.change(u, v)
        dP = np.einsum("eij,ejk->eik", G, S) + np.einsum("eij,ejk->eik", F, dS)
        return self.scattered(np.einsum("e,eik,eak->eai", self.V, dP, self.g))

    def stiffness(self, u: Array) -> Array:
        F, _, S = self.parts(u)
        return self._blocks(S, self._geometric(F, F))

    def stiffness_change(self, u: Array, v: Array) -> Array:
        F, _, G, dS = self.change(u, v)
        return self._blocks(dS, self._geometric(F, G) + self._geometric(G, F))

    def _geometric(self, F: Array, G: Array) -> Array:
        """λ (F g_a)(G g_b)ᵀ + μ (G g_b)(F g_a)ᵀ + μ (g_a·g_b) F Gᵀ, bilinear in F and G."""
        a, b = np.einsum("eij,eaj->eai", F, self.g), np.einsum("eij,eaj->eai", G, self.g)
        products = np.einsum("eak,ebk->eab", self.g, self.g)
        return (
            np.einsum("e,eai,ebj->eabij", self.lam, a, b)
            + np.einsum("e,ebi,eaj->eabij", self.mu, b, a)
            + np.einsum("e,eab,eik,ejk->eabij", self.mu, products, F, G)
        )

    def _blocks(self, S: Array, rest: Array) -> Array:
        along = np.einsum("eak,ekl,ebl,ij->eabij", self.g, S, self.g, np.eye(3))
        return assemble(self.body, self.tets, self.V[:, None, None, None, None] * (along + rest))


@pytest.fixture
def tets() -> Tets:
    return Tets(solid_many())


@pytest.fixture
def motion(random: np.random.Generator) -> tuple[Array, Array]:
    u, v = random.uniform(-1, 1, (2, solid_many().vertex_count, 3))
    return 0.2 * u, v


def test_tet_energy_agreement(tets: Tets, motion: tuple[Array, Array]) -> None:
    assert kernels_solid.compute_energy(motion[0], *tets.elastic) == pytest.approx(tets.energy(motion[0]), rel=1e-13)


def test_tet_force_agreement(tets: Tets, motion: tuple[Array, Array]) -> None:
    out = np.ones((tets.body.vertex_count, 3))
    kernels_solid.add_force(motion[0], *tets.elastic, out)
    want = 1 + tets.force(motion[0])
    np.testing.assert_allclose(out, want, rtol=0, atol=1e-12 * abs(want).max())


def test_tet_force_change_agreement(tets: Tets, motion: tuple[Array, Array]) -> None:
    out = np.ones((tets.body.vertex_count, 3))
    kernels_solid.add_force_differential(*motion, *tets.elastic, 0.3, out)
    want = 1 + 0.3 * tets.force_change(*motion)
    np.testing.assert_allclose(out, want, rtol=0, atol=1e-12 * abs(want).max())


def test_tet_force_stiffness_agreement(tets: Tets, motion: tuple[Array, Array]) -> None:
    pattern = tets.body.pattern
    out, data = np.zeros((tets.body.vertex_count, 3)), np.zeros(pattern.nnz)
    kernels_solid.add_force_and_stiffness(motion[0], *tets.elastic, *tets.places, 0.3, out, data)
    force, stiffness = tets.force(motion[0]), 0.3 * tets.stiffness(motion[0])
    np.testing.assert_allclose(out, force, rtol=0, atol=1e-12 * abs(force).max())
    np.testing.assert_allclose(
        pattern.build_matrix(data).toarray(), stiffness, rtol=0, atol=1e-13 * abs(stiffness).max()
    )


def test_tet_stiffness_change_agreement(tets: Tets, motion: tuple[Array, Array]) -> None:
    pattern = tets.body.pattern
    data = np.zeros(pattern.nnz)
    kernels_solid.add_stiffness_derivative(*motion, *tets.elastic, *tets.places, 0.3, data)
    want = 0.3 * tets.stiffness_change(*motion)
    np.testing.assert_allclose(pattern.build_matrix(data).toarray(), want, rtol=0, atol=1e-13 * abs(want).max())


def test_tet_mass_agreement(tets: Tets) -> None:
    weights = tets.body.densities * tets.V
    blocks = np.einsum("e,ab,ij->eabij", weights / 20, 1 + np.eye(4), np.eye(3))
    want = assemble(tets.body, tets.tets, blocks)
    np.testing.assert_allclose(tets.body.mass.toarray(), want, rtol=0, atol=1e-15 * abs(want).max())


class Springs:
    """Springs by einsum."""

    def __init__(self, body: BodySprings, u: Array, v: Array):
        self.body, self.edges = body, body.edges
        self.elastic = (body.edges.astype(np.int32), body.spring_stiffness, body.rest_lengths)
        q = body.vertices + u
        self.q, self.v = q, v
        x = q[self.edges[:, 0]] - q[self.edges[:, 1]]
        self.w = v[self.edges[:, 0]] - v[self.edges[:, 1]]
        self.l = np.linalg.norm(x, axis=1)
        self.n = x / self.l[:, None]
        self.g = 1 - body.rest_lengths / self.l
        self.N = np.einsum("si,sj->sij", self.n, self.n)
        self.P = np.eye(3) - self.N
        self.along = np.einsum("si,si->s", self.n, self.w)
        self.across = np.einsum("sij,sj->si", self.P, self.w)

    def block(self, kind: int) -> Array:
        k, c, r = self.body.spring_stiffness, self.body.spring_damping, self.body.rest_lengths
        turned = np.einsum("si,sj->sij", self.n, self.across) / self.l[:, None, None]
        both = turned + turned.transpose(0, 2, 1)
        aside = (self.along / self.l)[:, None, None] * self.P
        soft = 0.5 * (self.g + np.sqrt(self.g**2 + self.body.clamp**2))
        by_hand = {
            kernels_springs.STIFFNESS: k[:, None, None] * (self.g[:, None, None] * self.P + self.N),
            kernels_springs.CLAMPED_STIFFNESS: k[:, None, None] * (soft[:, None, None] * self.P + self.N),
            kernels_springs.STIFFNESS_DERIVATIVE: (k * r / self.l)[:, None, None] * (aside + both),
            kernels_springs.DAMPING: c[:, None, None] * self.N,
            kernels_springs.DAMPING_JACOBIAN: c[:, None, None] * (turned + aside),
            kernels_springs.DAMPING_JACOBIAN_SYMMETRIC: c[:, None, None] * (0.5 * both + aside),
        }
        return by_hand[kind]

    def force(self, elastic: float, drag: float) -> Array:
        size = elastic * self.body.spring_stiffness * (self.l - self.body.rest_lengths)
        size = size + drag * self.body.spring_damping * self.along
        out = np.zeros_like(self.q)
        np.add.at(out, self.edges[:, 0], size[:, None] * self.n)
        np.add.at(out, self.edges[:, 1], -size[:, None] * self.n)
        return out


@pytest.fixture
def springs(random: np.random.Generator) -> Springs:
    body = springs_many()
    u, v = random.uniform(-1, 1, (2, body.vertex_count, 3))
    return Springs(body, 0.1 * u, v)


def test_spring_energy_agreement(springs: Springs) -> None:
    want = 0.5 * (springs.body.spring_stiffness * (springs.l - springs.body.rest_lengths) ** 2).sum()
    assert kernels_springs.compute_energy(springs.q, *springs.elastic) == pytest.approx(want, rel=1e-13)


@pytest.mark.parametrize(("elastic", "drag"), [(1.0, 0.0), (0.0, 1.0), (0.7, 1.9)])
def test_spring_force_agreement(springs: Springs, elastic: float, drag: float) -> None:
    out = np.ones_like(springs.q)
    kernels_springs.add_force(springs.q, springs.v, *springs.elastic, springs.body.spring_damping, elastic, drag, out)
    want = 1 + springs.force(elastic, drag)
    np.testing.assert_allclose(out, want, rtol=0, atol=1e-12 * abs(want).max())


@pytest.mark.parametrize("kind", range(6))
def test_spring_matrix_agreement(springs: Springs, kind: int) -> None:
    body, pattern = springs.body, springs.body.pattern
    data = np.zeros(pattern.nnz)
    kernels_springs.add_matrix(
        kind, springs.q, springs.v, *springs.elastic, body.spring_damping, body.clamp,
        pattern.block_offsets, pattern.row_strides, 0.4, data,
    )  # fmt: skip
    signs = np.array([[1.0, -1.0], [-1.0, 1.0]])
    want = 0.4 * assemble(body, springs.edges, np.einsum("ab,sij->sabij", signs, springs.block(kind)))
    np.testing.assert_allclose(pattern.build_matrix(data).toarray(), want, rtol=0, atol=1e-13 * abs(want).max())


def test_spring_shortest_agreement(springs: Springs) -> None:
    where, least = kernels_springs.find_shortest_spring(springs.q, springs.elastic[0])
    assert (where, least) == (int(np.argmin(springs.l)), pytest.approx(springs.l.min(), rel=1e-15))
