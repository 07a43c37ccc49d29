import { z } from 'zod';

/** What the reference and the loader know of a key, beside its zod schema. */
interface KeyMeta {
  readonly description: string;
  /** May change at SIGHUP; every other change needs a restart. */
  readonly reload: boolean;
  /**
   * `name`: a path only if it has a slash; `module`: only if it begins with a dot. Relative to the
   * configuration file, so that it means the same wherever a command runs.
   */
  readonly path: PathKind | undefined;
}

export type PathKind = 'file' | 'name' | 'module';

/** The unit of a number is the end of its key's name. */
const UNITS: readonly [suffix: string, unit: string][] = [
  ['Millicores', 'millicores'],
  ['MiB', 'MiB'],
  ['Ms', 'ms'],
  ['S', 's'],
  ['Hours', 'h'],
];

/** One key as found by walking the schema. */
export interface KeyInfo extends Omit<KeyMeta, 'path'> {
  readonly path: readonly string[];
  /** Unit of a number; absent for names, lists and switches. */
  readonly unit: string | undefined;
  readonly holds: PathKind | undefined;
  readonly schema: z.ZodType;
  readonly fallback: unknown;
}

/** A key with its default and its documentation; the type of the value is the schema's. */
export function key<S extends z.ZodType>(
  schema: S,
  fallback: z.output<S>,
  description: string,
  { reload = false, path }: { reload?: boolean; path?: PathKind } = {},
): z.ZodDefault<S> {
  const meta: KeyMeta = { description, reload, path };
  return schema.default(fallback as z.core.util.NoUndefined<z.output<S>>).meta({ ...meta });
}

/** A key that may change at SIGHUP. */
export const liveKey = <S extends z.ZodType>(
  schema: S,
  fallback: z.output<S>,
  description: string,
): z.ZodDefault<S> => key(schema, fallback, description, { reload: true });

/** The path of a file, or null for none. */
export const optionalFile = (description: string) =>
  key(optionalText(), null, description, { path: 'file' });

/** A strict group of keys; a missing section means its defaults. */
export function section<Shape extends z.ZodRawShape>(description: string, shape: Shape) {
  return z
    .strictObject(shape)
    .prefault({} as z.input<z.ZodObject<Shape, z.core.$strict>>)
    .meta({ description });
}

export const positive = (max = Number.MAX_SAFE_INTEGER) => z.number().positive().max(max);
export const share = () => z.number().min(0).max(1);
/** A path or name; null where the description says what stands instead. */
export const optionalText = () => z.string().min(1).nullable();

/** Names of hosts, as they stand in subjects. */
export const HOST_NAME = /^[A-Za-z0-9_-]{1,64}$/;

export const hostNameText = () =>
  z.string().regex(HOST_NAME, 'must be 1 to 64 letters, digits, - or _').nullable();

/** `host:port`, an IPv6 address in brackets. */
export const listen = () =>
  z
    .string()
    .regex(/^(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-fA-F:]+\]):\d{1,5}$/, {
      error: 'must be an address and a port, like 127.0.0.1:9781',
      abort: true,
    })
    .refine(
      (text) => Number(text.slice(text.lastIndexOf(':') + 1)) <= 65_535,
      'the port must be at most 65535',
    )
    .nullable();

function metaOf(schema: z.ZodType): KeyMeta | undefined {
  return schema.meta() as KeyMeta | undefined;
}

export function bare(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodOptional
    ? bare(schema.def.innerType as z.ZodType)
    : schema;
}

/** Every leaf key below a section, in the order of the schema. */
export function* keysOf(schema: z.ZodType, path: readonly string[] = []): Generator<KeyInfo> {
  const inner = bare(schema);
  if (inner instanceof z.ZodObject) {
    for (const [name, child] of Object.entries(inner.shape as Record<string, z.ZodType>))
      yield* keysOf(child, [...path, name]);
    return;
  }
  const meta = metaOf(schema);
  if (!meta) throw new TypeError(`configuration key ${path.join('.')} has no description`);
  yield {
    ...meta,
    holds: meta.path,
    path,
    unit: UNITS.find(([suffix]) => path.at(-1)!.endsWith(suffix))?.[1],
    schema,
    fallback: schema instanceof z.ZodDefault ? schema.def.defaultValue : undefined,
  };
}

export function sectionsOf(
  schema: z.ZodType,
  path: readonly string[] = [],
): { path: string; description: string }[] {
  const inner = bare(schema);
  if (!(inner instanceof z.ZodObject)) return [];
  const own =
    path.length > 0
      ? [{ path: path.join('.'), description: metaOf(schema)?.description ?? '' }]
      : [];
  const shape = inner.shape as Record<string, z.ZodType>;
  return [
    ...own,
    ...Object.entries(shape).flatMap(([name, child]) => sectionsOf(child, [...path, name])),
  ];
}

/** `decision.weight.alpha` → `GLEANER_DECISION_WEIGHT_ALPHA`. */
export function environmentName(path: readonly string[]): string {
  return ['GLEANER', ...path.map((part) => part.toUpperCase())].join('_');
}

/** What values a key takes, for people. */
export function rangeOf(schema: z.ZodType): string {
  const inner = bare(schema);
  const { range } = (inner.meta() ?? {}) as { range?: string };
  if (range !== undefined) return range;
  if (inner instanceof z.ZodNullable) return `${rangeOf(inner.def.innerType as z.ZodType)} or null`;
  if (inner instanceof z.ZodEnum)
    return inner.options.map((option) => `\`${String(option)}\``).join(', ');
  if (inner instanceof z.ZodBoolean) return '`true`, `false`';
  if (inner instanceof z.ZodArray) {
    const element = inner.def.element as z.ZodType;
    return element instanceof z.ZodObject ? 'list, see below' : `list of ${rangeOf(element)}`;
  }
  if (inner instanceof z.ZodNumber) {
    const kind = inner.isInt ? 'integer' : 'number';
    const { minValue, maxValue } = inner;
    const open = minValue === 0 && !inner.safeParse(0).success;
    const low =
      minValue === null || minValue <= Number.MIN_SAFE_INTEGER
        ? undefined
        : open
          ? '> 0'
          : `${minValue}`;
    const high =
      maxValue === null || maxValue >= Number.MAX_SAFE_INTEGER ? undefined : `${maxValue}`;
    if (low === undefined && high === undefined) return kind;
    if (open) return high === undefined ? `${kind} > 0` : `${kind} > 0, <= ${high}`;
    return high === undefined ? `${kind} >= ${low}` : `${kind} ${low}..${high}`;
  }
  return 'text';
}

/** The value at a path of a parsed document; undefined if there is none. */
export function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  let at = root;
  for (const part of path) {
    if (typeof at !== 'object' || at === null) return undefined;
    at = (at as Record<PropertyKey, unknown>)[part];
  }
  return at;
}

export type Tree = Record<string, unknown>;
export const isTree = (value: unknown): value is Tree =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Sets the value at a path; sections that are missing are made. */
export function setAt(tree: Tree, path: readonly string[], value: unknown): void {
  let at = tree;
  for (const part of path.slice(0, -1)) {
    if (!isTree(at[part])) at[part] = {};
    at = at[part] as Tree;
  }
  at[path.at(-1)!] = value;
}
