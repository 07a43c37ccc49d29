import { type AwareApp, awareFunction } from './aware.js';
import { type InputKind, SEGMENT_NAMES, SEGMENTS, type SegmentName } from './segments.js';
import { checkWorkload, type Workload, WorkloadError } from './workload.js';

/**
 * The seven instability scenarios of [AWARE]'s evaluation: the input that becomes larger, or, for
 * `load`, arrivals that fall from high (above 10^5 a day) to low and rise again.
 */
export const CHANGE_SCENARIOS = {
  'file-size': 'file',
  'table-size': 'table',
  'float-operations': 'operations',
  'image-size': 'image',
  'json-size': 'document',
  'matrix-size': 'matrix',
  load: undefined,
} as const satisfies Readonly<Record<string, InputKind | undefined>>;

export type ChangeScenario = keyof typeof CHANGE_SCENARIOS;

/** Activations a day of the scenario `load`, and of the applications that the others make. */
const ACTIVATIONS_PER_DAY = { high: 200_000, low: 10_000 } as const;

/**
 * The workloads of a scenario, to be played one after the other: the same functions, changed
 * demand.
 * @param apps default: one application for each segment that the scenario changes
 * @param minutes length of a phase
 * @throws WorkloadError where the scenario changes none of the applications
 */
export function scenarioPhases(
  scenario: ChangeScenario,
  apps?: readonly AwareApp[],
  minutes = 30,
): readonly Workload[] {
  const input = CHANGE_SCENARIOS[scenario];
  const changed = (name: SegmentName) => input === undefined || SEGMENTS[name].input === input;
  const played = apps ?? SEGMENT_NAMES.filter(changed).map(ofSegment);
  if (!played.some(({ segments }) => segments.some(changed))) {
    throw new WorkloadError(scenario, ['changes no segment of these applications']);
  }
  const phase = (name: string, options: Parameters<typeof awareFunction>[1]) =>
    checkWorkload({
      version: 1,
      name: `${scenario}: ${name}`,
      description: 'a change scenario after AWARE; demand is assumed (docs/workloads.md)',
      functions: played.map((app) => awareFunction(app, { minutes, ...options })),
    });
  if (input === undefined) {
    const high = { activationsPerDay: ACTIVATIONS_PER_DAY.high };
    return [
      phase('high', high),
      phase('low', { activationsPerDay: ACTIVATIONS_PER_DAY.low }),
      phase('high', high),
    ];
  }
  return [phase('before', {}), phase('after', { grown: new Set<InputKind>([input]) })];
}

/** Ids beyond those of the shipped applications, so that names stay apart. */
function ofSegment(name: SegmentName): AwareApp {
  return {
    id: 1000 + SEGMENT_NAMES.indexOf(name),
    segments: [name],
    size: 1,
    activationsPerDay: ACTIVATIONS_PER_DAY.high,
  };
}
