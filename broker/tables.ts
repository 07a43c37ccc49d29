/** Subject builders, permissions and docs/reference/nats.md are derived from these tables. */

/** One NATS user each; hooks and agent hosts may have one user per host. */
export const ROLES = ['hook', 'agents', 'aggregator', 'viewer', 'operator'] as const;
export type Role = (typeof ROLES)[number];

/** Roles that may only look at messages. */
const WATCHERS = ['viewer', 'operator'] as const;

interface Topic {
  /** First token after the prefix. */
  readonly token: string;
  /** Last token: the sender's host, a function, an event's kind and function, or none. */
  readonly key: 'host' | 'function' | 'event' | null;
  readonly from: readonly Role[];
  readonly to: readonly Role[];
  readonly description: string;
}

export const topics = {
  observations: {
    token: 'obs',
    key: 'function',
    from: ['hook'],
    to: ['agents', ...WATCHERS],
    description: 'One control step of one function on one host: activations, use, and grants.',
  },
  experiences: {
    token: 'experiences',
    key: 'host',
    from: ['hook'],
    to: ['agents', ...WATCHERS],
    description:
      'Choices of policy `faasrm` and their outcomes, while its parameters say `explore`.',
  },
  hostReports: {
    token: 'host',
    key: 'host',
    from: ['hook'],
    to: ['aggregator', ...WATCHERS],
    description: 'Capacity of one invoker host, and the demand on it.',
  },
  agentsPartials: {
    token: 'agents',
    key: 'host',
    from: ['agents'],
    to: ['aggregator', ...WATCHERS],
    description: 'Sums over the active agents of one agent host.',
  },
  agentReports: {
    token: 'agent',
    key: 'function',
    from: ['agents'],
    to: WATCHERS,
    description: "One agent's features, action and reward, for inspection.",
  },
  targets: {
    token: 'target',
    key: 'function',
    from: ['agents'],
    to: ['hook', ...WATCHERS],
    description:
      "An agent's target for its function. Hooks clip it to the safeguard's range and ignore " +
      'a stale one.',
  },
  announcements: {
    token: 'service',
    key: 'host',
    from: ['hook', 'agents', 'aggregator'],
    to: ['aggregator', ...WATCHERS],
    description:
      'An instance of a service runs: at each connection, then every ten seconds, and once when ' +
      'it stops.',
  },
  meanField: {
    token: 'meanfield',
    key: null,
    from: ['aggregator'],
    to: ['agents', ...WATCHERS],
    description: 'Totals over all agents, total capacity, and the price on each invoker host.',
  },
  events: {
    token: 'event',
    key: 'event',
    from: ['hook', 'agents', 'operator'],
    to: WATCHERS,
    description:
      'An event for operators: `event.<kind>.<fn>`, with `_` if it concerns no function.',
  },
  trajectories: {
    token: 'trajectory',
    key: 'function',
    from: ['agents'],
    to: [],
    description:
      'One step of an agent: state, action, reward. Stream `gleaner_trajectories` stores them ' +
      'for training and drops the oldest.',
  },
} as const satisfies Record<string, Topic>;
export type TopicName = keyof typeof topics;

/** Kinds of events, each a token of its subject, and who publishes them. */
export const eventKinds = {
  safeguard: ['hook'],
  harvest: ['hook'],
  loan: ['hook'],
  release: ['hook'],
  oom: ['hook'],
  drift: ['hook'],
  lifecycle: ['hook', 'agents'],
  concurrency: ['agents'],
  mode: ['hook'],
  action: ['operator'],
} as const satisfies Record<string, readonly Role[]>;
export type EventKind = keyof typeof eventKinds;
export const EVENT_KINDS = Object.keys(eventKinds) as [EventKind, ...EventKind[]];

/** `read`: get keys. `write`: also put them. `sweep`: also delete them with their history. */
export type Access = 'read' | 'write' | 'sweep';

interface Bucket {
  /** Keys, as the reference shows them. */
  readonly keys: string;
  readonly access: Readonly<Partial<Record<Role, Access>>>;
  readonly watchedBy: readonly Role[];
  readonly description: string;
}

export const bucketTable = {
  mode: {
    keys: '`global`, `function.<fn>`',
    access: { hook: 'read', operator: 'sweep' },
    watchedBy: ['hook', ...WATCHERS],
    description:
      'Kill switch, modes and pauses. Every hook applies and stores them; without a key the ' +
      'configuration applies.',
  },
  functions: {
    keys: '`<fn>`',
    access: { agents: 'sweep' },
    watchedBy: WATCHERS,
    description: 'A function that some hook has observed, and its agent host.',
  },
  leases: {
    keys: '`agents-<host>`, `shard-<n>`, `gleaner-aggregator`',
    access: { agents: 'sweep', aggregator: 'write' },
    watchedBy: ['agents'],
    description:
      'The agent hosts that are alive, the owner of each shard of functions (written when it ' +
      'changes), and the aggregator that publishes. Not for operators.',
  },
  policy: {
    keys: '`<policy>`, `<policy>.<fn>`',
    access: { hook: 'read', agents: 'write', operator: 'write' },
    watchedBy: ['hook', 'operator'],
    description: "An activation policy's parameters, for one function or for all.",
  },
  actions: {
    keys: '`<fn>`',
    access: { hook: 'read', agents: 'read', operator: 'sweep' },
    watchedBy: ['hook', 'agents', ...WATCHERS],
    description: "An action's annotations, as `gleaner actions follow` reads them.",
  },
} as const satisfies Record<string, Bucket>;
export type BucketName = keyof typeof bucketTable;
