import { getShortcut } from "../../core/commands";
import type { Icon } from "../../core/icons";
import type { App } from "../../core/types";
import { createIconButton, type IconButton } from "./button";

/** Icon button that runs a command; its tooltip shows the shortcut. */
export const createCommandButton = (app: App, command: string, name: string, icon: Icon, size: 28 | 32 = 28): IconButton =>
  createIconButton({ name, icon, size, key: getShortcut(command), onPress: () => app.runCommand(command) });
