import { dirname, isAbsolute, resolve } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { crossChecks } from './cross-checks.js';
import { messageOf } from './errors.js';
import {
  bare,
  environmentName,
  isTree,
  type KeyInfo,
  keysOf,
  type PathKind,
  setAt,
  type Tree,
  valueAt,
} from './keys.js';
import { ConfigError, type ConfigProblem } from './problem.js';
import { CHANGED_KEYS, REMOVED_KEYS } from './removed-keys.js';
import { type Config, configSchema } from './schema.js';
import { suggest } from './suggest.js';
import { maskUrlCredentials } from './url-credentials.js';
import { readYaml, type YamlText } from './yaml-text.js';

export interface ConfigInputs {
  /** File to read; none: defaults, environment and flags only. */
  readonly path?: string | undefined;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Dotted key → value; a string is read as the environment's would be. */
  readonly flags?: Readonly<Record<string, unknown>>;
  readonly readFile?: (path: string) => string;
}

export interface LoadedConfig {
  readonly config: Config;
  /** Dotted key → `file:line`, variable or flag, for each key that is not at its default. */
  readonly sources: ReadonlyMap<string, string>;
}

/** What the source of a flag's problem begins with. */
const FLAG = 'flag ';

interface Origin {
  readonly source: string;
  readonly line?: number;
}

/** The schema's keys, found once: by dotted path, and by the variable of the environment. */
const KEYS: ReadonlyMap<string, KeyInfo> = new Map(
  [...keysOf(configSchema)].map((info) => [info.path.join('.'), info]),
);
const BY_VARIABLE: ReadonlyMap<string, KeyInfo> = new Map(
  [...KEYS.values()].map((info) => [environmentName(info.path), info]),
);

const OLD_BY_VARIABLE: ReadonlyMap<string, string> = new Map(
  Object.keys({ ...REMOVED_KEYS, ...CHANGED_KEYS }).map((dotted) => [
    environmentName(dotted.split('.')),
    dotted,
  ]),
);

/** What is wrong with a key that is not in the schema; `meant`: the key that resembles it. */
function unknownKey(dotted: string | undefined, meant: string | undefined): string {
  const of = (table: Readonly<Record<string, string>>): string | undefined =>
    // A key of the file may be called `constructor`.
    dotted !== undefined && Object.hasOwn(table, dotted) ? table[dotted] : undefined;
  const changed = of(CHANGED_KEYS);
  if (changed !== undefined) return changed;
  const fixed = of(REMOVED_KEYS);
  if (fixed !== undefined) return `was removed: its value is always ${fixed}`;
  return `no such key${meant ? `; did you mean ${meant}?` : ''}`;
}

/** Text where text is wanted, `a,b` as a list, otherwise as YAML reads it. */
function readText(text: string, schema: z.ZodType): unknown {
  let inner = bare(schema);
  let nullable = false;
  if (inner instanceof z.ZodNullable) {
    nullable = true;
    inner = inner.def.innerType as z.ZodType;
  }
  if (nullable && text === 'null') return null;
  if (inner instanceof z.ZodString || inner instanceof z.ZodEnum) return text;
  if (inner instanceof z.ZodArray && !text.trimStart().startsWith('['))
    return text.split(',').map((part) => part.trim());
  try {
    return parse(text);
  } catch {
    return text;
  }
}

/** Flag over environment over file over default. Throws {@link ConfigError} with all problems. */
export function loadConfig(inputs: ConfigInputs = {}): LoadedConfig {
  const problems: ConfigProblem[] = [];
  const origins = new Map<string, Origin>();
  const file = inputs.path ?? 'configuration';
  const { tree, text } = readTree(inputs, problems);
  const fileTree = structuredClone(tree);
  applyOverrides(tree, inputs, origins, problems);

  const originOf = (path: readonly PropertyKey[]): Origin => {
    for (let length = path.length; length > 0; length--) {
      const known = origins.get(path.slice(0, length).join('.'));
      if (known) return known;
    }
    const line = text?.lineOf(path);
    return line === undefined ? { source: file } : { source: file, line };
  };
  const parsed = configSchema.safeParse(tree);
  for (const issue of parsed.error?.issues ?? []) addIssue(issue, tree, originOf, problems);
  const read = (key: string): unknown => valueAt(tree, key.split('.')) ?? KEYS.get(key)?.fallback;
  for (const { key, message } of crossChecks({
    read,
    isSet: (key) => valueAt(tree, key.split('.')) !== undefined,
  })) {
    const path = key.split('.');
    problems.push({ path: key, message, value: read(key), ...originOf(path) });
  }
  if (problems.length > 0)
    throw new ConfigError(inLineOrder(problems, file).map(withoutCredentials));

  const sources = new Map<string, string>();
  for (const [dotted, { path }] of KEYS) {
    if (!origins.has(dotted) && valueAt(fileTree, path) === undefined) continue;
    const origin = originOf(path);
    const at = origin.line === undefined ? '' : `:${origin.line}`;
    sources.set(dotted, origin.source + at);
  }
  const config = parsed.data as Config;
  if (inputs.path !== undefined)
    anchorPaths(
      config,
      dirname(inputs.path),
      (dotted) => sources.has(dotted) && !origins.has(dotted),
    );
  return { config, sources };
}

/** What commands use that must work whatever is wrong with the configuration. */
export interface SalvagedConfig {
  readonly config: Config;
  /** What is wrong with it; null: nothing. */
  readonly error: ConfigError | null;
  /** Variables with a wrong value, in place of which the file's is used. */
  readonly ignored: readonly string[];
}

/**
 * As {@link loadConfig}; but what is wrong in the file, or a file that cannot be read, leaves the
 * defaults, and a wrong variable of the environment the file's value. Throws {@link ConfigError}
 * for flags, which were just typed.
 */
export function salvageConfig(inputs: ConfigInputs): SalvagedConfig {
  try {
    return { config: loadConfig(inputs).config, error: null, ignored: [] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    if (error.problems.some(({ source }) => source.startsWith(FLAG))) throw error;
    return { ...validKeys(inputs), error };
  }
}

/** The keys with values in their own ranges; rules between keys are not checked. */
function validKeys(inputs: ConfigInputs): Omit<SalvagedConfig, 'error'> {
  const origins = new Map<string, Origin>();
  const { tree } = readTree(inputs, []);
  const fileTree = structuredClone(tree);
  applyOverrides(tree, inputs, origins, []);
  const valid: Tree = {};
  const ignored: string[] = [];
  for (const [dotted, { path, schema }] of KEYS) {
    const isValid = (value: unknown): boolean =>
      value !== undefined && schema.safeParse(value).success;
    const [value, written] = [valueAt(tree, path), valueAt(fileTree, path)];
    if (isValid(value)) setAt(valid, path, value);
    else if (isValid(written)) {
      setAt(valid, path, written);
      ignored.push(origins.get(dotted)?.source ?? dotted);
      origins.delete(dotted);
    }
  }
  const config = configSchema.parse(valid);
  if (inputs.path !== undefined)
    anchorPaths(
      config,
      dirname(inputs.path),
      (dotted) => valueAt(fileTree, dotted.split('.')) !== undefined && !origins.has(dotted),
    );
  return { config, ignored };
}

/** Makes relative paths that the file has relative to its folder. */
function anchorPaths(config: Config, folder: string, isOfFile: (dotted: string) => boolean): void {
  const tree = config as unknown as Tree;
  for (const [dotted, { path, holds }] of KEYS) {
    const value = valueAt(tree, path);
    if (holds !== undefined && typeof value === 'string' && isOfFile(dotted))
      setAt(tree, path, anchored(value, folder, holds));
  }
  if (!isOfFile('functions.overrides')) return;
  for (const override of config.functions.overrides)
    if (override.manager !== undefined)
      override.manager = anchored(override.manager, folder, 'module');
}

function anchored(value: string, folder: string, holds: PathKind): string {
  const isPath =
    holds === 'file' || (holds === 'name' ? value.includes('/') : value.startsWith('.'));
  return isPath && !isAbsolute(value) ? resolve(folder, value) : value;
}

/** Those of the file by line, then those of the environment and of flags. */
function inLineOrder(problems: readonly ConfigProblem[], file: string): ConfigProblem[] {
  const rank = ({ source, line }: ConfigProblem): number =>
    source === file ? (line ?? 0) : Number.MAX_SAFE_INTEGER;
  return [...problems].sort((a, b) => rank(a) - rank(b));
}

function readTree(
  { path, readFile }: ConfigInputs,
  problems: ConfigProblem[],
): { tree: Tree; text?: YamlText } {
  if (path === undefined) return { tree: {} };
  let written: string;
  try {
    if (!readFile) throw new TypeError('no way to read files was given');
    written = readFile(path);
  } catch (error) {
    problems.push({ path: '', message: `cannot be read: ${messageOf(error)}`, source: path });
    return { tree: {} };
  }
  const text = readYaml(written);
  for (const problem of text.problems) problems.push({ path: '', source: path, ...problem });
  const { content } = text;
  if (problems.length > 0) return { tree: {} };
  if (content === null || content === undefined) return { tree: {}, text };
  if (isTree(content)) return { tree: dropEmptySections(content), text };
  const message = 'must be a map of sections';
  problems.push({ path: '', message, value: content, source: path, line: 1 });
  return { tree: {} };
}

/** `hook:` with nothing below it (all keys commented out) means the defaults, not null. */
function dropEmptySections(tree: Tree): Tree {
  const walk = (schema: z.ZodType, at: Tree): void => {
    const inner = bare(schema);
    if (!(inner instanceof z.ZodObject)) return;
    for (const [name, child] of Object.entries(inner.shape as Record<string, z.ZodType>)) {
      if (!(bare(child) instanceof z.ZodObject)) continue;
      const value = at[name];
      if (value === null) delete at[name];
      else if (isTree(value)) walk(child, value);
    }
  };
  walk(configSchema, tree);
  return tree;
}

function applyOverrides(
  tree: Tree,
  inputs: ConfigInputs,
  origins: Map<string, Origin>,
  problems: ConfigProblem[],
): void {
  const sectionPrefixes = Object.entries(configSchema.shape)
    .filter(([, child]) => bare(child) instanceof z.ZodObject)
    .map(([name]) => `${environmentName([name])}_`);
  const override = (info: KeyInfo, value: unknown, source: string): void => {
    setAt(tree, info.path, typeof value === 'string' ? readText(value, info.schema) : value);
    origins.set(info.path.join('.'), { source });
  };
  for (const [name, text] of Object.entries(inputs.env ?? {})) {
    if (!name.startsWith('GLEANER_') || text === undefined || text === '') continue;
    const info = BY_VARIABLE.get(name);
    if (info) override(info, text, name);
    else if (sectionPrefixes.some((prefix) => name.startsWith(prefix))) {
      const meant = suggest(name, BY_VARIABLE.keys());
      const message = unknownKey(OLD_BY_VARIABLE.get(name), meant);
      problems.push({ path: '', message, source: name });
    }
  }
  for (const [dotted, value] of Object.entries(inputs.flags ?? {})) {
    if (value === undefined) continue;
    const info = KEYS.get(dotted);
    const source = FLAG + dotted;
    if (info) override(info, value, source);
    else {
      const message = unknownKey(dotted, suggest(dotted, KEYS.keys()));
      problems.push({ path: '', message, source });
    }
  }
}

function addIssue(
  issue: z.core.$ZodIssue,
  tree: Tree,
  originOf: (path: readonly PropertyKey[]) => Origin,
  problems: ConfigProblem[],
): void {
  if (issue.code === 'unrecognized_keys') {
    const known = knownKeys(issue.path);
    for (const name of issue.keys) {
      const path = [...issue.path, name];
      const dotted = path.join('.');
      const message = unknownKey(dotted, elsewhere(name) ?? suggest(name, known));
      problems.push({ path: dotted, message, ...originOf(path) });
    }
    return;
  }
  const [path, value] = [issue.path.join('.'), valueAt(tree, issue.path)];
  // A server may hold a password, which nothing can find in text that is no URL.
  const shown = path === 'nats' || path.startsWith('nats.servers') ? undefined : value;
  problems.push({ path, message: plain(issue), value: shown, ...originOf(issue.path) });
}

/** A URL of a server may stand at the place of anything else. */
function withoutCredentials(problem: ConfigProblem): ConfigProblem {
  if (problem.value === undefined || typeof problem.value === 'number') return problem;
  const value: unknown = JSON.parse(maskUrlCredentials(JSON.stringify(problem.value)));
  return { ...problem, value };
}

/** The path of the one key or section with this name in another section. */
function elsewhere(name: string): string | undefined {
  const paths = new Set<string>();
  for (const { path } of KEYS.values()) {
    const at = path.lastIndexOf(name);
    if (at > 0) paths.add(path.slice(0, at + 1).join('.'));
  }
  const [only] = paths;
  return paths.size === 1 ? only : undefined;
}

/** Names that a strict object knows, for suggestions. */
function knownKeys(path: readonly PropertyKey[]): string[] {
  let at: z.ZodType | undefined = configSchema;
  for (const part of path) {
    const inner: z.ZodType = bare(at as z.ZodType);
    if (inner instanceof z.ZodArray) at = inner.def.element as z.ZodType;
    else if (inner instanceof z.ZodObject)
      at = (inner.shape as Record<PropertyKey, z.ZodType>)[part];
    else return [];
    if (!at) return [];
  }
  const inner = bare(at);
  return inner instanceof z.ZodObject ? Object.keys(inner.shape) : [];
}

const YAML_NAMES: Readonly<Record<string, string>> = { array: 'list', object: 'map' };

function plain(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'too_big':
      return `must be ${issue.inclusive ? 'at most' : 'below'} ${issue.maximum}`;
    case 'too_small':
      return issue.origin === 'string'
        ? 'must not be empty'
        : `must be ${issue.inclusive ? 'at least' : 'above'} ${issue.minimum}`;
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`;
    case 'invalid_type':
      return `must be a ${YAML_NAMES[issue.expected] ?? issue.expected}`;
    default:
      return issue.message;
  }
}
