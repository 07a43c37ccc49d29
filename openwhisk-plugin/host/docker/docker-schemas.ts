import { z } from 'zod';

/** The parts of the Engine API's answers that Gleaner reads; all other fields are ignored. */
export const versionSchema = z.object({
  ApiVersion: z.string().optional(),
  MinAPIVersion: z.string().optional(),
  Components: z.array(z.object({ Name: z.string(), Version: z.string().default('') })).nullish(),
});

export const infoSchema = z.object({
  NCPU: z.number().int().positive(),
  MemTotal: z.number().positive(),
  ServerVersion: z.string(),
  CgroupDriver: z.string().default('cgroupfs'),
  /** Absent before Docker 20.10, which knew v1 only. */
  CgroupVersion: z.string().default('1'),
  DefaultRuntime: z.string().default('runc'),
});

/** A list whose entries are read one by one, so that one that cannot be read hides no other. */
export const anyList = z.array(z.unknown());

/** The entries that can be read, and how many cannot. */
export function readable<T>(
  entries: readonly unknown[],
  schema: z.ZodType<T>,
): { items: T[]; unreadable: number } {
  const items: T[] = [];
  for (const entry of entries) {
    const read = schema.safeParse(entry);
    if (read.success) items.push(read.data);
  }
  return { items, unreadable: entries.length - items.length };
}

export const listedSchema = z.object({
  Id: z.string().min(12),
  Names: z.array(z.string()).nullish().catch(null),
  State: z.string().catch('running'),
});

const endpoint = z.object({ NetworkID: z.string().default(''), IPAddress: z.string().default('') });

/** Values below `leastUnset` are refused; up to 0 they mean: not set, or no limit. */
const limitFrom = (least: number, leastUnset = Number.NEGATIVE_INFINITY) =>
  z
    .number()
    .int()
    .refine((value) => value >= least || (value <= 0 && value >= leastUnset), {
      error: `must be at least ${least}, or not set`,
    });

export const inspectSchema = z.object({
  Id: z.string().min(12),
  Name: z.string(),
  State: z.object({
    Running: z.boolean(),
    Paused: z.boolean().default(false),
    Pid: z.number().int(),
    StartedAt: z.string(),
  }),
  // Every engine since API 1.25 sends all of these, in ranges that Docker and the kernel accept
  // [Docker daemon/daemon_unix.go]. A default would remove the user's limit in the kernel.
  HostConfig: z.object({
    CpuShares: z.number().int().min(0).max(262_144),
    NanoCpus: z.number().int().min(0),
    CpuQuota: limitFrom(1000),
    CpuPeriod: z.literal(0).or(z.number().int().min(1000).max(1_000_000)),
    Memory: limitFrom(4 * 1024 * 1024, -1),
    MemorySwap: z.number().int(),
  }),
  NetworkSettings: z
    .object({ Networks: z.record(z.string(), endpoint.nullable()).nullish() })
    .nullish(),
});

export type Inspect = z.infer<typeof inspectSchema>;

export const networkSchema = z.object({
  Id: z.string(),
  Name: z.string(),
  Driver: z.string(),
  IPAM: z
    .object({
      Config: z
        .array(z.object({ Subnet: z.string().default(''), Gateway: z.string().optional() }))
        .nullish(),
    })
    .nullish(),
  Options: z.record(z.string(), z.string()).nullish(),
});

export type Networks = readonly z.infer<typeof networkSchema>[];

export const eventSchema = z.object({
  Type: z.string(),
  Action: z.string(),
  Actor: z.object({ ID: z.string(), Attributes: z.record(z.string(), z.string()).nullish() }),
  timeNano: z.number().optional(),
  time: z.number().optional(),
});

export type EngineEvent = z.infer<typeof eventSchema>;
