import { type AuditView, auditText, type TapView, tapText } from '../../broker/services/index.js';
import type { Clock } from '../../config/index.js';

/** One thing that a part needs. Degraded: it does its work all the same. */
export interface HealthCheck {
  readonly name: string;
  readonly state: 'ok' | 'degraded' | 'failed';
  readonly detail: string;
}

export interface HealthAnswer {
  readonly status: 200 | 503;
  readonly text: string;
}

/** Probes and scrapes within this time get the same answer. */
export const FRESH_MILLIS = 250;

/** `/livez`: the loop makes progress. `/readyz`: it can do its work; NATS away is degraded. */
export class Health {
  readonly #clock: Clock;
  readonly #limitMillis: number;
  #beatAt: number;
  #checks: (() => readonly HealthCheck[]) | null = null;
  #checked: readonly HealthCheck[] | null = null;
  #checkedAt = Number.NEGATIVE_INFINITY;

  /** `limitMillis`: a loop silent for longer counts as stuck. */
  constructor(clock: Clock, limitMillis: number) {
    this.#clock = clock;
    this.#limitMillis = limitMillis;
    this.#beatAt = clock.monotonic();
  }

  /** What readiness rests on; null while the part starts. */
  set checks(checks: (() => readonly HealthCheck[]) | null) {
    this.#checks = checks;
    this.#checked = null;
  }

  /** Called by the loop itself, never by a timer of its own. */
  beat(): void {
    this.#beatAt = this.#clock.monotonic();
  }

  get loopAgeSeconds(): number {
    return Math.max(0, this.#clock.monotonic() - this.#beatAt) / 1000;
  }

  live(verbose: boolean): HealthAnswer {
    const age = this.loopAgeSeconds;
    const stuck = age * 1000 > this.#limitMillis;
    const detail = `last progress ${age.toFixed(1)} s ago`;
    return answer([{ name: 'loop', state: stuck ? 'failed' : 'ok', detail }], verbose);
  }

  ready(verbose: boolean): HealthAnswer {
    return answer(
      this.#results() ?? [{ name: 'start', state: 'failed', detail: 'not started yet' }],
      verbose,
    );
  }

  /** One evaluation for all probes of a moment: it visits every function on the part's loop. */
  #results(): readonly HealthCheck[] | null {
    const now = this.#clock.monotonic();
    if (this.#checked === null || now - this.#checkedAt >= FRESH_MILLIS) {
      this.#checked = this.#checks?.() ?? null;
      this.#checkedAt = now;
    }
    return this.#checked;
  }
}

function answer(checks: readonly HealthCheck[], verbose: boolean): HealthAnswer {
  const failed = checks.some(({ state }) => state === 'failed');
  const degraded = checks.filter(({ state }) => state === 'degraded').map(({ name }) => name);
  const marks = { ok: '+', degraded: '~', failed: '-' };
  const lines = checks.map(
    ({ name, state, detail }) => `[${marks[state]}] ${name}: ${detail || state}`,
  );
  const verdict = failed
    ? 'failed'
    : degraded.length > 0
      ? `ok, degraded: ${degraded.join(', ')}`
      : 'ok';
  // A failure is explained unasked, as Kubernetes' probes do.
  const text = [...(verbose || failed ? lines : []), verdict].join('\n');
  return { status: failed ? 503 : 200, text: `${text}\n` };
}

/** Degraded is ready all the same: user limits are in force where the tap does not listen. */
export function tapCheck(tap: readonly TapView[]): HealthCheck {
  const lost = tap.filter(({ state }) => state !== 'listening').map(tapText);
  const detail =
    tap.length === 0
      ? 'no bridge network to listen on: user limits in force'
      : lost.join('; ') || `listens on ${tap.map((each) => each.interface).join(', ')}`;
  const isListening = tap.length > 0 && lost.length === 0;
  return { name: 'tap', state: isListening ? 'ok' : 'degraded', detail };
}

/**
 * What an operator has stopped, empty: nothing; then it is absent. Degraded: the part is ready, and
 * a restart of it would be no help.
 */
export const operatorCheck = (stopped: string): HealthCheck[] =>
  stopped === '' ? [] : [{ name: 'operator', state: 'degraded', detail: stopped }];

/** Of an agent host or an aggregator as a whole. */
export const pausedText = ({ paused }: { readonly paused: boolean }): string =>
  paused ? 'paused: publishes nothing until `resume`' : '';

/** Degraded: limits are set all the same, and their lines are kept as long as there is room. */
export function auditCheck(audit: AuditView): HealthCheck {
  const state = audit.cause === null ? 'ok' : 'degraded';
  return { name: 'audit', state, detail: auditText(audit) };
}
