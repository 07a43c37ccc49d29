import type { ClusterMode } from '../cluster/index.js';
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
  readonly functions?: number;
  readonly calls?: number;
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
/** Load of the density section, that of the sample as recorded: memory is what is looked at, so CPU must not be scarce. */
const DENSITY_LOAD = 0.25;

/** `profiles-12@2` is `profiles-12` on two hosts: a few functions cannot keep thirty busy. */
function placed(workload: string, hosts: number): { workload: string; hosts: number } {
  const [, name, count] = /^(.+)@([1-9]\d{0,3})$/.exec(workload) ?? [];
  return name === undefined ? { workload, hosts } : { workload: name, hosts: Number(count) };
}

/** A section: a setting and who meets in it. */
export interface SectionPlan {
  readonly setting: Setting;
  readonly kind: 'load' | 'density';
  readonly contenders: readonly Contender[];
}

/** @throws UnknownContenderError */
export function planSections(request: ComparisonRequest): SectionPlan[] {
  const { contenders, workloads, functions, calls, loads, modes, cores, memoryMiB, userMemoryMiB } = request;
  const shape = { functions, calls, cores, memoryMiB, userMemoryMiB };
  const sections: SectionPlan[] = [];
  for (const spec of workloads) {
    const { workload, hosts } = placed(spec, request.hosts);
    for (const mode of modes) {
      const runners = lineUp(contenders, mode);
      for (const load of loads) {
        const name = `${workload}, ${mode} mode, load ${load}`;
        sections.push({
          kind: 'load',
          contenders: runners,
          setting: { ...shape, hosts, name, workload, mode, load, sizes: 'given' },
        });
      }
    }
  }
  const [first] = workloads;
  if (first === undefined) return sections;
  const { workload, hosts } = placed(first, request.hosts);
  for (const userMemory of request.densityMiB) {
    const name = `density: ${workload}, ${userMemory} MiB of user memory per host`;
    sections.push({
      kind: 'density',
      contenders: DENSITY_CONTENDERS.map((one) => (one === 'fixed' ? FIXED : contender(one))),
      setting: {
        ...shape,
        hosts,
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
