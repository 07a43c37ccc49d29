import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { mean } from '../statistics.js';
import { containerBusyMillis } from './host-cpu.js';

const run = promisify(execFile);

/** No prefix of an invoker, so that Gleaner does not manage them. */
const NAME = 'gleaner-sibling';

/**
 * Containers of Docker's default weight beside those of an invoker, under the same parent: each
 * computes all the time on one core.
 */
export class Siblings {
  readonly #count: number;
  readonly #ids: string[] = [];

  constructor(count: number) {
    this.#count = count;
  }

  async start(image: string): Promise<void> {
    for (let i = 0; i < this.#count; i++) {
      const args = ['run', '-d', '--name', `${NAME}${i}`, '--entrypoint', '/bin/node', image];
      const { stdout } = await run('docker', [...args, '-e', 'for (;;);']);
      this.#ids.push(stdout.trim());
    }
  }

  /** CPU time so far, ms, mean over them. */
  busyMillis(): number {
    return mean(this.#ids.map(containerBusyMillis));
  }

  async stop(): Promise<void> {
    for (const id of this.#ids.splice(0)) await run('docker', ['rm', '--force', id]);
  }
}
