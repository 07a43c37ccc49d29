import { readFileSync } from 'node:fs';
import {
  elasticity,
  grownTo,
  INPUTS,
  type InputKind,
  SEGMENTS,
  type SegmentName,
} from './segments.js';
import { checkWorkload, type Workload, WorkloadError, type WorkloadInput } from './workload.js';

/** A synthetic application: one to three segments that run in sequence. [AWARE artifact] */
export interface AwareApp {
  readonly id: number;
  readonly segments: readonly SegmentName[];
  /**
   * Its inputs' size against the sizes before a change: the three printed sizes are in the ratio 1
   * : 2 : 3.
   */
  readonly size: number;
  readonly activationsPerDay: number;
}

/** A line of the shipped file: `compress+matMul x1.5 12000/day`. */
function parseLine(line: string, id: number): AwareApp {
  const match = /^([\w+]+) x([\d.]+) (\d+)\/day$/.exec(line);
  const segments = (match?.[1] ?? '').split('+');
  if (
    match === null ||
    !segments.every((name): name is SegmentName => Object.hasOwn(SEGMENTS, name))
  ) {
    throw new WorkloadError('aware-apps.json', [`application ${id}: '${line}' is none`]);
  }
  return { id, segments, size: Number(match[2]), activationsPerDay: Number(match[3]) };
}

let shipped: readonly AwareApp[] | undefined;

/** The thousand applications that come with the product. */
export function awareApps(): readonly AwareApp[] {
  if (shipped === undefined) {
    const path = new URL('../../../simulator/workload/shipped/aware-apps.json', import.meta.url);
    const { apps } = JSON.parse(readFileSync(path, 'utf8')) as { apps: string[] };
    shipped = apps.map(parseLine);
  }
  return shipped;
}

/**
 * As wide as the three printed sizes of an input: 0.5, 1 and 1.5 have logarithms with a deviation
 * of .45.
 */
const PAYLOAD_SIGMA = 0.45;
/** Idle Node.js with the function loaded, MiB. */
const RUNTIME_MIB = 45;
const MEMORY_SIZES = [128, 256, 512];

/** Name of an application's action. */
export function awareName({ id }: Pick<AwareApp, 'id'>): string {
  return `app-${String(id).padStart(3, '0')}`;
}

/**
 * The application as a function. What grows with the input is a sum of powers; around its size it
 * is taken for one power, whose exponent is the sum's elasticity. The payload's size is in units of
 * the size before a change.
 * @param grown kinds of input that a change scenario has made larger
 */
export function awareFunction(
  app: AwareApp,
  options: {
    readonly grown?: ReadonlySet<InputKind>;
    readonly activationsPerDay?: number;
    readonly minutes?: number;
  } = {},
): WorkloadInput['functions'][number] {
  const { grown = new Set<InputKind>(), minutes = 60 } = options;
  const parts = app.segments.map((name) => {
    const segment = SEGMENTS[name];
    const { before, after } = INPUTS[segment.input];
    return { segment, ratio: app.size * (grown.has(segment.input) ? after / before : 1) };
  });
  const median = Math.max(app.size, ...parts.map(({ ratio }) => ratio));
  const power = (part: 'cpu' | 'io') => {
    const value = parts.reduce((sum, { segment, ratio }) => sum + grownTo(segment[part], ratio), 0);
    const slope = parts.reduce(
      (sum, { segment, ratio }) => sum + elasticity(segment[part], ratio),
      0,
    );
    const exponent = value > 0 ? round(slope / value) : 0;
    return { exponent, atOne: round(value / median ** exponent) };
  };
  const cpu = power('cpu');
  const io = power('io');
  const above = Math.max(...parts.map(({ segment, ratio }) => grownTo(segment.memory, ratio)));
  // Memory for the largest inputs of a scenario, as users ask for after an OOM kill.
  const most = Math.max(
    ...app.segments.map((name) => {
      const { input, memory } = SEGMENTS[name];
      return grownTo(memory, (3 * app.size * INPUTS[input].after) / INPUTS[input].before);
    }),
  );
  return {
    name: `/aware/${awareName(app)}`,
    kind: app.segments.join('+'),
    userCpuMillicores: 1000,
    memoryMiB:
      MEMORY_SIZES.find((size) => size >= RUNTIME_MIB + most) ?? Math.ceil(RUNTIME_MIB + most),
    profile: {
      // Files and stores are waited for in between; computing keeps a core busy.
      parallelism: 1,
      cpuMs: { lognormal: { median: cpu.atOne, sigma: 0.1 } },
      ioMs: io.atOne > 0 ? { lognormal: { median: io.atOne, sigma: 0.3 } } : 0,
      memory: {
        baseMiB: RUNTIME_MIB,
        peakMiB: round(RUNTIME_MIB + above),
        growth: 0.5,
        retained: 0.2,
      },
      payload: {
        median: round(median),
        sigma: PAYLOAD_SIGMA,
        cpu: cpu.exponent,
        io: io.exponent,
        memory: 0,
      },
      initMs: 80,
    },
    arrivals: {
      ratePerSecond: (options.activationsPerDay ?? app.activationsPerDay) / 86_400,
      seconds: minutes * 60,
    },
  };
}

/** Applications as a workload of an hour. */
export function awareWorkload(apps: readonly AwareApp[], name: string): Workload {
  return checkWorkload({
    version: 1,
    name,
    description:
      `${apps.length} synthetic applications of 1 to 3 segments after AWARE; ` +
      'their demand is assumed (docs/workloads.md)',
    functions: apps.map((app) => awareFunction(app)),
  });
}

/** To a thousandth. */
function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
