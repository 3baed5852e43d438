/** Where the page begins. */

import "./style/tokens.css";
import "./style/base.css";
import { preferred, wear } from "./core/theme";

wear(preferred());
