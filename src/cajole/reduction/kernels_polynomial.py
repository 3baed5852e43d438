"""Compiled pieces of the tables of the reduced St. Venant-Kirchhoff polynomial, as they are made and kept.

Pairs (i <= j) are numbered row by row. With y the products z_i z_j, K(z) = K0 + unpack(C1 z) + unpack(C2 y), and by
Euler's theorem the force needs no table of its own: f = K0 z + ½ unpack(C1 z) z + ⅓ unpack(C2 y) z. Motion has its
own order of the same numbers, see `kernels_solid`.
"""

from __future__ import annotations

import numpy as np

from cajole.jit import njit

FASTMATH = {"contract", "reassoc", "nsz"}


@njit(cache=True, fastmath=FASTMATH)
def fill_strain_rows(U, tets, grads, volumes, lam, mu, first, last, rows):
    """Rows of √V D^½ times the strain of the features z_i and z_i z_j, six (Mandel) for each tet in [first, last)."""
    r = U.shape[2]
    G = np.empty((r, 3, 3))
    s = np.empty(6)
    half = np.sqrt(0.5)
    for e in range(first, last):
        root = np.sqrt(volumes[e])
        a = np.sqrt(2.0 * mu[e])
        b = (np.sqrt(2.0 * mu[e] + 3.0 * lam[e]) - a) / 3.0
        for i in range(r):
            for p in range(3):
                for q in range(3):
                    total = 0.0
                    for c in range(4):
                        total += U[tets[e, c], p, i] * grads[e, c, q]
                    G[i, p, q] = total
        base = 6 * (e - first)
        column = r
        for i in range(r):
            for j in range(i, r + 1):
                # j == r stands for the linear feature of i; it comes first in the row
                if j == r:
                    for p in range(3):
                        s[p] = G[i, p, p]
                    s[3] = half * (G[i, 1, 2] + G[i, 2, 1])
                    s[4] = half * (G[i, 0, 2] + G[i, 2, 0])
                    s[5] = half * (G[i, 0, 1] + G[i, 1, 0])
                    place = i
                else:
                    weight = 0.5 if i == j else 1.0
                    for p in range(3):
                        s[p] = weight * (G[i, 0, p] * G[j, 0, p] + G[i, 1, p] * G[j, 1, p] + G[i, 2, p] * G[j, 2, p])
                    for m in range(3):
                        p, q = (1, 2) if m == 0 else ((0, 2) if m == 1 else (0, 1))
                        total = 0.0
                        for k in range(3):
                            total += G[i, k, p] * G[j, k, q] + G[i, k, q] * G[j, k, p]
                        s[3 + m] = weight * half * total
                    place = column
                    column += 1
                trace = b * (s[0] + s[1] + s[2])
                for p in range(6):
                    rows[base + p, place] = root * (a * s[p] + (trace if p < 3 else 0.0))


@njit(cache=True, fastmath=FASTMATH)
def compute_pair_products(z, y):
    """y = z_i z_j for i <= j."""
    t = 0
    for i in range(len(z)):
        for j in range(i, len(z)):
            y[t] = z[i] * z[j]
            t += 1


@njit(cache=True, fastmath=FASTMATH)
def differentiate_pair_products(z, v, y):
    """The derivative of `products` along v."""
    t = 0
    for i in range(len(z)):
        for j in range(i, len(z)):
            y[t] = z[i] * v[j] + z[j] * v[i]
            t += 1


@njit(cache=True, fastmath=FASTMATH)
def multiply_quartic(C2, y, out):
    """out = C2 y; C2 whole (P, P), or the upper triangle of its symmetric part in one row (1, P(P+1)/2).

    The packed form is half the memory, which is what large models wait for; there y carries the multiplicity.
    """
    size = len(y)
    if C2.shape[0] == size:
        np.dot(C2, y, out)
        return
    out[:] = 0.0
    t = 0
    for i in range(size):
        total = 0.0
        weight = y[i]
        total += C2[0, t] * weight
        t += 1
        for j in range(i + 1, size):
            c = C2[0, t]
            total += c * y[j]
            out[j] += c * weight
            t += 1
        out[i] += total


@njit(cache=True, fastmath=FASTMATH)
def apply_multiplicity(y, r, packed):
    """Multiply the products of different coordinates by two where the table is the symmetric one."""
    if packed:
        t = 0
        for i in range(r):
            for j in range(i, r):
                if j > i:
                    y[t] *= 2.0
                t += 1


@njit(cache=True, fastmath=FASTMATH)
def evaluate_polynomial(z, K0, C1, C2, y, k1, k2, f, K):
    """f(z) and K(z); y, k1, k2 are work space of P values. Returns W(z)."""
    r = len(z)
    compute_pair_products(z, y)
    apply_multiplicity(y, r, C2.shape[0] != len(y))
    np.dot(C1, z, k1)
    multiply_quartic(C2, y, k2)
    f[:] = 0.0
    energy = 0.0
    t = 0
    for i in range(r):
        for j in range(i, r):
            linear, cubic, fourth = K0[i, j], k1[t], k2[t]
            K[i, j] = linear + cubic + fourth
            K[j, i] = K[i, j]
            share = linear + 0.5 * cubic + fourth / 3.0
            part = 0.5 * linear + cubic / 6.0 + fourth / 12.0
            f[i] += share * z[j]
            energy += part * z[i] * z[j]
            if j > i:
                f[j] += share * z[i]
                energy += part * z[i] * z[j]
            t += 1
    return energy


@njit(cache=True, fastmath=FASTMATH)
def compute_stiffness_derivative(z, v, C1, C2, y, k1, k2, H):
    """H(z):v, the derivative of K along v."""
    r = len(z)
    differentiate_pair_products(z, v, y)
    apply_multiplicity(y, r, C2.shape[0] != len(y))
    np.dot(C1, v, k1)
    multiply_quartic(C2, y, k2)
    t = 0
    for i in range(r):
        for j in range(i, r):
            H[i, j] = k1[t] + k2[t]
            H[j, i] = H[i, j]
            t += 1
