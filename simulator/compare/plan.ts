import type { ClusterMode } from '../cluster/index.js';
import { type Contender, contender, FIXED, lineUp } from './contenders.js';
import type { Job } from './job.js';
import type { Setting } from './setting.js';

/** What is to be compared. */
export interface ComparisonRequest {
  /** Managers and policies by name; `all`. */
  readonly contenders: readonly string[];
  readonly seeds: readonly number[];
  readonly workloads: readonly string[];
  readonly functions?: number;
  readonly loads: readonly number[];
  readonly modes: readonly ClusterMode[];
  readonly hosts: number;
  readonly cores: number;
  readonly memoryMiB: number;
  readonly userMemoryMiB: number;
  /** User memories per host of the density section; empty: none. */
  readonly densityMiB: readonly number[];
}

/** Contenders of the density section: what OpenWhisk does, and what could change how many warm containers fit. */
const DENSITY_CONTENDERS = ['fixed', 'right-size', 'short-first', 'hpa', 'kpa', 'right-size+short-first'];
/** Load of the density section: memory is what is looked at, so CPU must not be scarce. */
const DENSITY_LOAD = 0.5;

/** A section: a setting and who meets in it. */
export interface SectionPlan {
  readonly setting: Setting;
  readonly kind: 'load' | 'density';
  readonly contenders: readonly Contender[];
}

/** @throws UnknownContenderError */
export function planSections(request: ComparisonRequest): SectionPlan[] {
  const { contenders, workloads, functions, loads, modes, hosts, cores, memoryMiB, userMemoryMiB } = request;
  const shape = { functions, hosts, cores, memoryMiB, userMemoryMiB };
  const sections: SectionPlan[] = [];
  for (const workload of workloads) {
    for (const mode of modes) {
      const runners = lineUp(contenders, mode);
      for (const load of loads) {
        const name = `${workload}, ${mode} mode, load ${load}`;
        sections.push({
          kind: 'load',
          contenders: runners,
          setting: { ...shape, name, workload, mode, load, sizes: 'given' },
        });
      }
    }
  }
  const [workload] = workloads;
  if (workload === undefined) return sections;
  for (const userMemory of request.densityMiB) {
    const name = `density: ${workload}, ${userMemory} MiB of user memory per host`;
    sections.push({
      kind: 'density',
      contenders: DENSITY_CONTENDERS.map((one) => (one === 'fixed' ? FIXED : contender(one))),
      setting: {
        ...shape,
        name,
        workload,
        mode: 'weight',
        load: DENSITY_LOAD,
        sizes: 'defaults',
        userMemoryMiB: userMemory,
        memoryMiB: Math.max(memoryMiB, 2 * userMemory),
      },
    });
  }
  return sections;
}

/** Jobs in the order of sections, seeds and contenders; those with other arrivals last, so that a workload is opened once. */
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
