/** What is selected and where it is: as the server says, or as the hand just chose until the server has said it. */

import type { App, Vec3 } from "../core/types";
import { centroid } from "./vec";

export interface Chosen {
  node: number;
  name: string;
  place: Vec3;
}

export class Selection {
  private expected: number[] | null = null;
  private kept: Vec3 | null = null;

  /** drawn: where a vertex of the body is drawn now, null when it is not. */
  constructor(
    private readonly app: App,
    private readonly drawn: (node: number) => Vec3 | null,
  ) {}

  /** A new state came: it knows better. */
  heard(): void {
    this.expected = null;
    this.kept = null;
  }

  /** Until then: these nodes. */
  expect(nodes: number[]): void {
    this.expected = nodes;
  }

  /** Until then: the handle is here. */
  settle(place: Vec3 | null): void {
    this.kept = place;
  }

  get nodes(): number[] {
    return this.expected ?? this.app.state?.selection.map((each) => each.node) ?? [];
  }

  /** Each selected vertex that has a place. */
  get chosen(): Chosen[] {
    const told = new Map(this.app.state?.selection.map((each) => [each.node, each]));
    const live = this.app.state?.mode === "steer"; // there it moves on between two states
    return this.nodes.flatMap((node) => {
      const each = told.get(node);
      const place = (live ? null : each?.position) ?? this.drawn(node);
      return place === null ? [] : [{ node, name: each?.name ?? "", place }];
    });
  }

  /** Where the handle is: the middle of what is selected, null when nothing is. */
  get middle(): Vec3 | null {
    const { chosen } = this;
    if (chosen.length === 0) return null;
    return this.kept ?? centroid(chosen.map(({ place }) => place));
  }

  /** What is selected in words. */
  get name(): string {
    const { chosen } = this;
    return chosen.length === 1 ? chosen[0].name || `vertex ${chosen[0].node}` : `${chosen.length} vertices`;
  }

  /** Select these at the server. */
  choose(nodes: number[]): void {
    this.expect(nodes);
    this.app.request("select", { nodes }).catch(() => this.heard());
  }

  /** A click on a vertex: alone, shift adds, ctrl toggles. */
  click(node: number, event: { shiftKey: boolean; ctrlKey: boolean; metaKey: boolean }): void {
    const { nodes } = this;
    const without = nodes.filter((each) => each !== node);
    if (event.ctrlKey || event.metaKey) this.choose(without.length < nodes.length ? without : [node, ...nodes]);
    else this.choose(event.shiftKey ? [node, ...without] : [node]);
  }
}
