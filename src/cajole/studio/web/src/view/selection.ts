/** Selected vertices and their positions: from the state, or pending until the next state arrives. */

import { getCurrentMode } from "../core/modes";
import type { App, Vec3 } from "../core/types";
import { centroid } from "./vec";

interface SelectedPoint { node: number; name: string; position: Vec3 }

export class Selection {
  private pendingNodes: number[] | null = null;
  private pendingPosition: Vec3 | null = null;

  /** getPosition: rendered position of a vertex, null if it is not rendered. */
  constructor(private readonly app: App, private readonly getPosition: (node: number) => Vec3 | null) {}

  /** Discard pending values after a new state. */
  clearPending(): void {
    this.pendingNodes = null;
    this.pendingPosition = null;
  }

  /** Select these nodes until then. */
  setPendingNodes(nodes: number[]): void {
    this.pendingNodes = nodes;
  }

  /** Show the gizmo here until then. */
  setPendingPosition(position: Vec3 | null): void {
    this.pendingPosition = position;
  }

  get nodes(): number[] {
    return this.pendingNodes ?? this.app.state?.selection.map((each) => each.node) ?? [];
  }

  /** Selected vertices that have a position. */
  get points(): SelectedPoint[] {
    const known = new Map(this.app.state?.selection.map((each) => [each.node, each]));
    const live = getCurrentMode(this.app)?.live; // bodies move between states
    return this.nodes.flatMap((node) => {
      const each = known.get(node);
      const position = (live ? null : each?.position) ?? this.getPosition(node);
      return position === null ? [] : [{ node, name: each?.name ?? "", position }];
    });
  }

  /** Position of the gizmo: centroid of the selection, null if it is empty. */
  get center(): Vec3 | null {
    const { points: chosen } = this;
    if (chosen.length === 0) return null;
    return this.pendingPosition ?? centroid(chosen.map(({ position }) => position));
  }

  /** Description of the selection. */
  get name(): string {
    const { points: chosen } = this;
    return chosen.length === 1 ? chosen[0].name || `vertex ${chosen[0].node}` : `${chosen.length} vertices`;
  }

  /** Send a new selection to the server. */
  select(nodes: number[]): void {
    this.setPendingNodes(nodes);
    this.app.request("select", { nodes }).catch(() => this.clearPending());
  }

  /** Handle a click on a vertex: Shift adds, Ctrl toggles. */
  handleClick(node: number, event: { shiftKey: boolean; ctrlKey: boolean; metaKey: boolean }): void {
    const { nodes } = this;
    const without = nodes.filter((each) => each !== node);
    if (event.ctrlKey || event.metaKey) this.select(without.length < nodes.length ? without : [node, ...nodes]);
    else this.select(event.shiftKey ? [node, ...without] : [node]);
  }
}
