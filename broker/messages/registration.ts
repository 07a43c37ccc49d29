import { z } from 'zod';
import { decoder } from './codec.js';
import {
  amounts,
  bootField,
  functionField,
  hostField,
  version,
  wallClock,
  word,
} from './fields.js';

/**
 * A value of the bucket `gleaner_functions`, key = token: a function that some hook has seen, and
 * who manages it. Its agent host takes it away when the function has not been called for long.
 */
export const registrationSchema = z.object({
  v: version,
  function: functionField,
  manager: word,
  agentHost: hostField,
  boot: bootField,
  user: amounts,
  registeredAt: wallClock,
  seenAt: wallClock
    .optional()
    .describe(
      'When it was seen last, or up to a quarter of `agents.registry.forgetAfterS` before; absent: as registered.',
    ),
});
export type Registration = z.infer<typeof registrationSchema>;
export const decodeRegistration = decoder(registrationSchema, 8 * 1024);
/**
 * The same, but nothing beside what an agent host writes: what else is in an entry somebody else
 * has put there.
 */
export const decodeOwnRegistration = decoder(registrationSchema.strict(), 8 * 1024);

/**
 * A value of the bucket `gleaner_leases`, key = token (or a service's name): its revision is the
 * owner's epoch.
 */
export const leaseSchema = z.object({
  v: version,
  host: hostField,
  boot: bootField,
  renewal: z
    .int()
    .min(0)
    .describe(
      "Rises with each renewal: a lease that does not change for a while, by the watcher's own clock, is free.",
    ),
  duration: z.number().min(1).describe('Length of the lease, ms.'),
});
export const decodeLease = decoder(leaseSchema, 4 * 1024);
