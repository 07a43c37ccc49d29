import { readFileSync } from 'node:fs';
import { checkWorkload, takeMinutes, type Workload, WorkloadError } from './workload.js';

export type Part = 'train' | 'validation' | 'test';

/** How a workload is divided, as scripts/make-splits.mjs has fixed it in shipped/splits.json. */
interface Split {
  /** Last parts of the functions' names. */
  readonly functions: Readonly<Record<Part, readonly string[]>>;
  /** First minute and the one after the last. */
  readonly minutes: Readonly<Record<Part, readonly [number, number]>>;
}

/** The shipped split of a named workload. @throws WorkloadError where it has none */
export function shippedSplit(name: string): Split {
  const path = new URL('../../../simulator/workload/shipped/splits.json', import.meta.url);
  const splits = JSON.parse(readFileSync(path, 'utf8')) as Record<string, Split>;
  const split = Object.hasOwn(splits, name) ? splits[name] : undefined;
  if (split === undefined)
    throw new WorkloadError(name, [`has no parts; ${Object.keys(splits).join(', ')} have`]);
  return split;
}

/** One part of a workload. @throws WorkloadError if nothing is left */
export function takePart(
  workload: Workload,
  split: Split,
  part: Part,
  by: 'function' | 'time' = 'function',
): Workload {
  if (by === 'time') {
    const [from, to] = split.minutes[part];
    return { ...takeMinutes(workload, from, to - from), name: `${workload.name} ${part}` };
  }
  const names = new Set(split.functions[part]);
  const functions = workload.functions.filter((fn) =>
    names.has(fn.name.slice(fn.name.lastIndexOf('/') + 1)),
  );
  return checkWorkload(
    { ...workload, name: `${workload.name} ${part}`, functions },
    `${workload.name} ${part}`,
  );
}
