import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { errorClass, messageOf, readYaml } from '../../config/index.js';
import { distributionSchema } from './distribution.js';

/** The workload format's version: a file of another one is refused, never guessed at. */
const WORKLOAD_VERSION = 1;

/** Real demand of the function's activations; no manager sees it. */
const profileSchema = z.strictObject({
  /**
   * Cores it can keep busy. A fraction stands for a thread that waits often and shortly, so that
   * even short windows see it.
   */
  parallelism: z.number().positive().max(1024),
  /** CPU time of one activation, core-milliseconds. */
  cpuMs: distributionSchema,
  /** Time it waits for others without using a core, ms: after half of its CPU work. */
  ioMs: distributionSchema.default(0),
  memory: z.strictObject({
    /** Working set of the idle runtime with the function loaded. */
    baseMiB: z.number().positive(),
    /** Highest working set of an activation; below the base counts as the base. */
    peakMiB: distributionSchema,
    /** Share of the CPU work after which the peak is reached; the way there is linear. */
    growth: z.number().min(0).max(1).default(0.5),
    /** Share of what an activation took above the base that stays in the warm container. */
    retained: z.number().min(0).max(1).default(0),
  }),
  /**
   * An activation's payload has a size s, lognormal: CPU work x s^cpu, waits x s^io, memory above
   * the base x s^memory. The other numbers of the profile are for s = 1.
   */
  payload: z
    .strictObject({
      median: z.number().positive().default(1),
      sigma: z.number().min(0).max(4),
      cpu: z.number().min(0).max(4),
      io: z.number().min(0).max(4).default(0),
      memory: z.number().min(0).max(4),
    })
    .default({ median: 1, sigma: 0, cpu: 1, io: 0, memory: 0 }),
  /** CPU time of starting the runtime and answering `/init`, core-ms. */
  initMs: z.number().nonnegative().default(60),
  /** From the order to make a container to its start event, ms. */
  coldStartMs: z.number().nonnegative().default(450),
});

const within = z.enum(['uniform', 'poisson', 'bursty', 'even']).default('uniform');

/** Activations of a function in a minute of a recording; the published traces stay below it. */
export const MOST_PER_MINUTE = 1_000_000;
/** The same as a rate, rounded up. */
const MOST_PER_SECOND = 20_000;
/** A recording is no longer than a year. */
export const LONGEST_SECONDS = 366 * 86_400;

const upTo = (most: number): [number, string] => [most, `must be at most ${most}`];

const arrivalsSchema = z.union([
  z.strictObject({
    /** Arrivals in each minute (or slice of `sliceMs`). */
    perMinute: z
      .array(
        z
          .number()
          .int()
          .min(0)
          .max(...upTo(MOST_PER_MINUTE)),
      )
      .min(1),
    sliceMs: z
      .number()
      .min(1000)
      .max(...upTo(1000 * LONGEST_SECONDS))
      .default(60_000),
    /**
     * `uniform`: exactly that many, anywhere; `poisson`: the count is drawn with that mean;
     * `bursty`: exactly that many, in bursts; `even`: equal gaps.
     */
    within,
  }),
  z.strictObject({
    ratePerSecond: z
      .number()
      .positive()
      .max(...upTo(MOST_PER_SECOND)),
    seconds: z
      .number()
      .positive()
      .max(...upTo(LONGEST_SECONDS)),
    within: z.enum(['poisson', 'even']).default('poisson'),
  }),
  z.strictObject({
    atMs: z
      .array(
        z
          .number()
          .nonnegative()
          .max(...upTo(1000 * LONGEST_SECONDS)),
      )
      .min(1),
    /** Length of the recording; absent: it ends with the last activation. */
    spanMs: z
      .number()
      .positive()
      .max(...upTo(1000 * LONGEST_SECONDS))
      .optional(),
  }),
]);

const functionSchema = z.strictObject({
  /** Fully qualified: `/namespace/action` or `/namespace/package/action`. */
  name: z
    .string()
    .regex(/^\/[^/]+(\/[^/]+){1,2}$/, 'must be /namespace/action or /namespace/package/action'),
  version: z.string().min(1).default('0.0.1'),
  /** What the function is and does, for people and for choosing an image. */
  kind: z.string().default('compute'),
  /** The container's quota (quota mode); null: none, as stock OpenWhisk makes it (weight mode). */
  userCpuMillicores: z.number().positive().nullable().default(null),
  memoryMiB: z.number().int().min(1),
  timeoutMs: z.number().int().min(100).default(60_000),
  /**
   * Max containers of it, the action's `limits.instances`; absent: as many as fit. Used by the
   * simulator.
   */
  maxContainers: z.number().int().min(1).optional(),
  /** Its user's objective for init + run; absent: derived. Used by the simulator. */
  sloMs: z.number().positive().optional(),
  profile: profileSchema,
  arrivals: arrivalsSchema,
});

/**
 * Compression of recorded time, part of the workload so that figures can state it; applied when the
 * activations are drawn.
 */
const compressionSchema = z.strictObject({
  /** Gaps between activations are divided by it; below 1 stretches them. */
  time: z.number().positive().default(1),
  /**
   * Durations above `aboveMs` (alone, at user limits) are divided by it, CPU work and waits alike
   * ...
   */
  duration: z.number().min(1).default(1),
  aboveMs: z.number().nonnegative().default(1000),
  /** ... but never below this. */
  floorMs: z.number().nonnegative().default(300),
});

const workloadSchema = z
  .strictObject({
    version: z.literal(WORKLOAD_VERSION),
    name: z.string().min(1),
    description: z.string().default(''),
    /** Source and license of what it was made from. */
    source: z.string().default(''),
    seed: z.number().int().min(0).max(0xffffffff).default(1),
    /**
     * `stratified`: the activations of each function cover its distributions evenly, whatever the
     * seed; else drawn independently.
     */
    draws: z.enum(['independent', 'stratified']).default('independent'),
    host: z
      .strictObject({
        /** Number of equal hosts. Only `gleaner simulate` and `compare` use more than one. */
        count: z.number().int().min(1).max(10_000).default(1),
        cores: z.number().positive().max(4096).default(4),
        memoryMiB: z.number().int().positive().default(8192),
        /**
         * OpenWhisk's `container-pool.user-memory`: the limit of admission and the base of CPU
         * shares.
         */
        userMemoryMiB: z.number().int().positive().default(4096),
      })
      .prefault({}),
    compression: compressionSchema.prefault({}),
    functions: z.array(functionSchema).min(1).max(65_535),
  })
  .check((context) => {
    const seen = new Set<string>();
    context.value.functions.forEach((fn, index) => {
      const path = ['functions', index];
      const fail = (field: string, message: string) =>
        context.issues.push({ code: 'custom', input: fn, path: [...path, field], message });
      if (seen.has(fn.name)) fail('name', `${fn.name} is there twice`);
      seen.add(fn.name);
      if (fn.memoryMiB > context.value.host.userMemoryMiB) {
        fail(
          'memoryMiB',
          `${fn.memoryMiB} MiB never fit into the host's user memory of ` +
            `${context.value.host.userMemoryMiB} MiB`,
        );
      }
    });
    if (context.value.host.userMemoryMiB > context.value.host.memoryMiB) {
      context.issues.push({
        code: 'custom',
        input: context.value.host,
        path: ['host', 'userMemoryMiB'],
        message: 'is more than the memory of the host',
      });
    }
  });

export type Arrivals = z.infer<typeof arrivalsSchema>;
export type WorkloadFunction = z.infer<typeof functionSchema>;
export type Compression = z.infer<typeof compressionSchema>;
export type Workload = z.infer<typeof workloadSchema>;
/** A workload as one writes it: what has a default may be left out. */
export type WorkloadInput = z.input<typeof workloadSchema>;

/**
 * Problems that an error's message lists, and characters of each: it may name a key of any length.
 */
const MAX_PROBLEMS = 20;
const MAX_PROBLEM_LENGTH = 200;

/**
 * A workload file that does not say what it must; `problems` has one line each, with line and path
 * where known.
 */
export class WorkloadError extends errorClass('GLN_WORKLOAD_INVALID') {
  readonly problems: readonly string[];

  constructor(path: string, problems: readonly string[]) {
    const more =
      problems.length > MAX_PROBLEMS ? `; and ${problems.length - MAX_PROBLEMS} more` : '';
    const shown = problems.slice(0, MAX_PROBLEMS).map(shortened).join('; ');
    super(path, `${shown}${more}`);
    this.problems = problems;
  }
}

const shortened = (text: string): string =>
  text.length > MAX_PROBLEM_LENGTH ? `${text.slice(0, MAX_PROBLEM_LENGTH)}…` : text;

/**
 * Reads a workload from YAML or JSON (which is YAML).
 * @param where names the source in errors
 * @throws WorkloadError with every problem at once
 */
export function parseWorkload(text: string, where = 'workload'): Workload {
  const { content, problems, lineOf } = readYaml(text);
  if (problems.length > 0)
    throw new WorkloadError(
      where,
      problems.map(
        ({ message, line }) => `${line === undefined ? '' : `line ${line}: `}${message}`,
      ),
    );
  return checkWorkload(content, where, lineOf);
}

/** Reads and validates a workload file. @throws WorkloadError */
export function loadWorkload(path: string | URL): Workload {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new WorkloadError(String(path), [messageOf(error)]);
  }
  return parseWorkload(text, String(path));
}

/** Validates a workload made in memory and fills in the defaults. @throws WorkloadError */
export function checkWorkload(
  value: unknown,
  where = 'workload',
  lineOf: (path: PropertyKey[]) => number | undefined = () => undefined,
): Workload {
  const result = workloadSchema.safeParse(value);
  if (result.success) return result.data;
  throw new WorkloadError(
    where,
    result.error.issues.map((issue) => {
      const line = lineOf(issue.path);
      const path = issue.path.map(String).join('.');
      const where = line === undefined ? '' : `line ${line}: `;
      return `${where}${path ? `${path}: ` : ''}${issue.message}`;
    }),
  );
}

/** Duration of recorded time the arrivals span, ms, before compression. */
export function arrivalSpanMs(arrivals: Arrivals): number {
  if ('perMinute' in arrivals) return arrivals.perMinute.length * arrivals.sliceMs;
  if ('ratePerSecond' in arrivals) return arrivals.seconds * 1000;
  return arrivals.spanMs ?? arrivals.atMs.reduce((latest, at) => Math.max(latest, at), 0) + 1;
}

/**
 * A part of a workload: minutes `from` to `from + count` of every function, those without an
 * activation there included.
 */
export function takeMinutes(workload: Workload, from: number, count: number): Workload {
  const functions = workload.functions.map((fn) => ({
    ...fn,
    arrivals: arrivalsWithin(fn.arrivals, from, count),
  }));
  return checkWorkload(
    { ...workload, name: `${workload.name}[${from}..${from + count})`, functions },
    workload.name,
  );
}

function arrivalsWithin(arrivals: Arrivals, from: number, count: number): Arrivals {
  const silence = {
    perMinute: new Array<number>(count).fill(0),
    sliceMs: 60_000,
    within: 'uniform' as const,
  };
  if ('perMinute' in arrivals)
    return { ...arrivals, perMinute: arrivals.perMinute.slice(from, from + count) };
  if ('ratePerSecond' in arrivals) {
    const seconds = Math.min(arrivals.seconds - from * 60, count * 60);
    return seconds > 0 ? { ...arrivals, seconds } : silence;
  }
  const start = from * 60_000;
  const spanMs = count * 60_000;
  const atMs = arrivals.atMs
    .filter((at) => at >= start && at < start + spanMs)
    .map((at) => at - start);
  return atMs.length > 0 ? { atMs, spanMs } : silence;
}
