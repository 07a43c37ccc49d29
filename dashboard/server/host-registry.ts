import type { HostReport } from '../../broker/messages/index.js';
import { auditText, type HostView, modesText, tapText } from '../../broker/services/index.js';
import { killSwitchText, modeInForce, RELEASE_HINT, verdictOf } from '../../rules/index.js';
import type { HostRow, Verdict } from '../wire.js';
import { comparisonView } from './comparison.js';
import { isContended } from './contention-window.js';
import { rounded } from './series.js';

/** A silent host is removed after this time, or after three of its reports are missing. */
const HOST_EXPIRY_MILLIS = 120_000;
const MISSING_REPORTS = 3;
/**
 * A hook that answers is asked every 10 s. Without an answer a host is silent after two of its
 * reports are missing.
 */
const SILENT_MILLIS = 20_000;
/** The longest `hook.stepS`: no message may keep a dead host on the page. */
const INTERVAL_MAX_MILLIS = 600_000;
/** Shortest interval over which a clock's rate is measured, against jitter of messages. */
const RATE_MILLIS = 3000;

class HostEntry {
  view: HostView | null = null;
  report: HostReport | null = null;
  seen = 0;
  /** Share of the last minute; null: not measured, or nothing ran. */
  waitShare: number | null = null;
  clockRate = 1;
  #mark: { boot: string; own: number; ours: number } | null = null;

  /** Between two reports, ms of our clock; 0: unknown. */
  get reportMillis(): number {
    return Math.min(this.report?.interval ?? 0, INTERVAL_MAX_MILLIS) / this.clockRate;
  }

  get expiryMillis(): number {
    return Math.max(HOST_EXPIRY_MILLIS, MISSING_REPORTS * this.reportMillis);
  }

  get silentMillis(): number {
    return this.view === null ? Math.max(SILENT_MILLIS, 2 * this.reportMillis) : SILENT_MILLIS;
  }

  /** Measures the rate of the hook's monotonic clock, as in its observations, against ours. */
  clock(boot: string, own: number, now: number): void {
    const mark = this.#mark;
    if (mark === null || mark.boot !== boot || own < mark.own)
      this.#mark = { boot, own, ours: now };
    else if (now - mark.ours >= RATE_MILLIS) {
      const rate = (own - mark.own) / (now - mark.ours);
      // A real host's clock runs as fast as ours; less than 20 % is jitter of messages.
      this.clockRate = Math.abs(rate - 1) < 0.2 ? 1 : Math.max(0.1, Number(rate.toFixed(1)));
      this.#mark = { boot, own, ours: now };
    }
  }
}

/** The newest view and report of each invoker host. */
export class HostRegistry {
  readonly #hosts = new Map<string, HostEntry>();

  entry(host: string): HostEntry {
    let entry = this.#hosts.get(host);
    if (entry === undefined) {
      entry = new HostEntry();
      this.#hosts.set(host, entry);
    }
    return entry;
  }

  names(): string[] {
    return [...this.#hosts.keys()];
  }

  rateOf(host: string): number {
    return this.#hosts.get(host)?.clockRate ?? 1;
  }

  /** Views of the hosts that have answered. */
  views(): HostView[] {
    return [...this.#hosts.values()].flatMap(({ view }) => (view === null ? [] : [view]));
  }

  verdict(): Verdict {
    const { comparison, text } = verdictOf(this.views());
    return { ...comparisonView(comparison), text };
  }

  /** Where the kill switch holds, and how to release it; empty: on no host. */
  killSwitch(): string {
    const held = killSwitchText(this.views().sort((a, b) => a.host.localeCompare(b.host)));
    return held === '' ? '' : `${held}; ${RELEASE_HINT}`;
  }

  /**
   * Removes the hosts that are silent, and returns their names. No host is heard before
   * `connectedAt`, so silence counts from then on.
   */
  expire(now: number, connectedAt: number): string[] {
    const silent = [...this.#hosts].filter(
      ([, { seen, expiryMillis }]) => now - Math.max(seen, connectedAt) > expiryMillis,
    );
    for (const [host] of silent) this.#hosts.delete(host);
    return silent.map(([host]) => host);
  }

  rows(): HostRow[] {
    const rows: HostRow[] = [];
    for (const [host, entry] of this.#hosts) {
      const { view, report, seen, clockRate, silentMillis, waitShare } = entry;
      rows.push({
        host,
        mode: view === null ? (report?.mode ?? '') : modeInForce(view),
        platform: view?.platform ?? '',
        version: view?.version ?? '',
        killedBy: view?.killedBy ?? [],
        isEngineReachable: view?.isEngineReachable ?? true,
        tapLost: (view?.tap ?? []).filter(({ state }) => state !== 'listening').map(tapText),
        auditProblem: view === null || view.audit.cause === null ? '' : auditText(view.audit),
        modesProblem: view === null ? '' : modesText(view),
        configProblem: view?.configRejected ?? '',
        alarm: view?.slowerThanControl ?? false,
        seen: Math.round(seen / 1000),
        silentAfterSeconds: Math.round(silentMillis / 1000),
        cpu: view?.cpu ?? report?.capacity.cpu ?? 0,
        memory: view?.memory ?? report?.capacity.memory ?? 0,
        allocatableCpu: rounded(report?.allocatable.cpu ?? view?.cpu ?? 0),
        allocatableMemory: rounded(report?.allocatable.memory ?? view?.memory ?? 0),
        grantedCpu: rounded(report?.granted.cpu ?? 0),
        grantedMemory: rounded(report?.granted.memory ?? 0),
        usedCpu: report?.used === undefined ? null : rounded(report.used.cpu),
        usedMemory: report?.used === undefined ? null : rounded(report.used.memory),
        waitShare: waitShare === null ? null : rounded(waitShare),
        isContended: isContended(
          waitShare,
          report?.demand.cpu ?? 0,
          report?.available.cpu ?? Number.POSITIVE_INFINITY,
        ),
        demandCpu: rounded(report?.demand.cpu ?? 0),
        demandMemory: rounded(report?.demand.memory ?? 0),
        poolCpu: rounded(view?.poolCpu ?? report?.pool.cpu ?? 0),
        poolMemory: rounded(view?.poolMemory ?? report?.pool.memory ?? 0),
        functions: report?.functions ?? 0,
        containers: view?.containers ?? report?.containers ?? 0,
        running: view?.running ?? report?.running ?? 0,
        activations: view?.activations ?? 0,
        clockRate,
      });
    }
    return rows.sort((a, b) => a.host.localeCompare(b.host));
  }
}
