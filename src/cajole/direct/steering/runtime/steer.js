// Runs a controller that `controller.save(path)` wrote: no dependencies, double precision, the steps of the Python side.
//
//   const body = await Controller.load("controller.npz");
//   body.push(12, [0, 0, 50], 0.1);   // vertex, newtons, seconds
//   body.step();                      // one step of body.dt seconds
//   body.positions();                 // Float32Array x, y, z of every vertex

import { parseNpz } from "./npz.js";
import { norm, Solid, Stepper } from "./step.js";

const FORMAT = "cajole controller", VERSION = 1;
// Into how many parts a step that does not converge is cut, in turn.
const CUTS = [2, 4, 8, 16, 32];
// Of single precision, in which positions are handed out.
const LARGEST = 3.4e38;

// --- the controller

export class Controller {
  /** From a URL or from the bytes of a file (ArrayBuffer). Throws when it is no controller of a solid. */
  static async load(source) {
    if (source instanceof ArrayBuffer) return new Controller(parseNpz(source));
    const answer = await fetch(source);
    if (!answer.ok) throw new Error(`cannot load ${source}: ${answer.status} ${answer.statusText}`);
    return new Controller(parseNpz(await answer.arrayBuffer()));
  }

  constructor(arrays) {
    const array = (name, ...shape) => {
      const found = arrays.get(name);
      if (!found?.data || found.shape.length !== shape.length || !shape.every((n, i) => n === found.shape[i])) {
        throw new Error(`not a controller file: ${name} is missing or not of shape (${shape}); save it again`);
      }
      const at = found.data.findIndex((value) => typeof value === "number" && !Number.isFinite(value));
      if (at >= 0) throw new Error(`not a controller file: ${name} holds ${found.data[at]} at ${at}; save it again`);
      return found.data;
    };
    const number = (name) => Number(array(name)[0]);
    const positive = (name) => {
      if (!(number(name) > 0)) throw new Error(`not a controller file: ${name} is ${number(name)}, but must be positive; save it again`);
      return number(name);
    };
    const indices = (name, count) => {
      const data = array(name, arrays.get(name)?.shape?.[0] ?? 0, 3), at = data.findIndex((value) => !(value >= 0 && value < count));
      if (at >= 0) throw new Error(`not a controller file: ${name} names vertex ${data[at]} of ${count}; save it again`);
      return data;
    };
    if (arrays.get("format") !== FORMAT) throw new Error(`not a controller file: it is not marked as a ${FORMAT}`);
    if (number("version") !== VERSION) throw new Error(`format version ${number("version")}; this reads ${VERSION}`);
    if (arrays.has("springs")) throw new Error("a controller of springs runs in Python only; reduce a solid for this");
    for (const name of ["dt", "size", "frequency"]) this[name] = positive(name);
    this.totalMass = positive("total_mass");
    const [T, r] = arrays.get("feed_forward")?.shape ?? [0, 0], n = arrays.get("vertices")?.shape?.[0] ?? 0;
    if (!(T >= 1 && r >= 1 && n >= 1)) throw new Error("not a controller file: it has no steps, coordinates or vertices; save it again");
    [this.steps, this.r] = [T, r];
    const offset = array("offset", n, 3);
    this.vertices = array("vertices", n, 3).map((x, i) => x + offset[i]);
    [this.basis, this.triangles] = [array("basis", 3 * n, r), indices("triangles", n)];
    this.skin = skinOf(arrays, array, indices, r);
    this._course = array("course", 2, T + 1, 2, r); // predictor states (P, V), then frames (q, v)
    [this._A, this._W, this._gains] = [array("accelerations", T, r), array("feed_forward", T, r), array("gains", T, r, 2 * r)];
    this._kind = number("kind"); // what the gains act on: 0 the predictor state, 1 the frame
    if (this._kind !== 0 && this._kind !== 1) throw new Error(`not a controller file: kind is ${this._kind}, but must be 0 or 1; save it again`);
    this._stepper = new Stepper(new Solid(array, r), r);
    for (const name of ["_P", "_V", "_a", "_q", "_v", "_w", "_external", "feedback"]) this[name] = new Float64Array(r);
    this._out = { body: new Float32Array(3 * n), skin: new Float32Array(this.skin?.vertices.length ?? 0) };
    [this.controlled, this.cuts, this._made] = [true, 0, 0];
    this.reset();
  }

  /** Seconds since the start. */
  get time() {
    return this._made * this.dt;
  }

  /** The frame of the reference that is being followed. */
  get frame() {
    return this._step % this.steps;
  }

  /** Reduced position and velocity, as copies. */
  get state() {
    return { q: this._q.slice(), v: this._v.slice() };
  }

  /** Distance to the frame being followed, in body sizes. */
  get error() {
    const goal = this._at(1, this._step === 0 ? 0 : 1 + ((this._step - 1) % this.steps), 0);
    return norm(this._q.map((value, i) => value - goal[i])) / (Math.sqrt(this.totalMass) * this.size);
  }

  /** Push a vertex with a force [fx, fy, fz] in newtons for some seconds from the next step on. Pushes add up. */
  push(vertex, force, duration = 0.1) {
    const count = this.vertices.length / 3;
    if (!(Number.isInteger(vertex) && vertex >= 0 && vertex < count)) throw new RangeError(`vertex ${vertex} is not in 0..${count - 1}`);
    if (!(force?.length === 3 && Array.from(force).every(Number.isFinite))) throw new TypeError("force must be three finite numbers (N)");
    if (!(duration > 0 && Number.isFinite(duration))) throw new RangeError(`duration is ${duration}, but must be positive (s)`);
    const load = new Float64Array(this.r), at = 3 * vertex * this.r;
    for (let c = 0; c < 3; c++) for (let i = 0; i < this.r; i++) load[i] += force[c] * this.basis[at + c * this.r + i];
    this._pushes.push({ load, left: Math.max(1, Math.round(duration / this.dt)) });
  }

  /** Go on `count` steps. Throws when the pushes are beyond what the model can do; it then stands before that step. */
  step(count = 1) {
    if (!(Number.isInteger(count) && count >= 0)) throw new RangeError(`count is ${count}, but must be a whole number of steps`);
    for (let k = 0; k < count; k++) {
      this._gather();
      const n = this._step % this.steps, { _w: w, r } = this;
      if (this.controlled) this._feedBack(n);
      else this.feedback.fill(0);
      for (let i = 0; i < r; i++) w[i] = this.feedback[i] + this._W[n * r + i] + this._external[i];
      if (!this._advance(n) && !this._cut()) {
        this._pushes = [];
        throw new Error(`step ${this._step + 1} does not converge: push less, or add modes and damping to the model`);
      }
      this._step++;
      this._made++;
    }
  }

  /** x, y, z of the body's vertices; the same array every time. */
  positions() {
    return this._lift(this.vertices, this.basis, this._out.body);
  }

  /** x, y, z of the skin that was saved with the controller; the same array every time. */
  skinPositions() {
    if (!this.skin) throw new Error("the file holds no skin; write it with controller.save(path, skin=skin)");
    return this._lift(this.skin.vertices, this.skin.basis, this._out.skin);
  }

  /** Follow the reference from `frame` on, or from the one closest to the present state; returns it. */
  jump(frame = this._closest()) {
    if (!(Number.isInteger(frame) && frame >= 0 && frame < this.steps)) throw new RangeError(`frame ${frame} is not in 0..${this.steps - 1}`);
    this._step = this.steps + frame; // never 0, which has no past
    return frame;
  }

  /** Stand at the start of the reference again; pushes are over, time goes on. */
  reset() {
    const { r, dt } = this;
    for (const [name, kind, part] of [["_P", 0, 0], ["_V", 0, 1], ["_q", 1, 0], ["_v", 1, 1]]) this[name].set(this._at(kind, 0, part));
    for (let i = 0; i < r; i++) this._a[i] = (4 * (this._P[i] - this._q[i] - dt * this._v[i])) / dt ** 2;
    [this._step, this._pushes] = [0, []];
  }

  _at(kind, frame, part) {
    const start = ((kind * (this.steps + 1) + frame) * 2 + part) * this.r;
    return this._course.subarray(start, start + this.r);
  }

  _gather() {
    this._external.fill(0);
    for (const push of this._pushes) {
      for (let i = 0; i < this.r; i++) this._external[i] += push.load[i];
      push.left--;
    }
    this._pushes = this._pushes.filter((push) => push.left > 0);
  }

  /** w = K dx of step n. */
  _feedBack(n) {
    const { r, feedback, _gains: K, _kind: kind } = this;
    const [x, y] = kind === 0 ? [this._P, this._V] : [this._q, this._v], X = this._at(kind, n, 0), Y = this._at(kind, n, 1);
    for (let i = 0, t = 2 * n * r * r; i < r; i++, t += 2 * r) {
      let total = 0;
      for (let j = 0; j < r; j++) total += K[t + j] * (x[j] - X[j]) + K[t + r + j] * (y[j] - Y[j]);
      feedback[i] = total;
    }
  }

  /** One whole step; Newton starts from the reference's acceleration plus what the last one was off by. */
  _advance(n) {
    const { r, dt, _A: A, _a: a, _stepper: stepper } = this, before = n === 0 ? this.steps - 1 : n - 1;
    for (let i = 0; i < r; i++) stepper.a[i] = A[n * r + i] + (this._step > 0 ? a[i] - A[before * r + i] : 0);
    if (!stepper.solve(this._P, this._V, this._w, dt ** 2 / 4, dt / 2) || !stepper.isFinite()) return false;
    this._take(this._P, this._V, dt);
    return true;
  }

  /** One step in several parts under the same force. */
  _cut() {
    const kept = ["_a", "_q", "_v"].map((name) => this[name].slice()), { r, dt, _stepper: stepper } = this;
    for (const parts of CUTS) {
      const h = dt / parts, P = new Float64Array(r), V = new Float64Array(r);
      this._predict(P, V, h);
      let done = 0;
      for (; done < parts; done++) {
        stepper.a.set(this._a);
        if (!stepper.solve(P, V, this._w, h ** 2 / 4, h / 2)) break;
        this._take(P, V, h);
      }
      if (done === parts && Number.isFinite(norm(this._q) + norm(this._v) + norm(this._a))) {
        this._predict(this._P, this._V, dt);
        this.cuts++;
        return true;
      }
      ["_a", "_q", "_v"].forEach((name, i) => this[name].set(kept[i]));
    }
    return false;
  }

  _predict(P, V, h) {
    for (let i = 0; i < this.r; i++) {
      P[i] = this._q[i] + h * this._v[i] + 0.25 * h ** 2 * this._a[i];
      V[i] = this._v[i] + 0.5 * h * this._a[i];
    }
  }

  /** Keep what the stepper found, and move the predictor state (P, V) on to the next step of h. */
  _take(P, V, h) {
    const { a, q, v } = this._stepper;
    for (let i = 0; i < this.r; i++) {
      P[i] += h * V[i] + h ** 2 * a[i];
      V[i] += h * a[i];
    }
    this._a.set(a);
    this._q.set(q);
    this._v.set(v);
  }

  _closest() {
    let [best, least] = [0, Infinity];
    for (let frame = 0; frame < this.steps; frame++) {
      const q = this._at(1, frame, 0), v = this._at(1, frame, 1);
      let off = 0;
      for (let i = 0; i < this.r; i++) off += (q[i] - this._q[i]) ** 2 + ((v[i] - this._v[i]) / this.frequency) ** 2;
      if (off < least) [best, least] = [frame, off];
    }
    return best;
  }

  /** out = rest + basis q; in a loop of its own, for engines compile loops best that meet one type of array. */
  _lift(rest, basis, out) {
    const { r, _q: q } = this;
    for (let i = 0, t = 0; i < out.length; i++) {
      let total = rest[i];
      for (let j = 0; j < r; j++, t++) total += basis[t] * q[j];
      if (!(Math.abs(total) <= LARGEST)) throw new Error(`vertex ${Math.floor(i / 3)} is beyond single precision: push less, or save the controller again`);
      out[i] = total;
    }
    return out;
  }
}

/** The skin's {vertices, basis, triangles, colors}, or null when the file has none. */
function skinOf(arrays, array, indices, r) {
  if (!arrays.has("skin_basis")) return null;
  const n = arrays.get("skin_vertices")?.shape?.[0] ?? 0;
  const [vertices, basis] = [array("skin_vertices", n, 3), array("skin_basis", 3 * n, r)];
  return { vertices, basis, triangles: indices("skin_triangles", n), colors: array("skin_colors", n, 3) };
}
