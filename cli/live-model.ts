import type { FunctionView, HostView } from '../openwhisk-plugin/index.js';

/** What one line of the live view needs of the hook's own view of a function. */
export type FunctionLine = Omit<
  FunctionView,
  'paused' | 'slowdown' | 'worseThanNothing' | 'target' | 'ooms' | 'concurrent'
>;

export type HostLine = Pick<
  HostView,
  'host' | 'mode' | 'killed' | 'cpu' | 'memory' | 'poolCpu' | 'poolMemory' | 'activations' | 'running'
>;

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
