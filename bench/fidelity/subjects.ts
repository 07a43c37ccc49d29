import type { Random } from '../../config/index.js';
import type { Arrival } from '../../simulator/invoker-emulator/index.js';
import { normalQuantile } from '../../simulator/workload/index.js';
import { poissonArrivals, type Subject } from '../benefit/load.js';

/**
 * Limits that every condition is run with: stock containers, or quotas as a user could have set
 * them.
 */
export type FidelityMode = 'weight' | 'quota';

interface Kind {
  readonly name: string;
  readonly memoryMb: number;
  readonly cpus: number;
  readonly body: Subject['body'];
  readonly payload: Readonly<Record<string, number>>;
  readonly cpuMs: number;
}

/**
 * Short and long, one thread and two, with waits and without; some want more than their quota,
 * others never use it.
 */
const KINDS: readonly Kind[] = [
  { name: 'fshort', memoryMb: 128, cpus: 0.5, body: 'cpu', payload: {}, cpuMs: 15 },
  { name: 'fplain', memoryMb: 256, cpus: 0.75, body: 'cpu', payload: {}, cpuMs: 50 },
  { name: 'flong', memoryMb: 128, cpus: 0.75, body: 'cpu', payload: {}, cpuMs: 150 },
  { name: 'fheavy', memoryMb: 512, cpus: 1, body: 'cpu', payload: {}, cpuMs: 110 },
  {
    name: 'fwaits',
    memoryMb: 256,
    cpus: 0.5,
    body: 'mixed',
    payload: { sleepMs: 160, rounds: 2 },
    cpuMs: 40,
  },
  { name: 'fwide', memoryMb: 256, cpus: 1, body: 'parallel', payload: { workers: 2 }, cpuMs: 120 },
];

/**
 * Spread of the demand of one function's activations: CPU time is lognormal with the stated median.
 */
const SIGMA = 0.4;

/**
 * The functions, each offering the same rate, so that their CPU time adds up to `load` of `cores`.
 */
export function fidelitySubjects(mode: FidelityMode, load: number, cores: number): Subject[] {
  const perActivation = KINDS.reduce((sum, kind) => sum + meanDemandOf(kind), 0);
  const rate = (load * cores * 1000) / perActivation;
  return KINDS.map(({ cpus, ...kind }) => ({
    ...kind,
    rate,
    ...(mode === 'quota' ? { cpus } : {}),
  }));
}

/** Mean CPU time that payloads ask for: of a lognormal, median x exp(sigma^2 / 2). ms */
export const meanDemandOf = ({ cpuMs }: { readonly cpuMs: number }): number =>
  cpuMs * Math.exp(SIGMA ** 2 / 2);

/**
 * What one activation is given: CPU time to burn in ms, and what its subject says of waits and
 * threads.
 */
export interface FidelityPayload extends Readonly<Record<string, number>> {
  readonly cpuMs: number;
}

/** The payload of one activation: the subject's own, with its CPU time drawn. */
export function drawPayload(subject: Subject, random: Random): FidelityPayload {
  const cpuMs = subject.cpuMs * Math.exp(SIGMA * normalQuantile(random.next()));
  return { ...subject.payload, cpuMs: Math.round(cpuMs * 10) / 10 };
}

/** Arrivals with demands; the streams of arrivals and of demands are apart. */
export function fidelityArrivals(
  subjects: readonly Subject[],
  seconds: number,
  random: Random,
): Arrival[] {
  const demand = new Map(
    subjects.map((subject) => [subject.name, random.fork(`demand ${subject.name}`)]),
  );
  const byName = new Map(subjects.map((subject) => [subject.name, subject]));
  return poissonArrivals(subjects, seconds, random.fork('arrivals')).map((arrival) => ({
    ...arrival,
    payload: drawPayload(byName.get(arrival.action.name)!, demand.get(arrival.action.name)!),
  }));
}
