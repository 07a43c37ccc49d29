import { type HttpServer, isLoopback, parseListen } from '../../broker/http/index.js';
import { type Broker, type Logger, refusedText } from '../../broker/index.js';
import {
  type Cancel,
  type Clock,
  type Config,
  messageOf,
  programVersion,
} from '../../config/index.js';
import { logLines } from '../logger.js';
import { processFaults } from '../process-faults.js';
import { Health, type HealthCheck } from './health.js';
import type { MetricSet } from './metric-set.js';
import { updateHttp, updateNats } from './other-metrics.js';
import { servePages } from './server.js';
import type { MetricPart } from './table.js';

export interface Watched {
  /** Brings the part's own metrics up to date; `now`: monotonic, seconds. */
  readonly update: (metrics: MetricSet, now: number) => void;
  /** Beside NATS. */
  readonly checks: () => readonly HealthCheck[];
  readonly broker: Broker | null;
}

/** Steps of its loop that a part may miss before it counts as stuck. */
const MISSED_STEPS = 3;
const MIN_LIMIT_MILLIS = 5000;

/** How a part is watched: metrics and health, over HTTP where the configuration says so. */
export class Operating {
  readonly health: Health;
  readonly #clock: Clock;
  readonly #part: MetricPart;
  readonly #onBeat: () => void;
  #watched: Watched | null = null;
  #server: HttpServer | null = null;
  /** Why NATS is away; empty: it is not, or the cause is not known yet. */
  #natsProblem = '';
  #cancelStatus: Cancel = () => undefined;
  /** Why the newest configuration was refused at a reload; null: it was not. */
  configRejected: string | null = null;

  /** `loopMillis`: usual interval of `beat`. */
  constructor(
    part: MetricPart,
    clock: Clock,
    loopMillis: number,
    onBeat: () => void = () => undefined,
  ) {
    this.#part = part;
    this.#onBeat = onBeat;
    this.#clock = clock;
    this.health = new Health(clock, Math.max(MIN_LIMIT_MILLIS, MISSED_STEPS * loopMillis));
  }

  /** Before the part starts, so that a start that hangs is seen. A used port stops nothing. */
  async listen(settings: Config['metrics'], logger: Logger): Promise<void> {
    const listen = settings[this.#part];
    if (listen === null) return;
    try {
      const { health } = this;
      // Loaded only to be served: they take 4 MiB and 20 wake-ups a second.
      const { MetricSet } = await import('./metric-set.js');
      const metrics = new MetricSet(this.#part);
      const pages = {
        registry: metrics.registry,
        health,
        clock: this.#clock,
        collect: () => this.#collect(metrics),
      };
      this.#server = await servePages(listen, pages, logger);
    } catch (error) {
      const hint = `set metrics.${this.#part} to another address, or to null`;
      logger.warn({ listen, hint }, `no metrics and no health checks: ${messageOf(error)}`);
      return;
    }
    const { address } = this.#server;
    logger.info({ address }, `metrics and health on ${address}`);
    if (!isLoopback(parseListen(listen).host))
      logger.warn(
        { address },
        'metrics are open to the network: they name functions and need no login',
      );
  }

  watch(watched: Watched): void {
    this.#watched = watched;
    const { broker } = watched;
    if (broker !== null)
      this.#cancelStatus = broker.onStatus((status) => {
        if (status.kind === 'connected') this.#natsProblem = '';
        else if (status.kind === 'error' && !broker.connected)
          this.#natsProblem = status.error.message;
      });
    this.health.checks = () => [
      ...watched.checks(),
      ...configCheck(this.configRejected),
      natsCheck(broker, this.#natsProblem),
      ...subscriptionsCheck(broker),
      ...storesCheck(broker),
    ];
  }

  readonly beat = (): void => {
    this.health.beat();
    this.#onBeat();
  };

  #collect(metrics: MetricSet): void {
    const labels = { version: programVersion(), node: process.versions.node, part: this.#part };
    metrics.set('gleaner_build_info', 1, labels);
    metrics.set('gleaner_loop_age_seconds', this.health.loopAgeSeconds);
    metrics.set('gleaner_config_rejected', this.configRejected === null ? 0 : 1);
    const faults = Object.entries(processFaults.counts);
    metrics.growEach('gleaner_process_faults_total', 'kind', faults);
    const { written, dropped } = logLines();
    const lines = Object.entries({ written, dropped });
    metrics.growEach('gleaner_log_lines_total', 'result', lines);
    if (this.#server !== null) updateHttp(metrics, this.#server);
    if (this.#watched === null) return;
    updateNats(metrics, this.#watched.broker);
    this.#watched.update(metrics, this.#clock.monotonic() / 1000);
  }

  stop(): void {
    this.health.checks = null;
    this.#cancelStatus();
    void this.#server?.stop();
    this.#server = null;
  }
}

/** A part that restarts refuses to start with it. */
const configCheck = (rejected: string | null): HealthCheck[] =>
  rejected === null ? [] : [{ name: 'config', state: 'degraded', detail: rejected }];

/** Absent while none is refused. */
function subscriptionsCheck(broker: Broker | null): HealthCheck[] {
  const refused = broker?.connected ? broker.refusedSubjects : [];
  if (refused.length === 0) return [];
  return [{ name: 'subscriptions', state: 'degraded', detail: refusedText(refused) }];
}

/** Absent while every store answers: most readers need not know that there are any. */
function storesCheck(broker: Broker | null): HealthCheck[] {
  const failing = broker?.connected
    ? broker.stores.states().filter(({ failure }) => failure !== null)
    : [];
  if (failing.length === 0) return [];
  const detail = failing.map(
    ({ store, operation, failure }) =>
      `${store}: ${failure?.count} ${operation}s failed (${failure?.code})`,
  );
  return [{ name: 'stores', state: 'degraded', detail: detail.join('; ') }];
}

function natsCheck(broker: Broker | null, problem: string): HealthCheck {
  if (broker === null)
    return { name: 'nats', state: 'ok', detail: 'not configured: local policies only' };
  if (broker.connected) return { name: 'nats', state: 'ok', detail: 'connected' };
  const why = problem === '' ? 'away' : problem;
  return {
    name: 'nats',
    state: 'degraded',
    detail: `${why}: user limits and local policies stand`,
  };
}
