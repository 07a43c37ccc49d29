import { z } from 'zod';
import {
  bootField,
  count,
  finite,
  functionField,
  hostField,
  modeField,
  nonNegative,
  text,
} from '../messages/index.js';
import type { EndpointContract } from './contract.js';

const author = z.string().max(128).default('service').describe('Requester, for the audit log.');
const reason = text.default('').describe("Author's reason, for the audit log.");
// Requests that change something refuse unknown fields: a misspelled one must not be ignored.
const onFunction = z.strictObject({ function: functionField, author, reason });
// Views are not used in calculations, so they have plain numbers without a unit's brand.
const cpu = finite.min(0).meta({ typeLabel: 'millicores' });
const memory = finite.min(0).meta({ typeLabel: 'bytes' });
const time = finite.min(0).meta({ typeLabel: 'ms' });
const seconds = finite.meta({ typeLabel: 'seconds' });
const shares = finite.min(0).meta({ typeLabel: 'cgroup v1 shares' });

/** Sums for the comparison with the control arm; they can be added over functions and hosts. */
const comparison = z
  .object({
    weight: nonNegative.describe('Σ w, w = n1 n2 / (n1 + n2) per function and host.'),
    difference: finite.describe('Σ w × (mean ln(managed run time) − mean ln(control run time)).'),
    variance: nonNegative.describe('Σ w² s² / n over both arms.'),
    varianceSquares: nonNegative.describe(
      "The sum of each term's square over n − 1: degrees of freedom.",
    ),
    activations: nonNegative.describe('Managed activations that still count (half-life).'),
    controlSamples: nonNegative.describe('Activations of the control arm that still count.'),
  })
  .meta({ typeLabel: 'comparison sums' });

/** One interface that the tap should listen on. */
const tapViewSchema = z.object({
  interface: z.string().describe("A bridge's interface on the host, or a pod; `*`: all."),
  state: z
    .enum(['starting', 'listening', 'lost'])
    .describe('Unless it is `listening`, user limits apply to every container on it.'),
  cause: z.string().describe('Cause of state `lost`.'),
  since: time
    .nullable()
    .describe(
      "Time from which user limits apply, ms since 1970 by the host's clock; null if `listening`.",
    ),
});
export type TapView = Readonly<z.output<typeof tapViewSchema>>;

/** State of the tap on one interface, for health checks, `gleaner status` and the dashboard. */
export function tapText({ interface: name, state, cause, since }: TapView): string {
  const on = name === '*' ? '' : ` on ${name}`;
  if (state === 'listening') return `tap listens${on}`;
  const limits = `user limits in force since ${new Date(since ?? 0).toISOString()}`;
  return state === 'lost'
    ? `tap lost${on}: ${cause}; ${limits}`
    : `tap does not listen yet${on}; ${limits}`;
}

const auditViewSchema = z.object({
  cause: z.string().nullable().describe('Why it cannot be written now; null: it is written.'),
  waiting: count.describe('Lines that wait for a full or failing disk.'),
  dropped: count.describe("Lines lost since the hook's start."),
});
export type AuditView = Readonly<z.output<typeof auditViewSchema>>;

/** State of the audit log, for health checks and `gleaner status`. */
export function auditText({ cause, waiting, dropped }: AuditView): string {
  if (cause === null) return 'audit log is written';
  return `audit log cannot be written: ${cause}; ${waiting} lines wait, ${dropped} are lost`;
}

/** For health checks, `gleaner status` and the dashboard; empty: all stored modes can be read. */
export function modesText({ unreadableModes = 0 }: { readonly unreadableModes?: number }): string {
  if (unreadableModes === 0) return '';
  const what = unreadableModes === 1 ? '1 stored mode' : `${unreadableModes} stored modes`;
  return `${what} cannot be read (\`gleaner mode\` names them): user limits apply there`;
}

/** Who set the kill switch, and why, by source, for `gleaner status` and `gleaner mode`. */
export const killReasonLines = ({ killReasons = [] }: Pick<HostView, 'killReasons'>): string[] =>
  killReasons.map(({ source, author: by, reason }) =>
    [`kill switch (${source})`, by && `set by ${by}`, reason].filter(Boolean).join(': '),
  );

export const hostViewSchema = z.object({
  host: hostField,
  boot: bootField,
  version: z.string(),
  platform: z.string().describe('`host`, or `simulated`.'),
  mode: modeField,
  killed: z.boolean().describe('The kill switch holds: every user limit stands.'),
  killedBy: z
    .array(z.string())
    .describe('Of `file`, `signal`, `service`, `kv`, `kv_unreadable` those that hold it.'),
  killReasons: z
    .array(z.object({ source: z.string(), author: z.string(), reason: z.string() }))
    .optional()
    .describe('Who set it, and why, as far as that is known; without author: the note of a file.'),
  unreadableModes: count
    .optional()
    .describe('Values of the bucket `gleaner_mode` that cannot be read: user limits apply there.'),
  isEngineReachable: z.boolean(),
  // Older hooks have neither `tap` nor `audit` nor the optional fields in their answers.
  tap: z.array(tapViewSchema).default([]).describe('Where the tap listens, and where it does not.'),
  audit: auditViewSchema
    .default({ cause: null, waiting: 0, dropped: 0 })
    .describe('State of the audit log.'),
  configRejected: z
    .string()
    .nullish()
    .describe('Why the newest configuration was refused at a reload; null: it was not.'),
  cpu,
  memory,
  poolCpu: cpu.describe('Free to lend now.'),
  poolMemory: memory.describe('Free to lend now.'),
  activations: count.describe("Ended since the hook's start."),
  harvestedCpuSeconds: seconds
    .optional()
    .describe("CPU kept free below user limits since the hook's start, of all functions."),
  acceleratedCpuSeconds: seconds.optional().describe('CPU used above user limits, likewise.'),
  savedSeconds: seconds.optional().describe('Estimated reduction of response times, likewise.'),
  running: count,
  containers: count,
  slowerThanControl: z
    .boolean()
    .describe('Alarm: all functions together are slower than their control arm.'),
  comparison: comparison
    .optional()
    .describe('All functions of this host against their control arms, at most 5 s old.'),
  upSeconds: nonNegative
    .optional()
    .describe("Since the hook's start, real seconds also on a simulated host."),
});
export type HostView = Readonly<z.output<typeof hostViewSchema>>;

/** One function on one host; sums since the hook's start. */
export const functionViewSchema = z.object({
  name: functionField,
  mode: modeField,
  paused: z.boolean(),
  activations: count,
  running: count,
  containers: count,
  cpuMode: z.enum(['quota', 'weight']),
  userCpu: cpu,
  userMemory: memory,
  userShares: shares,
  cpu: cpu.describe(
    'Mean limit in force in its containers; the newest grant if none runs; the user limit if ' +
      'nothing is enforced. 0 = no limit.',
  ),
  memory,
  shares,
  harvestedCpuSeconds: seconds.describe("CPU kept free below the user's limit."),
  harvestedMebibyteSeconds: finite.describe(
    "Memory kept free below the user's limits while activations ran (policy `faasrm`), MiB x s.",
  ),
  acceleratedCpuSeconds: seconds.describe("CPU used above the user's limit."),
  savedSeconds: seconds.describe('Estimated reduction of response times.'),
  borrowedMemory: memory.describe('Memory above its user limits now.'),
  p99: time
    .nullable()
    .describe("Of warm activations since the hook's start, without control arm and `/init`."),
  slo: time.nullable().describe('SLO of a warm activation; null while it is unknown.'),
  objective: z
    .enum(['learning', 'kept', 'missed'])
    .optional()
    .describe('Whether the p99 is within the SLO; `learning` until there are enough samples.'),
  learning: z
    .object({
      activations: count,
      activationsNeeded: count,
      controlSamples: count,
      controlSamplesNeeded: count,
    })
    .optional()
    .describe(
      'Warm activations and control samples so far, and the numbers that p99 and SLO need.',
    ),
  coldStarts: count.optional().describe("First activations of containers since the hook's start."),
  initTime: time.nullable().optional().describe('Mean `/init` of the cold starts.'),
  slowdown: finite
    .nullable()
    .describe(
      "Geometric mean of the run times over the control arm's; null below 20 control samples. " +
        'Its interval follows from `comparison`.',
    ),
  comparison: comparison.optional().describe('This function on this host against its control arm.'),
  slowdownBound: z
    .object({
      bound: finite.describe('`decision.weight.slowdownBound`'),
      meanTimeRatio: finite
        .nullable()
        .describe(
          'Mean run time since the bound or its recovery last changed the weights of the ' +
            "function, over the control arm's mean (arithmetic); null with too few activations.",
        ),
      deprioritized: z.boolean(),
      activations: count.describe('Since that change.'),
      activationsNeeded: count,
      controlSamples: count,
      controlSamplesNeeded: count,
    })
    .optional()
    .describe('The ratio that the slowdown bound acts on while the function is deprioritized.'),
  slowerThanControl: z
    .boolean()
    .describe('Alarm: significantly slower than its own control arm, by more than 5 %.'),
  safeguard: z.string().describe('Reason of the newest range, or `tripped`.'),
  target: z
    .object({
      author: z.string(),
      fresh: z.boolean(),
      cpu: cpu.nullable(),
      memory: memory.nullable(),
    })
    .nullable()
    .describe('Newest target of its agent.'),
  ooms: z
    .object({ harvest: count, user: count })
    .describe('OOM kills below, and at or above, the user limit.'),
  concurrent: z.boolean().describe('Runs several activations in one container.'),
  payload: z
    .object({ used: z.boolean(), error: nonNegative, ownError: nonNegative })
    .optional()
    .describe(
      'Estimate of the CPU time from the body size: its mean absolute error of logarithms, and ' +
        "that of the function's mean or median; absent while unknown.",
    ),
});
export type FunctionView = Readonly<z.output<typeof functionViewSchema>>;

export const containerViewSchema = z.object({
  id: z.string(),
  name: z.string(),
  address: z.string().nullable(),
  function: functionField.nullable(),
  version: z.string().nullable(),
  phase: z.string(),
  running: count,
  activations: count,
  user: z.unknown().describe('User limits, as the container engine reports them.'),
  limits: z.unknown().describe('Limits in force, as read back.'),
  loan: memory,
});

const amount = finite.nullable().meta({ typeLabel: 'millicores or bytes' });
const explainedGrant = z
  .object({
    user: amount,
    demand: amount,
    lower: amount,
    upper: amount,
    granted: amount,
    borrowed: amount,
    rangeReason: z.string().describe('Reason of the range.'),
    choice: z.string().describe('Reason of the grant within the range.'),
    peak: amount.describe('Highest use; -1 without a valid window.'),
  })
  .meta({ typeLabel: 'grant' });

/** One past activation: its grant with the reason, and the outcome. */
export const explanationSchema = z.object({
  activation: z.string(),
  version: z.string(),
  container: z.string(),
  startedAt: finite.meta({ typeLabel: 'time' }),
  durationMillis: time,
  initMillis: time,
  cold: z.boolean(),
  control: z.boolean().describe('Part of the control arm, at user limits.'),
  enforced: z.boolean(),
  ended: z.string().describe('Cause of its end; only `answer` is used for learning.'),
  status: finite,
  clean: z.boolean(),
  limitsChanged: z
    .boolean()
    .optional()
    .describe("The user changed the container's limits while it ran; absent: older hook."),
  cpuMode: z.enum(['quota', 'weight']),
  shares: finite.nullable(),
  userShares: finite.nullable(),
  cpu: explainedGrant,
  memory: explainedGrant,
  loan: finite.describe("Memory above the user's limit, lent for the container's life, bytes."),
  trippedCpu: z.boolean(),
  trippedMemory: z.boolean(),
  targetCpu: finite.nullable().describe("The agent's target, millicores; null: none."),
  targetMemory: finite.nullable().describe("The agent's target, bytes; null: none."),
  harvested: finite.describe('CPU-ms kept free.'),
  accelerated: finite.describe("CPU-ms used above the user's limit."),
  saved: finite.describe('ms saved, an estimate.'),
});
export type ExplanationView = Readonly<z.output<typeof explanationSchema>>;

const failedInits = z
  .object({
    count,
    at: finite.meta({ typeLabel: 'time of the newest' }),
    status: finite.describe('Status of the newest answer; 0 without one.'),
    container: z.string().describe('Name of the newest container.'),
  })
  .meta({ typeLabel: 'failed inits' });
export type FailedInitsView = Readonly<z.output<typeof failedInits>>;

export const PAGE_FUNCTIONS = 800;
export const PAGE_CONTAINERS = 500;
/** Containers that a restore's answer names at most. */
export const NAMED_CONTAINERS = 50;

/** Everything about one hook, in pages: an answer must fit into one message of 1 MiB. */
const inspection = z.object({
  host: hostViewSchema,
  total: count.describe('Functions known here; `functions` may be a page of them.'),
  functions: z.array(functionViewSchema),
  containers: z.array(containerViewSchema),
  unmanaged: z.array(z.unknown()).describe('Containers that are not managed, with the reason.'),
  counters: z.unknown().describe('Of the tap, the limit writer and the activations; lags in us.'),
  events: z.record(z.string(), count).describe("By kind, since the hook's start."),
  targets: z.unknown().describe('Accepted, elsewhere, refused by kind.'),
  policies: z.array(z.unknown()),
  messages: z.object({ published: count, dropped: count }),
  audit: z.object({ written: count, dropped: count }),
});
export type Inspection = Readonly<z.output<typeof inspection>>;

/** Activations of a function that a hook keeps for `explain`. */
export const EXPLAINED_ACTIVATIONS = 10;

/** The service `gleaner-hook`, one instance per invoker host. */
export const hookService = {
  list: {
    description: 'the host, and the names of its functions',
    request: z.object({}),
    answer: z.object({ host: hostViewSchema, functions: z.array(functionField) }),
  },
  inspect: {
    description:
      'host, functions, containers, counters; the most active functions, or a page by name',
    request: z.object({
      function: functionField.optional().describe('Only this one and its containers.'),
      offset: count.optional().describe('Page: functions by name, from this one on.'),
      limit: count.max(PAGE_FUNCTIONS).default(PAGE_FUNCTIONS).describe('Most functions.'),
      containers: count.max(PAGE_CONTAINERS).default(PAGE_CONTAINERS).describe('Most containers.'),
    }),
    answer: inspection,
  },
  explain: {
    description:
      `a function's last ${EXPLAINED_ACTIVATIONS} activations: ` +
      'peaks, demand, range with its reason, grant, outcome',
    request: z.object({ function: functionField }),
    answer: z.object({
      function: functionField,
      activations: z.array(explanationSchema).describe('Newest first.'),
      failedInits: failedInits
        .nullable()
        .optional()
        .describe(
          'Failed `/init`s of this name without a readable activation; null or absent: none.',
        ),
    }),
  },
  pause: {
    changes: true,
    description: 'applies user limits to this function on this host until `resume` or a restart',
    request: onFunction,
    answer: z.object({ function: functionField, paused: z.boolean() }),
  },
  resume: {
    changes: true,
    description: 'manages the function again, by its mode',
    request: onFunction,
    answer: z.object({ function: functionField, paused: z.boolean() }),
  },
  mode: {
    changes: true,
    description: 'sets the mode on this host, or returns it',
    request: z.strictObject({
      function: functionField.optional().describe('Absent: all functions.'),
      mode: modeField.nullable().optional().describe('Absent: no change; null: as configured.'),
      author,
      reason,
    }),
    answer: z.object({
      host: hostField,
      mode: modeField.describe('In force, whatever was asked for.'),
      killed: z.boolean(),
      restrictedBy: z
        .string()
        .nullish()
        .describe("Why a function's mode is another one: `functions.exclude` or `annotations`."),
    }),
  },
  restore: {
    changes: true,
    description: 'restores the user limits of every container',
    request: z
      .strictObject({
        hold: z
          .boolean()
          .optional()
          .describe('Also hold the kill switch: user limits stand until `release`.'),
        release: z.boolean().optional().describe('Let the kill switch go; restores nothing.'),
        author,
        reason,
      })
      .refine(({ hold, release }) => !(hold && release), 'hold and release exclude each other'),
    answer: z.object({
      restored: count.describe("Containers whose limits differed from their user's."),
      failed: count.describe('Of them those that still do.'),
      examined: count.optional().describe('Containers whose limits were compared.'),
      notRestored: z
        .array(z.string())
        .max(NAMED_CONTAINERS)
        .optional()
        .describe('Containers that may not have their user limits, by name and with the reason.'),
      killedBy: z.array(z.string()).optional().describe('What holds the kill switch afterwards.'),
    }),
  },
} satisfies Record<string, EndpointContract>;
