import { z } from 'zod';
import { count, functionField, hostField, memory, nonNegative, time } from '../messages/index.js';

/**
 * What a function's calls say about the memory that its action needs, over all hosts that its agent
 * heard of.
 */
export const sizeAdviceSchema = z.object({
  function: functionField,
  limit: memory.describe('Memory of its newest containers.'),
  size: memory.describe(
    'Smallest size that holds the peaks of late with a margin, however few calls were seen.',
  ),
  highest: memory.describe('Highest working set that any call had.'),
  recent: memory.describe('The same, older ones counting less.'),
  calls: count.describe(
    'Seen since the agent began, and of these since the limit was last another.',
  ),
  callsAtLimit: count,
  seen: time.describe('Since its first observation.'),
  rate: nonNegative.describe('Calls a second over that time.'),
  busy: time.describe('Time that one call keeps a container busy, mean.'),
  coldStarts: count,
  containers: count.describe('Alive, all hosts together.'),
  kills: count.describe('OOM kills.'),
  killedAt: memory.nullable().describe('Limit at the newest OOM kill; null: none was seen.'),
});
export type SizeAdvice = Readonly<z.output<typeof sizeAdviceSchema>>;

/**
 * Memory that the invokers of one host hand out (OpenWhisk's user-memory), as containers' shares
 * tell it.
 */
export const userMemorySchema = z.object({ host: hostField, userMemory: memory });
export type HostUserMemory = Readonly<z.output<typeof userMemorySchema>>;
