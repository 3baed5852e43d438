// The implicit step of a reduced solid, as Python's `reduction` makes it. Matrices are row by row in flat arrays.

// As in Python: relative residual of a step, Newton iterations, what counts as rounding, and the shortest part of a
// Newton step that is tried.
const TOLERANCE = 1e-11, MOST_ITERATIONS = 30, ROUNDING = 1e-8, SHORTEST = 0.5 ** 13;

// --- forces: F = f(q) + d(q, v), Gq = ∂F/∂q, Gv = ∂F/∂v

/** out = Σ_l z_l rows[l]; four rows in one pass, since this is where the time goes. */
function combine(rows, z, out) {
  const n = out.length, r = z.length;
  out.fill(0);
  let l = 0;
  for (; l + 3 < r; l += 4) {
    const A = l * n, B = A + n, C = B + n, D = C + n, a = z[l], b = z[l + 1], c = z[l + 2], d = z[l + 3];
    for (let t = 0; t < n; t++) out[t] += a * rows[A + t] + b * rows[B + t] + c * rows[C + t] + d * rows[D + t];
  }
  for (; l < r; l++) {
    const a = z[l], A = l * n;
    for (let t = 0; t < n; t++) out[t] += a * rows[A + t];
  }
}

/** out_ij = Σ_k T_ijk z_k: T over triples i >= j >= k, out over pairs i >= j, both in lexical order. */
function contract(T, z, out) {
  out.fill(0);
  for (let i = 0, pair = 0, t = 0; i < z.length; i++) {
    for (let j = 0, jk = 0; j <= i; j++) {
      // taking i away leaves (j, k), taking j leaves (i, k), taking k leaves (i, j); equal indices are taken once
      const zj = j < i ? z[j] : 0;
      let total = 0;
      for (let k = 0; k <= j; k++, t++, jk++) {
        const value = T[t];
        out[jk] += z[i] * value;
        out[pair + k] += zj * value;
        if (k < j) total += z[k] * value;
      }
      out[pair + j] += total;
    }
    pair += i + 1;
  }
}

/** A solid: the exact cubic K(z) = K0 + C1·z + ½ T·z, T = Σ z_l C3[l], with damping (αI + βK) v. */
export class Solid {
  constructor(array, r) {
    const pairs = (r * (r + 1)) / 2, triples = (pairs * (r + 2)) / 3;
    [this.K0, this.C1, this.C3] = [array("stiffness", r, r), array("cubic", r, pairs), array("quartic", r, triples)];
    [this.alpha, this.beta] = [array("alpha")[0], array("beta")[0]];
    [this.k1, this.k2, this.T] = [pairs, pairs, triples].map((n) => new Float64Array(n));
  }

  evaluate(q, v, F, Gq, Gv) {
    const { K0, C1, C3, alpha, beta, k1, k2, T } = this, r = q.length;
    combine(C1, q, k1);
    combine(C3, q, T);
    contract(T, q, k2);
    F.fill(0);
    for (let i = 0, t = 0; i < r; i++) {
      for (let j = 0; j <= i; j++, t++) {
        const linear = K0[i * r + j];
        Gq[i * r + j] = Gq[j * r + i] = linear + k1[t] + 0.5 * k2[t];
        const share = linear + 0.5 * k1[t] + k2[t] / 6;
        F[i] += share * q[j];
        if (j < i) F[j] += share * q[i];
      }
    }
    for (let i = 0; i < r * r; i++) Gv[i] = beta * Gq[i];
    for (let i = 0; i < r; i++) Gv[i * r + i] += alpha;
    addProduct(Gv, v, F);
    if (beta !== 0) this.addChange(v, Gq);
  }

  /** H += β d/dε K(q + εv), with T as `evaluate` left it. */
  addChange(v, H) {
    const { C1, beta, k1, k2, T } = this, r = v.length;
    combine(C1, v, k1);
    contract(T, v, k2);
    for (let i = 0, t = 0; i < r; i++) {
      for (let j = 0; j <= i; j++, t++) {
        const change = beta * (k1[t] + k2[t]);
        H[i * r + j] += change;
        if (j < i) H[j * r + i] += change;
      }
    }
  }
}

// --- small dense algebra

/** out += A x. */
function addProduct(A, x, out) {
  const r = x.length;
  for (let i = 0; i < out.length; i++) {
    let total = 0;
    for (let j = 0; j < r; j++) total += A[i * r + j] * x[j];
    out[i] += total;
  }
}

/** A x = b in place of b by elimination with row pivots; A is written over. False when A is singular. */
function solve(A, x) {
  const r = x.length;
  for (let k = 0; k < r; k++) {
    let best = k;
    for (let i = k + 1; i < r; i++) if (Math.abs(A[i * r + k]) > Math.abs(A[best * r + k])) best = i;
    if (!(Math.abs(A[best * r + k]) > 0)) return false;
    if (best !== k) {
      [x[k], x[best]] = [x[best], x[k]];
      for (let j = k; j < r; j++) {
        const kept = A[k * r + j];
        A[k * r + j] = A[best * r + j];
        A[best * r + j] = kept;
      }
    }
    for (let i = k + 1; i < r; i++) {
      const c = A[i * r + k] / A[k * r + k];
      x[i] -= c * x[k];
      for (let j = k + 1; j < r; j++) A[i * r + j] -= c * A[k * r + j];
    }
  }
  for (let i = r - 1; i >= 0; i--) {
    for (let j = i + 1; j < r; j++) x[i] -= A[i * r + j] * x[j];
    x[i] /= A[i * r + i];
  }
  return true;
}

export function norm(x) {
  let total = 0;
  for (const value of x) total += value * value;
  return Math.sqrt(total);
}

// --- the implicit step: a + F(P + bh a, V + gh a) = w

export class Stepper {
  constructor(forces, r) {
    this.forces = forces;
    for (const name of ["F", "trial", "move", "a", "q", "v"]) this[name] = new Float64Array(r);
    for (const name of ["Gq", "Gv", "Ga"]) this[name] = new Float64Array(r * r);
  }

  /** Newton with backtracking from this.a and into it; q, v go along. False when it does not converge. */
  solve(P, V, w, bh, gh) {
    const { forces, F, trial, move, a, q, v, Gq, Gv } = this, r = a.length;
    trial.set(a);
    for (let error = Infinity, scale = 0, length = 1, taken = 0; ; ) {
      for (let i = 0; i < r; i++) {
        q[i] = P[i] + bh * trial[i];
        v[i] = V[i] + gh * trial[i];
      }
      forces.evaluate(q, v, F, Gq, Gv);
      if (length === 0) return error <= ROUNDING * scale;
      let now = 0;
      for (let i = 0; i < r; i++) now += (trial[i] + F[i] - w[i]) ** 2;
      now = Math.sqrt(now);
      if (now < error) {
        error = now;
        length = 1;
        a.set(trial);
        scale = norm(F) + norm(w) + norm(a);
        if (error <= TOLERANCE * scale) return true;
        if (taken++ === MOST_ITERATIONS) return error <= ROUNDING * scale;
        if (!this.newton(w, bh, gh)) return false;
      } else if (error === Infinity) {
        return false;
      } else {
        length = length > SHORTEST && error > ROUNDING * scale ? 0.5 * length : 0;
      }
      for (let i = 0; i < r; i++) trial[i] = a[i] - length * move[i];
    }
  }

  /** Whether what was found can be gone on from: squares of larger numbers overflow. */
  isFinite() {
    return Number.isFinite(norm(this.a) + norm(this.q) + norm(this.v));
  }

  newton(w, bh, gh) {
    const { F, move, a, Gq, Gv, Ga } = this, r = a.length;
    for (let i = 0; i < r * r; i++) Ga[i] = gh * Gv[i] + bh * Gq[i];
    for (let i = 0; i < r; i++) {
      Ga[i * r + i] += 1;
      move[i] = a[i] + F[i] - w[i];
    }
    return solve(Ga, move) && Number.isFinite(norm(move));
  }
}
