import { z } from 'zod';
import type { ActionSettings } from '../../broker/messages/index.js';
import { overrideSchema } from '../../config/index.js';
import { type OpenChange, originalOf } from './open-changes.js';
import type { ListedAction } from './ranges.js';
import type { RestAction } from './rest-schemas.js';

const parsed = (text: unknown): unknown => {
  if (typeof text !== 'string') return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};
/** `wsk -a` makes text of a value that it cannot read. */
const fromText = <T>(schema: z.ZodType<T>) =>
  z.preprocess(parsed, schema) as unknown as z.ZodType<T>;
const { shape } = overrideSchema;
/** Up to a thousand cores; up to a day. */
const cpu = fromText(shape.cpuMillicores.unwrap().max(1_000_000));
const milliseconds = fromText(shape.sloMs.unwrap().max(86_400_000));
const modeText = z.enum(['off', 'observe', 'recommend', 'enforce']);
const boundsObject = fromText(shape.bounds);
const KNOWN = new Set(['gleaner.mode', 'gleaner.slo', 'gleaner.cpu', 'gleaner.bounds']);
const PREFIX = 'gleaner.';
const UNREADABLE_MAX = 32;
const UNREADABLE_LENGTH = 200;

export type Annotations = ReturnType<typeof readAnnotations>;

/** The settings that the owner of an action gives by annotations; null: not annotated. */
export function readAnnotations({ annotations }: RestAction) {
  // A misspelt name is as bad as a misspelt value.
  const unreadable = annotations
    .map(({ key }) => key)
    .filter((key) => key.startsWith(PREFIX) && !KNOWN.has(key));
  const read = <T>(name: string, schema: z.ZodType<T>): T | null => {
    const value = annotations.find((entry) => entry.key === name)?.value;
    if (value === undefined || value === null) return null;
    const checked = schema.safeParse(value);
    if (checked.success) return checked.data;
    unreadable.push(name);
    return null;
  };
  const mode = read('gleaner.mode', modeText);
  const sloMs = read('gleaner.slo', milliseconds);
  const cpuMillicores = read('gleaner.cpu', cpu);
  const bounds = read('gleaner.bounds', boundsObject) ?? null;
  return {
    /** Unreadable annotations mean `observe`, too: their owner wants to hold something back. */
    mode: unreadable.length > 0 || mode === 'off' ? ('observe' as const) : mode,
    modeAsWritten: mode,
    /** Init + run. */
    sloMs,
    cpuMillicores,
    bounds,
    unreadable: unreadable as readonly string[],
  };
}

/** The settings of an action that hooks and agent hosts receive; null: none. */
export function actionSettings(
  action: RestAction,
  open: OpenChange | undefined,
  concurrency?: ActionSettings['concurrency'],
): ActionSettings | null {
  const { mode, sloMs, cpuMillicores, bounds, unreadable } = readAnnotations(action);
  const memory = open?.limits.get('memory');
  const { memory: size } = action.limits;
  const original = memory?.setByGleaner.has(size) ? memory.original : null;
  const settings = {
    ...(mode === null || unreadable.length > 0 ? {} : { mode }),
    ...(sloMs === null ? {} : { sloMs }),
    ...(cpuMillicores === null ? {} : { cpuMillicores }),
    ...(bounds === null ? {} : { bounds }),
    ...(original !== null && original > size
      ? { resized: { fromMiB: original, toMiB: size } }
      : {}),
    ...(concurrency === undefined ? {} : { concurrency }),
    unreadable: unreadable.slice(0, UNREADABLE_MAX).map((name) => name.slice(0, UNREADABLE_LENGTH)),
  };
  if (Object.keys(settings).length <= 1 && unreadable.length === 0) return null;
  return { v: 1, function: `/${action.namespace}/${action.name}`, ...settings };
}

/** Undefined if the namespace's range is unknown or has one value. `version`: its user's. */
export function concurrencyOf(
  { action, ranges }: ListedAction,
  version: string,
  open: OpenChange | undefined,
): ActionSettings['concurrency'] {
  const range = ranges.concurrency;
  const limit = action.limits.concurrency;
  if (range === null || limit === undefined || range.max <= range.min || limit < 1)
    return undefined;
  const revision = `${version} at ${action.limits.memory} MB`;
  const requested = originalOf(open, 'concurrency', limit);
  return {
    limit,
    ...(requested === null || requested === limit || requested < 1 ? {} : { requested }),
    least: Math.max(1, range.min),
    most: range.max,
    revision,
  };
}
