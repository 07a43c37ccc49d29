import { readFileSync } from 'node:fs';
import { SeededRandom } from '../../config/index.js';
import { checkWorkload, takeMinutes, type Workload, WorkloadError } from './workload.js';

export const PARTS = ['train', 'validation', 'test'] as const;
export type Part = (typeof PARTS)[number];

/** How a workload is divided: by functions, or by time. Fixed in shipped/splits.json. */
export interface Split {
  /** Last parts of the functions' names. */
  readonly functions: Readonly<Record<Part, readonly string[]>>;
  /** First minute and the one after the last. */
  readonly minutes: Readonly<Record<Part, readonly [number, number]>>;
}

/** An hour in three parts that follow each other: a manager is tested on what comes later. */
export const SPLIT_MINUTES: Split['minutes'] = {
  train: [0, 36],
  validation: [36, 48],
  test: [48, 60],
};

/** Divides names at random: three fifths, a fifth, a fifth, each in their old order. */
export function splitNames(names: readonly string[], seed: number): Split['functions'] {
  const random = new SeededRandom(seed).fork('split');
  const order = names
    .map((name, index) => ({ name, index, at: random.next() }))
    .sort((a, b) => a.at - b.at);
  const fifth = Math.max(1, Math.round(names.length / 5));
  const part = (from: number, to?: number) =>
    order
      .slice(from, to)
      .sort((a, b) => a.index - b.index)
      .map(({ name }) => name);
  return { test: part(0, fifth), validation: part(fifth, 2 * fifth), train: part(2 * fifth) };
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

/** One part of a workload. @throws WorkloadError where nothing is left */
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
