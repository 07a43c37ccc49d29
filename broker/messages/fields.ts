import { z } from 'zod';
import {
  type Bytes,
  type Micros,
  type Millicores,
  type Millis,
  modes,
} from '../../config/index.js';
import { FUNCTION_NAME_MAX, isFunctionName } from '../function-token.js';
import { isHostName } from '../subjects.js';

/** Every number is finite. `-0` is refused: JSON keeps it and comparisons do not. */
export const finite = z.number().refine((value) => !Object.is(value, -0), 'is -0');
export const nonNegative = finite.min(0);
export const share = finite.min(0).max(1).meta({ typeLabel: 'share' });
export const count = z
  .int()
  .min(0)
  .refine((value) => !Object.is(value, -0), 'is -0');

/** 1000 = one core; at most 65536 cores. */
export const cpu = nonNegative
  .max(65_536_000)
  .meta({ typeLabel: 'millicores' }) as unknown as z.ZodType<Millicores>;
/** Bytes, at most 2^53; a mean need not be an integer. */
export const memory = nonNegative
  .max(Number.MAX_SAFE_INTEGER)
  .meta({ typeLabel: 'bytes' }) as unknown as z.ZodType<Bytes>;
export const time = nonNegative.meta({ typeLabel: 'ms' }) as unknown as z.ZodType<Millis>;
/** Wall clock, us since the epoch: for people, never for decisions. */
export const wallClock = nonNegative.meta({ typeLabel: 'time' }) as unknown as z.ZodType<Micros>;

export const version = z.literal(1);
export const functionField = z
  .string()
  .max(FUNCTION_NAME_MAX)
  .refine(isFunctionName, 'is not the name of an action')
  .meta({ typeLabel: 'function' });
export const hostField = z
  .string()
  .max(64)
  .refine(isHostName, 'is not the name of a host')
  .meta({ typeLabel: 'host' });
/** Random at each start of a process: sequences are comparable within one boot only. */
export const bootField = z
  .string()
  .regex(/^[A-Za-z0-9_-]{4,64}$/)
  .meta({ typeLabel: 'boot' });
/** Rises by one with each message of its sender; starts anywhere. */
export const sequenceField = count.meta({ typeLabel: 'sequence' });
export const word = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/)
  .meta({ typeLabel: 'word' });
export const TEXT_MAX = 512;
export const text = z.string().max(TEXT_MAX);

export const modeField = z.enum(modes).meta({ typeLabel: 'mode' });

export const amounts = z.object({ cpu, memory });

/** Sums over many functions or hosts, without the limits of one host. */
export const totalAmounts = z.object({
  cpu: nonNegative
    .max(Number.MAX_SAFE_INTEGER)
    .meta({ typeLabel: 'millicores' }) as unknown as z.ZodType<Millicores>,
  memory: nonNegative
    .max(Number.MAX_SAFE_INTEGER)
    .meta({ typeLabel: 'bytes' }) as unknown as z.ZodType<Bytes>,
});

const spread = <T>(of: z.ZodType<T>) => z.object({ min: of, mean: of, max: of });
export const spreads = z.object({ cpu: spread(cpu), memory: spread(memory) });

/** The sender, and the place in its own order. */
export const sender = { host: hostField, boot: bootField, sequence: sequenceField };
