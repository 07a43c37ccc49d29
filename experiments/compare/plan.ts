import type { ClusterMode, SimulatedSettings } from '../../simulator/engine/index.js';
import {
  type HostShape,
  openWorkload,
  type Part,
  resolveHosts,
} from '../../simulator/workload/index.js';
import { type Contender, contender, FIXED, lineUp } from './contenders.js';
import type { Job } from './job.js';
import type { Setting } from './setting.js';

/** What is to be compared. */
export interface ComparisonRequest {
  /** Managers and policies by name; `all`. */
  readonly contenders: readonly string[];
  readonly seeds: readonly number[];
  /** By name or path; `name@2` plays it on two hosts. */
  readonly workloads: readonly string[];
  /** Of each workload, by time; absent: all of it. */
  readonly part?: Part;
  readonly functions?: number;
  readonly activations?: number;
  readonly loads: readonly number[];
  readonly modes: readonly ClusterMode[];
  /**
   * What the command line says of hosts, and what counts where neither it nor the workload says
   * anything.
   */
  readonly hosts: Partial<HostShape>;
  readonly defaultHosts: HostShape;
  /** User memories per host of the density section; empty: none. */
  readonly densityMiB: readonly number[];
  /** What a configuration changes in the decision. */
  readonly settings?: SimulatedSettings;
  /** Contenders that no name stands for: of a configuration, and trained policies. */
  readonly added?: readonly Contender[];
}

/**
 * Contenders of the density section: what OpenWhisk does, and what could change how many warm
 * containers fit.
 */
const DENSITY_CONTENDERS = [
  'fixed',
  'right-size',
  'short-first',
  'hpa',
  'kpa',
  'right-size+short-first',
];
/**
 * Load of the density section, that of the sample as recorded: memory is what is looked at, so CPU
 * must not be scarce.
 */
const DENSITY_LOAD = 0.25;

/** `profiles-12@2` is `profiles-12` on two hosts: a few functions cannot keep thirty busy. */
export function placeOf(spec: string): { readonly workload: string; readonly hosts?: number } {
  const [, workload, count] = /^(.+)@([1-9]\d{0,3})$/.exec(spec) ?? [];
  return workload === undefined ? { workload: spec } : { workload, hosts: Number(count) };
}

/**
 * A workload with its hosts: as many as it names with `@`, else as the request and the workload
 * say.
 */
function placed(
  spec: string,
  { hosts, defaultHosts }: ComparisonRequest,
): HostShape & { readonly workload: string } {
  const place = placeOf(spec);
  const shape = resolveHosts(place.workload, hosts, defaultHosts);
  return { ...shape, workload: place.workload, hosts: place.hosts ?? shape.hosts };
}

const unique = <Value>(values: readonly Value[]): Value[] => [...new Set(values)];

/** A section: a setting and who meets in it. */
export interface SectionPlan {
  readonly setting: Setting;
  readonly kind: 'load' | 'density';
  readonly contenders: readonly Contender[];
}

/**
 * Repeated workloads, modes, loads and memories are one section: its runs again would count as
 * other seeds.
 *
 * @throws UnknownContenderError; WorkloadError where a workload has no such part
 */
export function planSections(request: ComparisonRequest): SectionPlan[] {
  const { contenders, part, functions, activations, settings } = request;
  const workloads = unique(request.workloads);
  const places = workloads.map((spec) => placeOf(spec).workload);
  // Before hours of runs, not in the middle of them.
  if (part !== undefined) for (const place of places) openWorkload(place, { part });
  const shape = { part, functions, activations, ...(settings === undefined ? {} : { settings }) };
  const ofPart = part === undefined ? '' : ` ${part}`;
  const sections: SectionPlan[] = [];
  for (const spec of workloads) {
    const place = placed(spec, request);
    const isOnce = places.indexOf(place.workload) === places.lastIndexOf(place.workload);
    const label = isOnce ? place.workload : spec;
    for (const mode of unique(request.modes)) {
      const runners = lineUp(contenders, mode, request.added);
      for (const load of unique(request.loads)) {
        const name = `${label}${ofPart}, ${mode} mode, load ${load}`;
        sections.push({
          kind: 'load',
          contenders: runners,
          setting: { ...shape, ...place, name, mode, load, sizes: 'given' },
        });
      }
    }
  }
  const [first] = workloads;
  if (first === undefined) return sections;
  const place = placed(first, request);
  for (const userMemory of unique(request.densityMiB)) {
    const name = `density: ${place.workload}${ofPart}, ${userMemory} MiB of user memory per host`;
    sections.push({
      kind: 'density',
      contenders: DENSITY_CONTENDERS.map((one) => (one === 'fixed' ? FIXED : contender(one))),
      setting: {
        ...shape,
        ...place,
        name,
        mode: 'weight',
        load: DENSITY_LOAD,
        sizes: 'defaults',
        userMemoryMiB: userMemory,
        memoryMiB: Math.max(place.memoryMiB, 2 * userMemory),
      },
    });
  }
  return sections;
}

/**
 * Jobs in the order of sections, seeds and contenders; those with other arrivals last, so that a
 * workload is opened once.
 */
export function planJobs(sections: readonly SectionPlan[], seeds: readonly number[]): Job[] {
  const jobs: Job[] = [];
  for (const { setting, contenders } of sections) {
    const ordered = [...contenders].sort(
      (a, b) => Number(a.redrawn === 'everything') - Number(b.redrawn === 'everything'),
    );
    for (const seed of seeds) {
      for (const contender of ordered) jobs.push({ index: jobs.length, setting, contender, seed });
    }
  }
  return jobs;
}
