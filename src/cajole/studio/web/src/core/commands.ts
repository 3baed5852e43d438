/** Command registry: shortcuts, tooltips, the help dialog and the command palette read the same table. */

import { formatKey } from "./keys";
import { createCommands, type Command } from "./command-table";
import { getMode, getModes } from "./modes";
import type { App } from "./types";

let commands: Command[] = [];

/** All commands, created once the modes are registered. */
export function getCommands(): readonly Command[] {
  if (commands.length === 0 && getModes().length > 0) commands = createCommands();
  return commands;
}

const handlers = new Map<string, (app: App) => void>();

/** Register the handler of a command; returns the function that removes it. */
export function registerHandler(name: string, handler: (app: App) => void): () => void {
  if (!findCommand(name)) throw new Error(`no command is called ${name}; add it to core/command-table.ts`);
  handlers.set(name, handler);
  return () => void (handlers.get(name) === handler && handlers.delete(name));
}

export function findCommand(name: string): Command | undefined {
  return getCommands().find((each) => each.id === name);
}

/** Reason why a command is disabled now; null if it is enabled. */
export function getDisabledReason(app: App, each: Command): string | null {
  if (!each.onStartPage && !app.state) return "Open a project first.";
  if (each.modes && app.state && !each.modes.includes(app.state.mode)) return `Not in ${getMode(app.state.mode).title}.`;
  if (!each.run && !handlers.has(each.id)) return "Not available here.";
  return each.getDisabledReason?.(app) ?? null;
}

/** Run a command; if it is disabled, show the reason as a toast. */
export function runCommand(app: App, name: string): void {
  const found = findCommand(name);
  if (!found) throw new Error(`no command is called ${name}; add it to core/command-table.ts`);
  const why = getDisabledReason(app, found);
  if (why !== null)
    return void (found.getDisabledReason && app.state && app.showToast({ tone: "warn", title: `${found.title}: not now`, text: why }));
  (handlers.get(name) ?? found.run)?.(app);
}

/** Command with this shortcut in the current mode. */
export function findCommandByKey(app: App, key: string): Command | undefined {
  const fits = (each: Command): boolean => !each.modes || !app.state || each.modes.includes(app.state.mode);
  return getCommands().find((each) => each.keys?.includes(key) && fits(each));
}

/** First shortcut of a command, formatted. */
export function getShortcut(name: string): string | undefined {
  const key = findCommand(name)?.keys?.[0];
  return key === undefined ? undefined : formatKey(key);
}
