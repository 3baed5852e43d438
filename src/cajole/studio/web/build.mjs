/** Bundles the page into ../static, or runs its tests: `node build.mjs [test [PART] | watch] [--out FOLDER]`. */

import { createHash } from "node:crypto";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const HERE = dirname(fileURLToPath(import.meta.url));
// the studio, and the view of one motion that HTML files carry
const ENTRIES = { studio: "src/main.ts", viewer: "src/viewer.ts" };
const NOTICES = ["LICENSE", "LICENSE.md", "LICENSE.txt", "LICENCE", "license"];

/** What esbuild is told in every case. */
function common() {
  return { absWorkingDir: HERE, bundle: true, format: "esm", target: "es2022", logLevel: "warning", charset: "utf8" };
}

/** The package that a bundled file comes from, null for our own. */
function packageOf(file) {
  const parts = file.split("node_modules/");
  if (parts.length < 2) return null;
  const names = parts[parts.length - 1].split("/");
  return names[0].startsWith("@") ? `${names[0]}/${names[1]}` : names[0];
}

/** Licence texts of the packages that some bundled files come from. what: has them. */
function notices(what, files) {
  const names = [...new Set(files.map(packageOf).filter(Boolean))].sort();
  const texts = names.map((name) => {
    const folder = join(HERE, "node_modules", name);
    const found = NOTICES.map((file) => join(folder, file)).find(existsSync);
    if (!found) throw new Error(`${name} is bundled but has no licence text; add its file name to NOTICES`);
    const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    return `${name} ${version} (${license})\n\n${readFileSync(found, "utf8").trim()}\n`;
  });
  return `${what} contains these packages.\n\n${texts.join(`\n${"-".repeat(80)}\n\n`)}`;
}

/** A mark of the contents, so that browsers keep a file until it differs. */
function mark(file) {
  return createHash("sha256").update(readFileSync(file)).digest("hex").slice(0, 12);
}

/** index.html with the marks of the files that it loads. */
function page(out) {
  const text = readFileSync(join(HERE, "index.html"), "utf8");
  return text.replace(/\/static\/([\w.-]+)/g, (whole, name) => `${whole}?v=${mark(join(out, name))}`);
}

/** The whole page, into `place`: made beside it, then put there at once, so that nobody finds half of it. */
async function build(place) {
  const out = mkdtempSync(join(HERE, "node_modules", ".page-"));
  try {
    const { inputs, outputs } = await bundle(out);
    writeFileSync(join(out, "THIRD-PARTY.txt"), notices("The page of Cajole Studio", Object.keys(inputs)));
    license(join(out, "viewer.js"), Object.entries(outputs).find(([file]) => file.endsWith("viewer.js"))[1]);
    finish(out);
    chmodSync(out, 0o755);
    rmSync(place, { recursive: true, force: true });
    renameSync(out, place);
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

/** Puts licence texts before a script that travels alone. */
function license(file, { inputs }) {
  const text = notices("The view of this motion", Object.keys(inputs));
  writeFileSync(file, `/*!\n${text}*/\n${readFileSync(file, "utf8")}`);
}

/** Script and styles, small; answers with what went into them. */
async function bundle(outdir) {
  const small = { minify: true, legalComments: "none", metafile: true };
  return (await esbuild.build({ ...common(), ...small, entryPoints: ENTRIES, outdir })).metafile;
}

/** Builds again whenever a source changes. */
async function watch(out) {
  const again = { name: "again", setup: (b) => b.onEnd(({ errors }) => errors.length || finish(out)) };
  const options = {
    ...common(),
    entryPoints: ENTRIES,
    outdir: out,
    sourcemap: "inline",
    plugins: [again],
  };
  mkdirSync(out, { recursive: true });
  await (await esbuild.context(options)).watch();
}

function finish(out) {
  copyFileSync(join(HERE, "icon.svg"), join(out, "icon.svg"));
  writeFileSync(join(out, "index.html"), page(out));
}

/** Bundles test/*.test.ts whose names contain `part` for node and runs them; answers with node's exit code. */
async function test(part) {
  const out = mkdtempSync(join(HERE, "node_modules", ".tests-"));
  const files = readdirSync(join(HERE, "test")).filter((name) => name.endsWith(".test.ts") && name.includes(part));
  const entryPoints = files.map((name) => join("test", name));
  const loader = { ".css": "empty" };
  await esbuild.build({ ...common(), entryPoints, outdir: out, platform: "node", external: ["three"], loader });
  const made = readdirSync(out)
    .filter((name) => name.endsWith(".test.js"))
    .map((name) => join(out, name));
  const { status } = spawnSync(process.execPath, ["--test", "--test-reporter=dot", ...made], { stdio: "inherit" });
  rmSync(out, { recursive: true, force: true });
  return status ?? 1;
}

const words = process.argv.slice(2);
const at = words.indexOf("--out");
const out = at >= 0 ? resolve(words[at + 1]) : join(HERE, "..", "static");
if (words[0] === "test") process.exitCode = await test(words[1] ?? "");
else if (words[0] === "watch") await watch(out);
else
  await build(out).catch((failure) => {
    if (!failure.errors) console.error(failure.message); // esbuild has told its own
    process.exitCode = 1;
  });
