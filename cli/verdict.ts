import type { FunctionView } from '../broker/services/index.js';
import {
  type ComparedHost,
  type Comparison,
  changeText,
  comparisonOver,
  verdictOf,
} from '../rules/index.js';
import { plainText } from '../runtime/index.js';

export type ComparedFunction = Pick<FunctionView, 'name' | 'comparison'>;
type KnownComparison = Extract<Comparison, { known: true }>;

/** Functions named on each side of the verdict. */
const NAMED = 3;

/** `−12 % [−15 %, −9 %]` */
const intervalText = ({ ratio, low, high }: KnownComparison): string =>
  `${changeText(ratio)} [${changeText(low)}, ${changeText(high)}]`;

/** `−12 % [−15 %, −9 %] (120 activations, 24 control samples)`, or the missing samples. */
export function comparisonText(comparison: Comparison): string {
  if (!comparison.known)
    return `– (${comparison.controlSamples} of ${comparison.needed} control samples)`;
  const { activations, controlSamples } = comparison;
  const samples = `${activations} activations, ${controlSamples} control samples`;
  return `${intervalText(comparison)} (${samples})`;
}

/**
 * The comparison with the control arm over all hosts, and the functions that gained and slowed
 * most.
 */
export function verdictLines(
  hosts: readonly ComparedHost[],
  functions: readonly ComparedFunction[],
): string[] {
  if (hosts.length === 0) return [];
  const lines = [verdictOf(hosts).text];
  const byName = new Map<string, ComparedFunction[]>();
  for (const one of functions) byName.set(one.name, [...(byName.get(one.name) ?? []), one]);
  const known: (readonly [string, KnownComparison])[] = [];
  for (const [name, views] of byName) {
    const comparison = comparisonOver(views);
    if (comparison.known) known.push([name, comparison]);
  }
  known.sort(([, a], [, b]) => a.ratio - b.ratio);
  const side = (title: string, rows: readonly (readonly [string, KnownComparison])[]): void => {
    for (const [i, [name, comparison]] of rows.slice(0, NAMED).entries())
      lines.push(
        [
          i === 0 ? title : ' '.repeat(title.length),
          plainText(name),
          comparisonText(comparison),
        ].join('  '),
      );
  };
  side(
    'gained most',
    known.filter(([, { ratio }]) => ratio < 1),
  );
  side('slowed most', known.filter(([, { ratio }]) => ratio > 1).reverse());
  return lines;
}
