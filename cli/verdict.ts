import type { FunctionView, HostView } from '../broker/services/index.js';
import {
  addComparisons,
  type Comparison,
  type ComparisonSums,
  comparisonOf,
  intervalText,
  noComparison,
  verdictText,
} from '../config/index.js';
import { plainText } from '../runtime/index.js';

type ComparedHost = Pick<HostView, 'mode' | 'killed' | 'comparison' | 'upSeconds'>;
export type ComparedFunction = Pick<FunctionView, 'name' | 'comparison'>;
type KnownComparison = Extract<Comparison, { known: true }>;

/** Functions named on each side of the verdict. */
const NAMED = 3;

/** One function, as one or several hosts tell of it, against its control arm. */
export const functionComparison = (views: readonly ComparedFunction[]): Comparison =>
  comparisonOf(addComparisons(views.map(({ comparison }) => comparison ?? noComparison)));

/** `−12 % [−15 %, −9 %] of 120 and 24 activations`, or how many control samples there are. */
export function comparisonText(comparison: Comparison): string {
  if (!comparison.known)
    return `– (${comparison.controlSamples} of ${comparison.needed} control samples)`;
  return `${intervalText(comparison)} (${comparison.activations} activations, ${comparison.controlSamples} control samples)`;
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
  const sums: ComparisonSums[] = hosts.map(({ comparison }) => comparison ?? noComparison);
  const enforced = hosts.some(({ mode, killed }) => mode === 'enforce' && !killed);
  const up = Math.max(0, ...hosts.map(({ upSeconds }) => upSeconds ?? 0));
  const lines = [
    verdictText(comparisonOf(addComparisons(sums)), up > 0 ? up : undefined, enforced),
  ];
  const byName = new Map<string, ComparedFunction[]>();
  for (const one of functions) byName.set(one.name, [...(byName.get(one.name) ?? []), one]);
  const known: (readonly [string, KnownComparison])[] = [];
  for (const [name, views] of byName) {
    const comparison = functionComparison(views);
    if (comparison.known) known.push([name, comparison]);
  }
  known.sort(([, a], [, b]) => a.ratio - b.ratio);
  const side = (title: string, rows: readonly (readonly [string, KnownComparison])[]): void => {
    for (const [i, [name, comparison]] of rows.slice(0, NAMED).entries())
      lines.push(
        `${i === 0 ? title : ''.padEnd(title.length)}  ${plainText(name)}  ${comparisonText(comparison)}`,
      );
  };
  side(
    'gained most',
    known.filter(([, { ratio }]) => ratio < 1),
  );
  side('slowed most', known.filter(([, { ratio }]) => ratio > 1).reverse());
  return lines;
}
