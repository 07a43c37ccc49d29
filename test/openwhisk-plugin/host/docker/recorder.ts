import type {
  Bridge,
  ContainerEngineListener,
  ContainerInfo,
} from '../../../../openwhisk-plugin/host/ports/index.js';
import { allowed } from '../../../support/slowness.js';

/** Notes every call of an engine as one line, and lets a test wait for a line. */
export class Recorder implements ContainerEngineListener {
  readonly lines: string[] = [];
  readonly started: ContainerInfo[] = [];
  readonly ended: { id: string; isMissing: boolean }[] = [];
  readonly updated: ContainerInfo[] = [];
  readonly skipped: string[] = [];
  /** Starts and ends as they were told. */
  readonly order: { what: 'started' | 'ended'; container: ContainerInfo }[] = [];
  bridges: readonly Bridge[] = [];
  #waiters: { test: () => boolean; resolve: () => void }[] = [];

  containerStarted(container: ContainerInfo): void {
    this.started.push(container);
    this.order.push({ what: 'started', container });
    this.#note(`started ${container.name}`);
  }
  containerEnded(id: string, isMissing = false): void {
    this.ended.push({ id, isMissing });
    const container = this.started.findLast((each) => each.id === id);
    if (container !== undefined) this.order.push({ what: 'ended', container });
    this.#note(`ended ${this.#name(id)}`);
  }
  containerUpdated(container: ContainerInfo): void {
    this.updated.push(container);
    this.#note(`updated ${container.name}`);
  }
  containerPaused(id: string, paused: boolean): void {
    this.#note(`${paused ? 'paused' : 'resumed'} ${this.#name(id)}`);
  }
  containerOom(id: string): void {
    this.#note(`oom ${this.#name(id)}`);
  }
  eventSkipped(kind: string): void {
    this.skipped.push(kind);
    this.#note(`skipped ${kind}`);
  }
  containerUnreadable(id: string, error: Error): void {
    this.#note(`unreadable ${id.slice(-1)} ${error.message}`);
  }
  bridgesChanged(bridges: readonly Bridge[]): void {
    this.bridges = bridges;
    this.#note('bridges');
  }
  reconciled(): void {
    this.#note('reconciled');
  }
  engineDown(error: { code: string }): void {
    this.#note(`down ${error.code}`);
  }

  count(line: string): number {
    return this.lines.filter((each) => each === line).length;
  }

  /** Rejects after five seconds; on a slow machine later. */
  async until(test: (recorder: Recorder) => boolean): Promise<void> {
    if (test(this)) return;
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        timer = setTimeout(
          () => reject(new Error(`not seen; seen: ${this.lines.join(', ')}`)),
          allowed(5000),
        );
        this.#waiters.push({ test: () => test(this), resolve });
      });
    } finally {
      clearTimeout(timer);
    }
  }

  #name(id: string): string {
    return this.started.find((container) => container.id === id)?.name ?? id;
  }

  #note(line: string): void {
    this.lines.push(line);
    this.#waiters = this.#waiters.filter((waiter) => {
      if (!waiter.test()) return true;
      waiter.resolve();
      return false;
    });
  }
}
