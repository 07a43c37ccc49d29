/**
 * Messages from the dashboard's server to its page, as JSON. This file imports nothing, so that
 * both sides compile against it. CPU in millicores, memory in bytes, durations in ms, unless a
 * field says otherwise. Times are seconds since 1970, as uPlot expects them.
 */

export interface HostRow {
  readonly host: string;
  /** In force: `stopped` while its kill switch holds. */
  readonly mode: string;
  readonly platform: string;
  readonly version: string;
  readonly killedBy: readonly string[];
  readonly isEngineReachable: boolean;
  /** One sentence per interface on which the tap does not listen. */
  readonly tapLost: readonly string[];
  /** Why the audit log cannot be written, in one sentence; empty: it is written. */
  readonly auditProblem: string;
  /** That stored modes cannot be read, in one sentence; empty: all can. */
  readonly modesProblem: string;
  /** Why the newest configuration was refused, in one sentence; empty: it was not. */
  readonly configProblem: string;
  readonly alarm: boolean;
  /** Time of the last report or answer. */
  readonly seen: number;
  /** Time since `seen` after which it is silent. */
  readonly silentAfterSeconds: number;
  readonly cpu: number;
  readonly memory: number;
  readonly allocatableCpu: number;
  readonly allocatableMemory: number;
  readonly grantedCpu: number;
  readonly grantedMemory: number;
  /** Busy cores and memory in use; null: an older hook, which does not report it. */
  readonly usedCpu: number | null;
  readonly usedMemory: number | null;
  /** CPU wait / (CPU wait + CPU time) in the last minute; null: not measured. */
  readonly waitShare: number | null;
  readonly isContended: boolean;
  readonly demandCpu: number;
  readonly demandMemory: number;
  readonly poolCpu: number;
  readonly poolMemory: number;
  readonly functions: number;
  readonly containers: number;
  readonly running: number;
  readonly activations: number;
  /** Rate of the host's clock: 10 on a simulated host at tenfold speed. */
  readonly clockRate: number;
}

/** An instance of a part that answered within the last hour and no longer does. */
export interface SilentPart {
  readonly service: string;
  readonly host: string;
  /** Time of its last answer. */
  readonly seen: number;
  /** Time at which it announced its end; null: it did not. */
  readonly stopped: number | null;
  /** The fault that ended it; null: it ended in order, or is an older part. */
  readonly failure: string | null;
}

/** Response times compared with the control arm; null while control samples are missing. */
export interface ComparisonView {
  /** Below 1: faster. `low`, `high`: 95 % interval. */
  readonly ratio: number | null;
  readonly low: number | null;
  readonly high: number | null;
  readonly activations: number;
  readonly controlSamples: number;
  readonly needed: number;
}

/** One function over all hosts. */
export interface FunctionRow {
  readonly name: string;
  readonly hosts: number;
  /** In force: also `paused`, or `stopped` by a kill switch; `mixed`: hosts differ. */
  readonly mode: string;
  /** On some host. */
  readonly paused: boolean;
  readonly alarm: boolean;
  readonly manager: string;
  readonly phase: string;
  readonly cpuMode: 'quota' | 'weight';
  readonly activations: number;
  /** Recent activations per second of the host's clock; null: not known yet. */
  readonly rate: number | null;
  readonly running: number;
  readonly containers: number;
  readonly userCpu: number;
  readonly cpu: number;
  readonly userShares: number;
  readonly shares: number;
  readonly userMemory: number;
  readonly memory: number;
  readonly usedCpu: number;
  readonly usedMemory: number;
  /** Core-seconds since the hook's start. */
  readonly harvested: number;
  readonly lent: number;
  /** Seconds, an estimate. */
  readonly saved: number;
  /** With `slo`, `objective` and `learning` of one host: the one with the worst objective. */
  readonly p99: number | null;
  readonly slo: number | null;
  readonly objective: 'learning' | 'kept' | 'missed';
  readonly comparison: ComparisonView;
  /** Warm activations and control samples so far, and how many p99 and objective need. */
  readonly learning: {
    readonly activations: number;
    readonly activationsNeeded: number;
    readonly controlSamples: number;
    readonly controlSamplesNeeded: number;
  };
  readonly coldStarts: number;
  /** Mean `/init` of the cold starts, ms. */
  readonly initTime: number | null;
  /** Reason of the newest allowed range, in words. */
  readonly safeguard: string;
}

export interface EventRow {
  /** Ascending, so that the page recognizes the events that it has. */
  readonly id: number;
  readonly at: number;
  readonly kind: string;
  readonly function: string | null;
  readonly host: string;
  readonly resource: string | null;
  readonly before: number | null;
  readonly after: number | null;
  readonly reason: string;
}

export interface ServiceRow {
  readonly service: string;
  readonly host: string;
  readonly version: string;
  /** ISO. */
  readonly started: string;
  readonly requests: number;
  /** Requests on which the service itself failed. */
  readonly failures: number;
  /** Requests that were malformed, or named something unknown. */
  readonly refused: number;
  /** Mean, microseconds. */
  readonly micros: number;
  readonly lastFailure: string;
  /** As a whole: it publishes nothing until it is resumed. */
  readonly paused: boolean;
}

export interface MeanFieldRow {
  readonly at: number;
  readonly publisher: string;
  readonly epoch: number;
  readonly members: number;
  readonly demandCpu: number;
  readonly demandMemory: number;
  readonly containers: number;
  readonly capacityCpu: number;
  readonly capacityMemory: number;
  /** Mean and standard deviation over members of each feature. */
  readonly features: readonly {
    readonly name: string;
    readonly mean: number;
    readonly deviation: number;
  }[];
  readonly hosts: readonly {
    readonly host: string;
    readonly occupancyCpu: number;
    readonly occupancyMemory: number;
    readonly priceCpu: number;
    readonly priceMemory: number;
  }[];
  readonly agentHosts: number;
}

/** Which function waited for which on one host in the last minute. */
export interface ContentionView {
  readonly host: string;
  /** Covered seconds of the host's clock. */
  readonly span: number;
  /** Functions of rows and columns, longest wait first. */
  readonly names: readonly string[];
  /** `matrix[i][j]`: ms that function i waited while function j ran. */
  readonly matrix: readonly (readonly number[])[];
  /** Each in the order of `names`. */
  readonly waited: readonly number[];
  readonly ran: readonly number[];
  readonly throttled: readonly number[];
}

/** All functions of all hosts compared with their control arms. */
export interface Verdict extends ComparisonView {
  /** In one sentence, as on the command line. */
  readonly text: string;
}

export interface Totals {
  /** Recent cores, and core-seconds since the hooks' start. */
  readonly harvestedCores: number;
  readonly harvestedTotal: number;
  readonly lentCores: number;
  readonly lentTotal: number;
  readonly savedTotal: number;
  /** Share of the last five minutes' activations with an objective; null: no activation. */
  readonly sloKept: number | null;
  readonly sloActivations: number;
  readonly functionsKept: number;
  readonly functionsJudged: number;
  readonly functionsLearning: number;
  /** Safeguard trips in the last minute, and since the hooks' start. */
  readonly safeguardRate: number;
  readonly safeguardTotal: number;
  readonly activationRate: number;
  readonly verdict: Verdict;
  readonly phases: Readonly<Record<string, number>>;
  readonly managers: Readonly<Record<string, number>>;
}

/** Newest events that the server and a page keep. */
export const KEPT_EVENTS = 500;

/** Columns of the overview's plots, oldest first. */
export const OVERVIEW_COLUMNS = [
  'at',
  'capacity',
  'granted',
  'used',
  'harvested',
  'lent',
  'sloKept',
  'safeguard',
  'activations',
] as const;
export type OverviewColumn = (typeof OVERVIEW_COLUMNS)[number];
export type Columns<K extends string> = Record<K, (number | null)[]>;

export const MEAN_FIELD_COLUMNS = [
  'at',
  'occupancyCpu',
  'occupancyMemory',
  'priceCpu',
  'priceMemory',
  'members',
] as const;
export type MeanFieldColumn = (typeof MEAN_FIELD_COLUMNS)[number];

export interface NatsState {
  readonly connected: boolean;
  readonly server: string;
  /** Time of the last change of `connected`. */
  readonly since: number;
  /** The newest error; empty: none. */
  readonly problem: string;
}

/** Open pages, and totals since the start of this dashboard. */
export interface Pages {
  readonly open: number;
  /** Ticks that slow pages have missed. */
  readonly missedTicks: number;
  /** Pages closed because they read nothing any more. */
  readonly dead: number;
}

/** Sent once a second; unchanged parts are absent. */
export interface Tick {
  readonly now: number;
  readonly pages: Pages;
  readonly nats: NatsState;
  /** Where the kill switch holds, and how to release it; empty: on no host. */
  readonly killSwitch: string;
  readonly totals: Totals;
  readonly hosts: readonly HostRow[];
  readonly silentParts: readonly SilentPart[];
  readonly functions?: readonly FunctionRow[];
  readonly removed?: readonly string[];
  readonly events?: readonly EventRow[];
  readonly meanField?: MeanFieldRow;
  readonly waiting?: readonly ContentionView[];
  readonly services?: readonly ServiceRow[];
  /** The newest point of each history. */
  readonly overview?: readonly (number | null)[];
  readonly field?: readonly (number | null)[];
}

/** Sent first. */
export interface Snapshot extends Tick {
  readonly version: string;
  /** A token is configured, which allows changes. */
  readonly writable: boolean;
  readonly history: {
    readonly overview: Columns<OverviewColumn>;
    readonly field: Columns<MeanFieldColumn>;
  };
}

export const FUNCTION_COLUMNS = [
  'at',
  'usedCpu',
  'peakCpu',
  'cpuMin',
  'cpu',
  'cpuMax',
  'userCpu',
  'usedMemory',
  'peakMemory',
  'memoryMin',
  'memory',
  'memoryMax',
  'userMemory',
  'mean',
  'p99',
  'slo',
  'control',
  'cold',
  'wait',
  'throttled',
  'slowdown',
  'weight',
  'activations',
] as const;
export type FunctionColumn = (typeof FUNCTION_COLUMNS)[number];

export interface GrantView {
  readonly user: number | null;
  readonly demand: number | null;
  readonly lower: number | null;
  readonly upper: number | null;
  readonly granted: number | null;
  readonly peak: number | null;
  /** Reason of the range, and what chose within it, in words. */
  readonly why: string;
}

export interface ActivationView {
  readonly host: string;
  readonly activation: string;
  readonly at: number;
  readonly duration: number;
  readonly init: number;
  readonly cold: boolean;
  readonly control: boolean;
  readonly enforced: boolean;
  /** How it ended, in words; empty: by its answer. */
  readonly endedBy: string;
  readonly cpuMode: string;
  readonly shares: number | null;
  readonly userShares: number | null;
  readonly cpu: GrantView;
  readonly memory: GrantView;
  readonly loan: number;
  readonly tripped: boolean;
  /** The user changed the container's limits while it ran. */
  readonly limitsChanged?: boolean | undefined;
  readonly harvested: number;
  readonly accelerated: number;
  readonly saved: number;
}

export interface AgentStep {
  readonly at: number;
  readonly step: number;
  readonly phase: string;
  readonly features: readonly number[];
  readonly priceCpu: number | null;
  /** The decision; `cpu` in words. */
  readonly requested: {
    readonly cpu: string | null;
    readonly memory: number | null;
    readonly weight: number | null;
  };
  readonly sent: boolean;
}

/** Details for the page of one function. */
export interface FunctionDetail {
  readonly name: string;
  readonly history: Columns<FunctionColumn>;
  /** Rewards by step; empty for a manager without rewards. */
  readonly learning: { readonly step: readonly number[]; readonly reward: readonly number[] };
  readonly featureNames: readonly string[];
  readonly activations: readonly ActivationView[];
  readonly steps: readonly AgentStep[];
  /** Errors of hooks and agent hosts that could not answer. */
  readonly problems: readonly string[];
}

type ActionName = 'pause' | 'resume' | 'mode' | 'restore' | 'retrain';

export interface ActionRequest {
  readonly action: ActionName;
  readonly function?: string;
  /** `default`: as configured. */
  readonly mode?: string;
}

export interface ActionResponse {
  readonly ok: boolean;
  readonly text: string;
}
