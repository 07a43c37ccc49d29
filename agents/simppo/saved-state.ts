import { z } from 'zod';
import type { Millis } from '../../config/index.js';
import type { SimppoState } from './state.js';

const finite = z.number();
const notNegative = finite.min(0);

/** The stored state of a function, with ages instead of times; without its own weights. */
const savedStateSchema = z.object({
  rate: notNegative,
  reward: finite.nullable(),
  hosts: z.record(
    z.string().max(64),
    z.object({
      byWeight: z.boolean(),
      held: z.object({ cpu: finite.positive(), memory: notNegative, containers: finite.min(1) }),
      age: notNegative,
      rate: notNegative,
      cpuPeak: notNegative,
      memoryPeak: notNegative,
      control: z.object({ mean: notNegative, runs: notNegative }),
      last: z.tuple([finite, finite, finite]),
    }),
  ),
});

export function savedState(
  { rate, reward, hosts }: SimppoState,
  now: Millis,
): z.input<typeof savedStateSchema> {
  const aged = Object.entries(hosts).map(([host, { at, ...seen }]) => [
    host,
    { ...seen, last: [...seen.last], age: Math.max(0, now - at) },
  ]);
  return { rate, reward, hosts: Object.fromEntries(aged) };
}

/** Null if it is invalid. The phase is not restored, as the weights are elsewhere. */
export function loadedState(
  fn: string,
  saved: unknown,
  initial: SimppoState,
  now: Millis,
): SimppoState | null {
  const checked = savedStateSchema.safeParse(saved);
  if (!checked.success) return null;
  const { rate, reward, hosts } = checked.data;
  const here = Object.entries(hosts).map(([host, { age, ...seen }]) => [
    host,
    { ...seen, at: now - age },
  ]);
  return { ...initial, fn, rate, reward, hosts: Object.fromEntries(here) };
}
