/**
 * Renames symbols and files of the studio's page, by their types, from a table.
 *
 *   node scripts/codemod/rename_page.mjs TABLE [--dry]
 *
 * Lines of the table; paths are relative to src/cajole/studio/web/src, or begin with test/:
 *
 *   core/app.ts:name -> newName                  a declaration at the top of a file
 *   core/app.ts:Name.member -> newName           a member of a class, an interface or a type, or of what a function returns
 *   core/app.ts:name(local) -> newName           a parameter or local variable of a function or of Class.method; * for any function
 *   core/*.ts:*(local) -> newName                that local in every file of a folder which has it
 *   file core/table.ts -> core/commands.ts       moves a file
 *   merge view/again.ts -> view/viewport.ts      appends a file's declarations to another file ("merge-above": puts them first)
 *
 * Needs ts-morph, which is not a dependency of the page: install it anywhere and set TS_MORPH to that folder.
 * Every identifier is resolved before and after; one that would resolve to another declaration stops the run.
 */

import { existsSync, readFileSync, rmSync, writeFileSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const require = createRequire(process.env.TS_MORPH ? join(resolve(process.env.TS_MORPH), "package.json") : import.meta.url);
const { Project, ts } = require("ts-morph");
const WEB = resolve(dirname(fileURLToPath(import.meta.url)), "../../src/cajole/studio/web");

const pathOf = (name) => join(WEB, name.startsWith("test/") ? name : `src/${name}`);
const problems = [];

function readTable(file) {
  const table = { renames: [], files: new Map(), merges: [] };
  for (const [index, line] of readFileSync(file, "utf8").split("\n").entries()) {
    const text = line.replace(/(^|\s)#.*$/, "").trim();
    if (!text) continue;
    const [left, right] = text.split(/\s*->\s*/);
    const [verb, path] = left.split(/\s+/);
    const symbol = /^([^:\s]+):([\w$*]+)(?:\.([\w$.]+))?(?:\(([\w$]+)\))?$/.exec(left);
    if (!right) problems.push(`line ${index + 1}: no "->"`);
    else if (verb === "file") table.files.set(pathOf(path), pathOf(right));
    else if (verb === "merge" || verb === "merge-above") table.merges.push({ from: pathOf(path), to: pathOf(right), above: verb !== "merge" });
    else if (symbol) table.renames.push({ line: text, file: pathOf(symbol[1]), name: symbol[2], member: symbol[3], local: symbol[4], to: right });
    else problems.push(`line ${index + 1} is not understood: ${text}`);
  }
  return table;
}

function openProject(texts) {
  const project = new Project({ tsConfigFilePath: join(WEB, "tsconfig.json"), skipAddingFilesFromTsConfig: true });
  if (texts) for (const [path, text] of texts) project.createSourceFile(path, text, { overwrite: true });
  else project.addSourceFilesAtPaths([join(WEB, "src/**/*.ts"), join(WEB, "test/**/*.ts")]);
  return project;
}

const ours = (project) => project.getSourceFiles().filter((file) => !file.getFilePath().includes("node_modules"));

// --- finding declarations

const nameOf = (node) => (node.name && ts.isIdentifier(node.name) ? node.name : null);

function walk(node, visit) {
  visit(node);
  ts.forEachChild(node, (child) => walk(child, visit));
}

function topLevel(source, name) {
  const found = [];
  for (const statement of source.statements) {
    if (ts.isVariableStatement(statement)) {
      for (const declaration of statement.declarationList.declarations) {
        if (nameOf(declaration)?.text === name) found.push(declaration);
        else if (!ts.isIdentifier(declaration.name))
          walk(declaration.name, (node) => ts.isBindingElement(node) && nameOf(node)?.text === name && found.push(node));
      }
    } else if (nameOf(statement)?.text === name) found.push(statement);
  }
  return found;
}

const DECLARES = [
  ts.isPropertySignature, ts.isMethodSignature, ts.isPropertyDeclaration, ts.isMethodDeclaration, ts.isGetAccessor, ts.isSetAccessor,
  ts.isPropertyAssignment, ts.isShorthandPropertyAssignment, ts.isEnumMember,
];

const isProperty = (node) => ts.isParameter(node) && (ts.getModifiers(node)?.length ?? 0) > 0;

/** Members of a class, interface, enum or type; of a function or a variable, the properties of its object literals. */
function membersOf(node, name) {
  const found = [];
  const add = (each) => nameOf(each)?.text === name && DECLARES.some((is) => is(each)) && found.push(each);
  if (ts.isClassDeclaration(node)) {
    const constructor = node.members.find(ts.isConstructorDeclaration);
    found.push(...(constructor?.parameters ?? []).filter((each) => isProperty(each) && nameOf(each)?.text === name));
  }
  if (node.members) node.members.forEach(add);
  else walk(node, add);
  return found;
}

function localsOf(node, name) {
  const found = [];
  walk(node, (each) => {
    const local = ts.isParameter(each) || ts.isVariableDeclaration(each) || ts.isBindingElement(each);
    if (each !== node && nameOf(each)?.text === name && (local || ts.isFunctionDeclaration(each))) found.push(each);
  });
  return found;
}

/** Identifiers of the declarations that a line of the table means. */
function declarations(source, { name, member, local }) {
  let nodes = name === "*" ? [source] : topLevel(source, name);
  for (const part of member?.split(".") ?? []) nodes = nodes.flatMap((node) => membersOf(node, part));
  if (local) nodes = nodes.flatMap((node) => localsOf(node, local));
  return nodes.map(nameOf);
}

// --- renaming

function tokenAt(source, position) {
  let found = null;
  walk(source, (node) => {
    if (ts.isIdentifier(node) && node.getStart(source) === position) found = node;
  });
  return found;
}

/** All places of a symbol. Names in imports and exports change with it, shorthand properties get a colon. */
function placesOf(service, program, file, position, seen = new Set()) {
  const options = { providePrefixAndSuffixTextForRename: true };
  const places = [];
  for (const place of service.findRenameLocations(file, position, false, false, options) ?? []) {
    const { fileName, textSpan, prefixText, suffixText } = place;
    const parent = tokenAt(program.getSourceFile(fileName), textSpan.start)?.parent;
    const specifier = parent && (ts.isImportSpecifier(parent) || ts.isExportSpecifier(parent));
    const key = `${fileName}:${textSpan.start}`;
    if (!specifier || (!prefixText && !suffixText)) places.push({ ...place, key });
    else {
      places.push({ fileName, textSpan, key });
      if (seen.has(key)) continue;
      seen.add(key);
      places.push(...placesOf(service, program, fileName, textSpan.start, seen));
    }
  }
  return places;
}

/** Edits of all renames by file and position. */
function editsOf(project, renames) {
  const service = project.getLanguageService().compilerObject;
  const program = service.getProgram();
  const edits = new Map();
  for (const rename of renames) {
    if (rename.file.endsWith("/*.ts")) {
      const folder = ours(project).map((file) => file.getFilePath()).filter((file) => dirname(file) === dirname(rename.file));
      renames.push(...folder.map((file) => ({ ...rename, file, optional: true })));
      continue;
    }
    const source = program.getSourceFile(rename.file);
    if (!source) {
      problems.push(`no file for: ${rename.line}`);
      continue;
    }
    const found = declarations(source, rename);
    if (found.length === 0 && !rename.optional) problems.push(`nothing found for: ${rename.line}`);
    for (const identifier of found) {
      for (const place of placesOf(service, program, source.fileName, identifier.getStart(source))) {
        if (place.fileName.includes("node_modules")) {
          problems.push(`a library declares it: ${rename.line}`);
          break;
        }
        const here = edits.get(place.key) ?? { file: place.fileName, start: place.textSpan.start, length: place.textSpan.length, parts: [] };
        edits.set(place.key, here);
        const same = (part) => part.to === rename.to && part.prefix === place.prefixText && part.suffix === place.suffixText;
        if (!here.parts.some(same)) here.parts.push({ to: rename.to, prefix: place.prefixText, suffix: place.suffixText, line: rename.line });
      }
    }
  }
  return [...edits.values()].map((edit) => ({ ...edit, text: textOf(edit) }));
}

function textOf({ file, parts }) {
  if (parts.length === 1) return `${parts[0].prefix ?? ""}${parts[0].to}${parts[0].suffix ?? ""}`;
  const property = parts.find((part) => part.suffix);
  const value = parts.find((part) => part.prefix);
  if (parts.length === 2 && property && value) return property.to === value.to ? property.to : `${property.to}: ${value.to}`;
  problems.push(`two names for one place in ${relative(WEB, file)}: ${parts.map(({ line }) => line).join(" | ")}`);
  return parts[0].to;
}

function byFile(edits) {
  const found = new Map();
  for (const edit of edits) found.set(edit.file, [...(found.get(edit.file) ?? []), edit]);
  return found;
}

function applyEdits(text, edits) {
  let out = "";
  let last = 0;
  for (const { start, length, text: next } of [...edits].sort((a, b) => a.start - b.start)) {
    out += text.slice(last, start) + next;
    last = start + length;
  }
  return out + text.slice(last);
}

// --- the check that every name still means the same

function meanings(project, shift) {
  const program = project.getLanguageService().compilerObject.getProgram();
  const checker = program.getTypeChecker();
  const found = new Map();
  for (const file of ours(project)) {
    const source = program.getSourceFile(file.getFilePath());
    walk(source, (node) => {
      if (!ts.isIdentifier(node)) return;
      let symbol = checker.getSymbolAtLocation(node);
      if (node.parent && ts.isShorthandPropertyAssignment(node.parent)) symbol = checker.getShorthandAssignmentValueSymbol(node.parent);
      if (symbol && symbol.flags & ts.SymbolFlags.Alias) symbol = checker.getAliasedSymbol(symbol);
      const declared = symbol?.declarations?.[0];
      if (!declared) return;
      const home = declared.getSourceFile();
      const start = nameOf(declared) ?? declared;
      const at = home.fileName.includes("node_modules") ? home.fileName : shift(home.fileName, start.getStart(home));
      found.set(shift(source.fileName, node.getStart(source)), at);
    });
  }
  return found;
}

function checkMeanings(project, edits, texts) {
  const grouped = byFile(edits);
  for (const list of grouped.values()) list.sort((a, b) => a.start - b.start);
  const shift = (file, position) => {
    let by = 0;
    for (const { start, length, text, parts } of grouped.get(file) ?? []) {
      if (start > position) break;
      if (start < position) by += text.length - length;
      else if (parts.some(({ prefix, suffix }) => prefix || suffix)) {
        // of "property: variable" the variable is what the old name meant
        const value = parts.find(({ prefix }) => prefix);
        by += text.length - (value ? value.to.length : parts[0].suffix.length - 2);
      }
    }
    return `${file}:${position + by}`;
  };
  const before = meanings(project, shift);
  const after = meanings(openProject(texts), (file, position) => `${file}:${position}`);
  for (const [place, meant] of before)
    if (after.has(place) && after.get(place) !== meant) {
      const [file, position] = place.split(":");
      const line = texts.get(file).slice(0, Number(position)).split("\n").length;
      problems.push(`${relative(WEB, file)}:${line} means another declaration afterwards (${relative(WEB, after.get(place))}, was ${relative(WEB, meant)})`);
    }
}

/** Writes `{ name: name }` as `{ name }`. */
function shorten(path, text) {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const edits = [];
  walk(source, (node) => {
    const [key, value] = ts.isPropertyAssignment(node) ? [node.name, node.initializer] : ts.isBindingElement(node) ? [node.propertyName, node.name] : [];
    if (!key || !ts.isIdentifier(key) || !ts.isIdentifier(value) || key.text !== value.text) return;
    edits.push({ start: key.getStart(source), length: value.getEnd() - key.getStart(source), text: key.text });
  });
  return edits.length ? applyEdits(text, edits) : text;
}

// --- imports

/** A path as an import in `from` writes it. */
function specifierOf(from, to) {
  const path = relative(dirname(from), to).replace(/\.ts$/, "");
  return path.startsWith(".") ? path : `./${path}`;
}

function resolveSpecifier(from, text) {
  if (!text.startsWith(".")) return null;
  const path = resolve(dirname(from), text);
  return path.endsWith(".css") ? path : `${path}.ts`;
}

function moveFiles(texts, files) {
  const moved = new Map();
  for (const [path, text] of texts) {
    const target = files.get(path) ?? path;
    const next = text.replace(/^((?:import|export)\b[^;"]*")(\.[^"]*)(";)/gm, (whole, head, module, tail) => {
      const old = resolveSpecifier(path, module);
      return head + specifierOf(target, files.get(old) ?? old) + tail;
    });
    moved.set(target, next);
  }
  return moved;
}

/** Imports of a text and what follows them. */
function takeApart(path, text) {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const imports = [];
  let end = 0;
  const header = text.slice(0, source.statements[0]?.getStart(source) ?? 0);
  for (const statement of source.statements) {
    if (!ts.isImportDeclaration(statement)) break;
    end = statement.getEnd();
    const clause = statement.importClause;
    const named = clause?.namedBindings;
    imports.push({
      module: statement.moduleSpecifier.text,
      names: named && ts.isNamedImports(named)
        ? named.elements.map((each) => ({ text: each.getText(source).replace(/^type\s+/, ""), type: clause.isTypeOnly || each.isTypeOnly }))
        : [],
      whole: !clause || clause.name || (named && ts.isNamespaceImport(named)) ? statement.getText(source) : null,
    });
  }
  return { header: imports.length ? header : "", imports, body: text.slice(end) };
}

function writeImports(imports) {
  const modules = new Map();
  const whole = [];
  for (const each of imports) {
    if (each.whole) {
      if (!whole.includes(each.whole)) whole.push(each.whole);
      continue;
    }
    const names = modules.get(each.module) ?? new Map();
    for (const { text, type } of each.names) names.set(text, (names.get(text) ?? true) && type);
    modules.set(each.module, names);
  }
  const lines = [...modules].sort(([a], [b]) => (a < b ? -1 : 1)).map(([module, names]) => {
    const sorted = [...names].sort(([a], [b]) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1));
    const types = sorted.every(([, type]) => type);
    const list = sorted.map(([text, type]) => (type && !types ? `type ${text}` : text));
    const line = `import ${types ? "type " : ""}{ ${list.join(", ")} } from "${module}";`;
    return line.length <= 120 ? line : `import ${types ? "type " : ""}{\n${list.map((text) => `  ${text},\n`).join("")}} from "${module}";`;
  });
  return [...whole, ...lines].join("\n");
}

function merge(texts, { from, to, above }) {
  if (!texts.has(from) || !texts.has(to)) return void problems.push(`cannot merge ${relative(WEB, from)} into ${relative(WEB, to)}`);
  const [one, other] = [takeApart(from, texts.get(from)), takeApart(to, texts.get(to))];
  texts.delete(from);
  const own = (path, list) => list.filter((each) => ![from, to].includes(resolveSpecifier(path, each.module)));
  const rebased = own(from, one.imports).map((each) => {
    const target = resolveSpecifier(from, each.module);
    if (!target) return each;
    const module = specifierOf(to, target);
    return { ...each, module, whole: each.whole?.replace(`"${each.module}"`, `"${module}"`) ?? null };
  });
  const body = one.imports.length ? one.body : one.body.replace(/^\s*\/\*\*[^]*?\*\/\s*\n\n/, "\n");
  const bodies = above ? [body, other.body] : [other.body, body];
  const imports = writeImports([...own(to, other.imports), ...rebased]);
  const head = other.imports.length ? other.header : "";
  texts.set(to, `${head}${imports}${imports ? "\n\n" : ""}${bodies.map((text) => text.trim()).join("\n\n")}\n`);
  for (const [path, text] of texts) {
    if (path === to) continue;
    const parts = takeApart(path, text);
    const hits = parts.imports.some((each) => resolveSpecifier(path, each.module) === from);
    let next = text;
    if (hits) {
      const changed = parts.imports.map((each) =>
        resolveSpecifier(path, each.module) === from ? { ...each, module: specifierOf(path, to), whole: null } : each,
      );
      next = `${parts.header}${writeImports(changed)}${parts.body}`;
    }
    next = next.replace(/^(export\b[^;"]*")(\.[^"]*)(";)/gm, (line, start, module, tail) =>
      resolveSpecifier(path, module) === from ? start + specifierOf(path, to) + tail : line,
    );
    texts.set(path, next);
  }
}

/** Takes `export` away from what no other file imports. Returns how many. */
function hideUnused(texts) {
  const used = new Map();
  for (const [path, text] of texts)
    for (const line of text.matchAll(/^(?:import|export)\b([^;"]*)"(\.[^"]*)";/gm)) {
      const target = resolveSpecifier(path, line[2]);
      const names = used.get(target) ?? new Set();
      if (/\*/.test(line[1])) names.add("*");
      for (const name of line[1].match(/[\w$]+/g) ?? []) names.add(name);
      used.set(target, names);
    }
  let count = 0;
  for (const [path, text] of texts) {
    const names = used.get(path) ?? new Set();
    if (names.has("*") || !path.startsWith(join(WEB, "src/"))) continue;
    const next = text.replace(/^export ((?:async )?(?:function|const|class|interface|type|enum|let) )([\w$]+)/gm, (line, kind, name) => {
      if (names.has(name)) return line;
      count++;
      return kind + name;
    });
    texts.set(path, next);
  }
  return count;
}

// --- main

const words = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const table = words[0] ? readTable(words[0]) : { renames: [], files: new Map(), merges: [] };
const project = openProject();
const before = new Map(ours(project).map((file) => [file.getFilePath(), file.getFullText()]));
let texts = new Map(before);
if (table.renames.length) {
  const edits = editsOf(project, table.renames);
  for (const [file, list] of byFile(edits)) texts.set(file, applyEdits(before.get(file), list));
  checkMeanings(project, edits, texts);
  for (const [path, text] of texts) if (text !== before.get(path)) texts.set(path, shorten(path, text));
}
texts = moveFiles(texts, table.files);
for (const each of table.merges) merge(texts, each);
const hidden = process.argv.includes("--hide") ? hideUnused(texts) : 0;
for (const problem of problems) console.error(problem);
if (problems.length && !process.argv.includes("--force")) process.exit(1);
console.log(`${table.renames.length} renames, ${table.files.size} files moved, ${table.merges.length} merged, ${hidden} exports hidden`);
if (!process.argv.includes("--dry")) {
  for (const path of before.keys()) if (!texts.has(path) && existsSync(path)) rmSync(path);
  for (const [path, text] of texts) {
    mkdirSync(dirname(path), { recursive: true });
    if (before.get(path) !== text) writeFileSync(path, text);
  }
}
