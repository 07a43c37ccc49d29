import type { Sample } from '../../../../agents/tuning/index.js';

/** Ten seconds in which activations fill the limit, and none fails. */
export const sample = (limit: number, part: Partial<Sample> = {}): Sample => ({
  limit,
  span: 10_000,
  activations: 50,
  failures: 0,
  oomKills: 0,
  busy: 10_000 * limit,
  capacity: 10_000 * limit,
  cpu: 0.5,
  memory: 0.5,
  ...part,
});
