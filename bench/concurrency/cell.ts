import { mean, quantile } from '../../experiments/statistics.js';
import { InvokerEmulator } from '../../simulator/invoker-emulator/index.js';
import { ActivationRecorder } from './activation-recorder.js';
import { Callers } from './callers.js';
import { actionAt, MEMORY_MB, type Payload } from './profiles.js';

export const PREFIX = 'wskglc0';

export interface CellOptions {
  readonly image: string;
  readonly name: string;
  readonly payload: Payload;
  readonly limit: number;
  readonly callers: number;
  /** Warm-up and measured time, ms. */
  readonly warmUpMs: number;
  readonly windowMs: number;
  /** Core of the container; null: any. */
  readonly core: number | null;
}

/** Figures of one limit in a container of its own. */
export interface Cell {
  /** Successful activations a second. */
  readonly throughput: number;
  /** Of successful activations from the caller's view, ms; NaN: there were none. */
  readonly mean: number;
  readonly p95: number;
  /**
   * Share of all activations that succeeded. This and what follows is of the whole cell: the first
   * kill may come before the time that counts.
   */
  readonly success: number;
  readonly maxConcurrent: number;
  readonly sent: number;
  readonly seen: number;
  readonly kills: number;
}

/**
 * The invoker emulator with one new container. Connections are kept alive, as by OpenWhisk's akka
 * client. With one connection per activation, a thousand activations a second would exhaust the
 * 28,232 ports between two addresses, which stay in TIME_WAIT for 60 s.
 */
export const emulatorFor = (image: string): InvokerEmulator =>
  new InvokerEmulator({
    image,
    prefix: PREFIX,
    userMemoryMb: MEMORY_MB,
    pauseGraceMs: 600_000,
    logs: 'none',
    clientStyle: 'akka',
  });

export const until = (at: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Math.max(0, at - performance.now())));

/** The limit held for a while by more callers than it lets in, with the tap beside. */
export async function measureLimit(options: CellOptions): Promise<Cell> {
  const { image, name, payload, limit, callers: count, warmUpMs, windowMs, core } = options;
  const emulator = emulatorFor(image);
  const recorder = new ActivationRecorder(PREFIX, core);
  try {
    await emulator.start();
    await recorder.start();
    const callers = new Callers(emulator, actionAt(name, limit, 1), payload, count);
    await callers.first();
    await recorder.pinned();
    callers.start();
    const begun = performance.now();
    await until(begun + warmUpMs);
    const before = callers.take();
    const from = performance.now();
    await until(from + windowMs);
    const activations = callers.take();
    const seconds = (performance.now() - from) / 1000;
    await callers.stop();
    // Packets that the tap has not read yet.
    await until(performance.now() + 50);
    const good = activations.filter(({ ok }) => ok).map(({ ms }) => ms);
    const all = [...before, ...activations, ...callers.take()];
    return {
      throughput: good.length / seconds,
      mean: mean(good),
      p95: quantile(good, 0.95),
      success: all.filter(({ ok }) => ok).length / all.length,
      maxConcurrent: callers.maxConcurrent,
      sent: callers.sent,
      seen: recorder.runs,
      kills: recorder.kills,
    };
  } finally {
    await recorder.stop();
    await emulator.stop();
  }
}
