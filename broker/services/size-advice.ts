import { z } from 'zod';
import { count, functionField, hostField, memory, nonNegative, time } from '../messages/index.js';

/** Evidence for the memory that an action needs, over all hosts of its function. */
export const sizeAdviceSchema = z.object({
  function: functionField,
  limit: memory.describe('Memory of its newest containers.'),
  size: memory.describe(
    'Smallest size that holds the recent peaks with a margin, for any number of activations.',
  ),
  highest: memory.describe('Highest working set of an activation.'),
  recent: memory.describe('The same, with decay.'),
  calls: count.describe('Activations since the start, and since the last change of the limit.'),
  callsAtLimit: count,
  seen: time.describe('Time since its first observation.'),
  rate: nonNegative.describe('Activations per second over that time.'),
  busy: time.describe('Mean time that an activation keeps a container busy.'),
  coldStarts: count,
  containers: count.describe('Alive, all hosts together.'),
  kills: count.describe('OOM kills.'),
  killedAt: memory.nullable().describe('Limit at the newest OOM kill; null without one.'),
});
export type SizeAdvice = Readonly<z.output<typeof sizeAdviceSchema>>;

/** OpenWhisk's `user-memory` of one host, derived from the shares of its containers. */
export const userMemorySchema = z.object({ host: hostField, userMemory: memory });
export type HostUserMemory = Readonly<z.output<typeof userMemorySchema>>;
