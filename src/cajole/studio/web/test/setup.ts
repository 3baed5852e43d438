/** Registers the modes, as the entry point of the page does. */

import { registerModes } from "../src/core/modes";
import * as modes from "../src/modes/registry";

registerModes(Object.values(modes));
