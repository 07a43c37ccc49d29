import type { FunctionView, HostView } from '../broker/index.js';

/** What one line of the live view needs of the hook's own view of a function. */
export type FunctionLine = Omit<
  FunctionView,
  'mode' | 'paused' | 'slowdown' | 'worseThanNothing' | 'target' | 'ooms' | 'concurrent'
> & { readonly mode: string };

export type HostLine = Pick<
  HostView,
  'host' | 'killed' | 'cpu' | 'memory' | 'poolCpu' | 'poolMemory' | 'activations' | 'running'
> & { readonly mode: string };

export interface LiveModel {
  readonly hosts: readonly HostLine[];
  readonly functions: readonly FunctionLine[];
  readonly manager: string;
  readonly platform: string;
  readonly nats: 'connected' | 'away';
  readonly upSeconds: number;
  readonly restarts: number;
  /** Address of the dashboard; null: none. */
  readonly dashboard: string | null;
  /** Newest last. */
  readonly notes: readonly string[];
}
