import type { FunctionView, HostView } from '../broker/services/index.js';

/** What one line of the live view needs of the hook's own view of a function. */
export type FunctionLine = Omit<
  FunctionView,
  'paused' | 'slowerThanControl' | 'target' | 'ooms' | 'concurrent'
>;

export type HostLine = Pick<
  HostView,
  | 'host'
  | 'mode'
  | 'killed'
  | 'cpu'
  | 'memory'
  | 'poolCpu'
  | 'poolMemory'
  | 'activations'
  | 'running'
  | 'comparison'
  | 'upSeconds'
>;

export interface LiveModel {
  readonly hosts: readonly HostLine[];
  readonly functions: readonly FunctionLine[];
  readonly manager: string;
  readonly platform: string;
  readonly nats: 'connected' | 'away';
  /** Of `gleaner up`; null: looked at from elsewhere. */
  readonly upSeconds: number | null;
  readonly restarts: number;
  /** Address of the dashboard; null: none. */
  readonly dashboard: string | null;
  /** Newest last. */
  readonly notes: readonly string[];
}
