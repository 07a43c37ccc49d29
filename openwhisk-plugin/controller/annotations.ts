import { z } from 'zod';
import { type Mode, overrideSchema } from '../../config/index.js';
import type { RestAction } from './rest-schemas.js';

/** OpenWhisk takes any JSON as an annotation's value, and `wsk -a` makes text of what it cannot read. */
const number = z.preprocess((value) => (typeof value === 'string' ? Number(value) : value), z.number().positive());
const modeText = z.enum(['off', 'observe', 'recommend', 'enforce']);

/** What the owner of an action says about it by annotations (design §3, field-notes B). */
export interface Annotations {
  /** `gleaner.mode`; `off` is `observe` here. Null: nothing said. */
  readonly mode: Mode | null;
  /** `gleaner.slo`: init + run, ms. */
  readonly sloMs: number | null;
  /** `gleaner.cpu`: what the user is owed, millicores. */
  readonly cpuMillicores: number | null;
  /** `gleaner.bounds`, as in `functions.overrides`. */
  readonly bounds: z.output<typeof overrideSchema>['bounds'] | null;
  /** Names of those that cannot be read. The function is then only observed: whoever writes one wants to hold something back. */
  readonly unreadable: readonly string[];
}

export function readAnnotations({ annotations }: RestAction): Annotations {
  const unreadable: string[] = [];
  const read = <T>(name: string, schema: z.ZodType<T>): T | null => {
    const value = annotations.find((entry) => entry.key === name)?.value;
    if (value === undefined || value === null) return null;
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    unreadable.push(name);
    return null;
  };
  const mode = read('gleaner.mode', modeText);
  const sloMs = read('gleaner.slo', number);
  const cpuMillicores = read('gleaner.cpu', number);
  const bounds = read('gleaner.bounds', overrideSchema.shape.bounds) ?? null;
  return {
    mode: unreadable.length > 0 || mode === 'off' ? 'observe' : mode,
    sloMs,
    cpuMillicores,
    bounds,
    unreadable,
  };
}
