import type { Observation } from '../../broker/messages/index.js';
import type { Millis } from '../../config/index.js';
import { HOSTS_PER_FUNCTION_MAX } from '../hosts-per-function.js';
import type { HostState } from './host-state.js';

/** A function on one host, and the directions of the last step there. */
export interface OnHost extends HostState {
  readonly last: readonly [number, number, number];
}

/** Updates that are left, counted on the policy in use, which may change meanwhile. */
export interface RetrainProgress {
  readonly left: number;
  readonly policyKind: 'own' | 'base';
  /** Updates of these weights when `left` was counted. */
  readonly updates: number;
}

export interface SimppoState {
  readonly fn: string;
  readonly phase: 'online' | 'serving';
  /** Activations a second on all hosts, smoothed. */
  readonly rate: number;
  /** Until it serves again; null: it serves, or learns without an end. */
  readonly retraining: RetrainProgress | null;
  readonly hosts: Readonly<Record<string, OnHost>>;
  readonly reward: number | null;
}

/** Rates are smoothed over so long, ms. */
const RATE_MS = 100_000;

/** Replaces a host; the one seen first goes if there are too many. */
export function withHost<Seen>(
  hosts: Readonly<Record<string, Seen>>,
  host: string,
  seen: Seen,
): Readonly<Record<string, Seen>> {
  const { [host]: _, ...others } = hosts;
  const kept = Object.entries(others).slice(-(HOSTS_PER_FUNCTION_MAX - 1));
  return { ...Object.fromEntries(kept), [host]: seen };
}

export function retrainingAfter(
  before: RetrainProgress | null,
  policyKind: RetrainProgress['policyKind'],
  updates: number,
): RetrainProgress | null {
  if (before === null) return null;
  const made = policyKind === before.policyKind ? Math.max(0, updates - before.updates) : 0;
  return { left: Math.max(0, before.left - made), policyKind, updates };
}

/** By the time since any host's last observation: a step begins with its first activation. */
export function rateAfter(
  { rate, hosts }: SimppoState,
  { activations, control, span }: Observation,
  now: Millis,
): number {
  const started = 1000 * (activations + control.activations);
  const last = Math.max(...Object.values(hosts).map(({ at }) => at));
  // Two hosts may answer at once.
  const elapsed = Math.max(1, Number.isFinite(last) ? now - last : span);
  return rate + (1 - Math.exp(-elapsed / RATE_MS)) * (started / elapsed - rate);
}
