/** One line of the live view; millicores, bytes, ms, all cumulative figures since the hook started. */
export interface FunctionLine {
  readonly name: string;
  readonly mode: string;
  readonly activations: number;
  readonly running: number;
  readonly containers: number;
  readonly cpuMode: 'quota' | 'weight';
  readonly userCpu: number;
  readonly userMemory: number;
  readonly userShares: number;
  /** In force now; 0 = no limit. */
  readonly cpu: number;
  readonly memory: number;
  readonly shares: number;
  /** Core-seconds below the user's limit that were kept free, and above it that were used. */
  readonly harvestedCpuSeconds: number;
  readonly acceleratedCpuSeconds: number;
  /** Seconds saved, an estimate of the hook's. */
  readonly savedSeconds: number;
  /** Memory lent to it now. */
  readonly borrowedMemory: number;
  readonly p99: number | null;
  readonly slo: number | null;
  /** Why the last range was what it was, or what tripped. */
  readonly safeguard: string;
}

export interface HostLine {
  readonly host: string;
  readonly mode: string;
  readonly killed: boolean;
  readonly cpu: number;
  readonly memory: number;
  /** Lendable now. */
  readonly poolCpu: number;
  readonly poolMemory: number;
  readonly activations: number;
  readonly running: number;
}

export interface LiveModel {
  readonly hosts: readonly HostLine[];
  readonly functions: readonly FunctionLine[];
  readonly manager: string;
  readonly platform: string;
  readonly nats: 'connected' | 'away';
  readonly upSeconds: number;
  readonly restarts: number;
  /** Newest last. */
  readonly notes: readonly string[];
}
