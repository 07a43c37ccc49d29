import {
  checkWorkload,
  expectedLoad,
  profiles12,
  type Workload,
} from '../../simulator/workload/index.js';

/** Profiles of new functions: a few activations per second, so that agents learn within hours. */
export const NEW_FUNCTIONS: readonly string[] = [
  'base64',
  'markdown2html',
  'json',
  'http-endpoint',
  'sentiment',
].map((name) => `/guest/${name}`);

const SLICE_MS = 60_000;

export interface NewFunctionPlan {
  readonly newFunction: string;
  /** Minutes until the new function's first activation, and from then on. */
  readonly before: number;
  readonly after: number;
  /** Offered load with the new function, and the cores it is offered to. */
  readonly load: number;
  readonly cores: number;
}

/** The twelve profiles at a stated load; one of them is called only later. */
export function newFunctionWorkload({
  newFunction,
  before,
  after,
  load,
  cores,
}: NewFunctionPlan): Workload {
  const baseWorkload = profiles12();
  const faster = load / expectedLoad(baseWorkload, cores);
  const functions = baseWorkload.functions.map((fn) => {
    const perSecond = 'ratePerSecond' in fn.arrivals ? fn.arrivals.ratePerSecond * faster : 0;
    const seconds = ((before + after) * SLICE_MS) / 1000;
    if (fn.name !== newFunction) return { ...fn, arrivals: { ratePerSecond: perSecond, seconds } };
    const perMinute = Array.from({ length: before + after }, (_, minute) =>
      minute < before ? 0 : Math.round((perSecond * SLICE_MS) / 1000),
    );
    return { ...fn, arrivals: { perMinute, sliceMs: SLICE_MS, within: 'poisson' as const } };
  });
  return checkWorkload({ ...baseWorkload, name: `profiles-12, ${newFunction} later`, functions });
}
