import { type Micros, steadyClock } from '../../config/index.js';
import type {
  LossReason,
  Tap,
  TapListener,
  TapRequest,
} from '../../openwhisk-plugin/host/ports/index.js';
import { TcpdumpTap } from '../../openwhisk-plugin/host/tap/index.js';
import type { TracedContainer } from './processes.js';

const BRIDGE = 'docker0';

/** Stamps of the packets of `/run` and of its answer, ms of `performance.now()`. */
export interface PacketTimes {
  request: number;
  answer: number;
}

/** A tap of the bench's own, which sees what the hook's sees. */
export class Packets implements TapListener {
  readonly times = new Map<string, PacketTimes>();
  readonly #tap: Tap;
  readonly #open = new Map<number, PacketTimes>();
  #listens: () => void = () => undefined;
  #fails: (error: Error) => void = () => undefined;

  constructor(tap: Tap = new TcpdumpTap()) {
    this.#tap = tap;
  }

  /** Rejects where Docker's bridge cannot be captured. */
  async start(containers: readonly TracedContainer[]): Promise<void> {
    const listening = new Promise<void>((resolve, reject) => {
      this.#listens = resolve;
      this.#fails = reject;
    });
    this.#tap.start(this);
    this.#tap.watch([{ interfaceName: BRIDGE, networkName: 'bridge', gateway: null }]);
    for (const { address } of containers) this.#tap.bind(address, steadyClock.wall());
    await listening;
  }

  async stop(): Promise<void> {
    await this.#tap.stop();
  }

  request({ connection, kind, identity, at }: TapRequest): void {
    if (kind !== 'run' || identity === null) return;
    const times = { request: toMillis(at), answer: Number.NaN };
    this.times.set(identity.activationId, times);
    this.#open.set(connection, times);
  }

  answer(connection: number, _address: number, _status: number, at: Micros): void {
    const times = this.#open.get(connection);
    if (times !== undefined) times.answer = toMillis(at);
    this.#open.delete(connection);
  }

  closed(connection: number): void {
    this.#open.delete(connection);
  }

  listening(): void {
    this.#listens();
  }

  lost(reason: LossReason, _bridge: string | null, detail: string): void {
    if (reason !== 'unavailable') return;
    this.#fails(new Error(`cannot capture packets on ${BRIDGE}: ${detail}`));
  }

  counted(): void {}
  anomaly(): void {}
}

const toMillis = (at: Micros): number => at / 1000 - performance.timeOrigin;
