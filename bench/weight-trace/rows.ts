import { mean } from '../../experiments/statistics.js';
import { atLeast, type BenchRow, none, row } from '../report.js';
import { PARTS, type Part } from './parts.js';
import type { TracedActivation, Tracer } from './tracer.js';

/** Of the response time, the share that the parts with a named cause must have. */
const NAMED = 0.9;
const UNNAMED: readonly Part[] = ['asleep', 'unknown'];

/**
 * The mean slowdown and that of the slowest percent, each divided into parts: response time over
 * the response alone. `on` beside `off`.
 *
 * @param alone response of each function on the idle host, ms
 */
export function traceRows(
  tag: string,
  tracer: Tracer,
  alone: ReadonlyMap<string, number>,
): BenchRow[] {
  const { activations, untraced, lost } = tracer;
  const slowdown = ({ name, latencyMs }: TracedActivation): number => latencyMs / alone.get(name)!;
  const sets = (arm: string): Record<string, TracedActivation[]> => {
    const all = activations.filter((one) => one.arm === arm);
    const slowest = [...all].sort((a, b) => slowdown(b) - slowdown(a));
    return { mean: all, slowest: slowest.slice(0, Math.max(1, Math.round(all.length / 100))) };
  };
  const [on, off] = [sets('on'), sets('off')];
  const rows = [
    none(`${tag}.untraced`, untraced, 'activations', 'activations without a trace are left out'),
    none(`${tag}.lost`, lost, 'events', "the kernel's buffer is too small for the runs"),
  ];
  for (const set of ['mean', 'slowest']) {
    const of = (arm: TracedActivation[], value: (one: TracedActivation) => number): number =>
      mean(arm.map((one) => value(one) / alone.get(one.name)!));
    const whole = of(on[set]!, ({ latencyMs }) => latencyMs);
    rows.push(
      row(`${tag}.${set}`, whole, 'x', {
        baseline: of(off[set]!, ({ latencyMs }) => latencyMs),
        note: `slowdown; ${on[set]!.length} and ${off[set]!.length} activations`,
      }),
    );
    let named = 0;
    for (const part of PARTS) {
      const value = of(on[set]!, ({ parts }) => parts[part]);
      if (!UNNAMED.includes(part)) named += value;
      rows.push(
        row(`${tag}.${set}.${part}`, value, 'x', {
          baseline: of(off[set]!, ({ parts }) => parts[part]),
        }),
      );
    }
    rows.push(
      atLeast(
        `${tag}.${set}.named`,
        named / whole,
        NAMED,
        'share of the slowdown',
        'the parts do not explain the response time',
      ),
    );
  }
  return rows;
}
