/** The one table of what can be done: bindings, tooltips, the help sheet and the palette all read it. */

import { shown } from "./keys";
import { COMMANDS, type Command } from "./table";
import type { App, ModeName } from "./types";

export { neighbour, possible } from "./acts";
export { COMMANDS, GESTURES, GROUPS, type Command, type Gesture, type Group } from "./table";

const provided = new Map<string, (app: App) => void>();

/** A part of the page does what a command of the table names; returns what takes it back. */
export function provide(name: string, does: (app: App) => void): () => void {
  if (!command(name)) throw new Error(`no command is called ${name}; see COMMANDS`);
  provided.set(name, does);
  return () => void (provided.get(name) === does && provided.delete(name));
}

export function command(name: string): Command | undefined {
  return COMMANDS.find((each) => each.name === name);
}

/** Why a command cannot be done now, null when it can. */
export function refusal(app: App, each: Command): string | null {
  if (!each.start && !app.state) return "Open something first.";
  if (each.modes && app.state && !each.modes.includes(app.state.mode)) return `Not in ${titled(app.state.mode)}.`;
  if (!each.do && !provided.has(each.name)) return "Not here.";
  return each.when?.(app) ?? null;
}

/** Does a command; what cannot be done now is told, not thrown. */
export function run(app: App, name: string): void {
  const found = command(name);
  if (!found) throw new Error(`no command is called ${name}; see COMMANDS`);
  const why = refusal(app, found);
  if (why !== null)
    return void (found.when && app.state && app.toast({ tone: "warn", title: `${found.title}: not now`, text: why }));
  (provided.get(name) ?? found.do)?.(app);
}

/** The command that a key means in the present mode. */
export function bindings(app: App, key: string): Command | undefined {
  const fits = (each: Command): boolean => !each.modes || !app.state || each.modes.includes(app.state.mode);
  return COMMANDS.find((each) => each.keys?.includes(key) && fits(each));
}

/** The first key of a command as it is shown, or nothing. */
export function keyOf(name: string): string | undefined {
  const key = command(name)?.keys?.[0];
  return key === undefined ? undefined : shown(key);
}

export function titled(name: ModeName): string {
  return name[0]!.toUpperCase() + name.slice(1);
}
