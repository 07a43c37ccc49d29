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
 * A value of the bucket `gleaner_functions`: a function that some hook has observed, and its agent
 * host, which deletes the entry when the function has had no activation for long.
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
      'Time of the last observation, up to a quarter of `agents.registry.forgetAfterS` too early.',
    ),
});
export type Registration = z.infer<typeof registrationSchema>;
export const decodeRegistration = decoder(registrationSchema, 8 * 1024);
/** Refuses an entry with members that no agent host writes: another program has changed it. */
export const decodeOwnRegistration = decoder(registrationSchema.strict(), 8 * 1024);

/** A value of the bucket `gleaner_leases`: its revision is the owner's epoch. */
export const leaseSchema = z.object({
  v: version,
  host: hostField,
  boot: bootField,
  renewal: z
    .int()
    .min(0)
    .describe('Rises with each renewal. A lease that has not changed for `duration` is free.'),
  duration: z.number().min(1).describe('Length of the lease, ms.'),
});
export const decodeLease = decoder(leaseSchema, 4 * 1024);
