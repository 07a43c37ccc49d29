import { runCommand } from './command.js';

export interface RuncOptions {
  /**
   * Where dockerd keeps runc's state; the invoker gets it mounted at runc's own default
   * (ansible/roles/invoker/tasks/deploy.yml, runcdir).
   */
  readonly root?: string;
  readonly executable?: string;
  /** ms (application.conf, whisk.runc.timeouts: 10 seconds for both). */
  readonly timeoutMs?: number;
}

/**
 * Pause and resume past the engine: neither shows in its API or events. Source: RuncClient.scala @
 * 2.0.0 and 1fae641a2; @ 1.0.0 the same commands of `/usr/bin/docker-runc`.
 */
export class Runc {
  readonly #command: readonly string[];
  readonly #timeoutMs: number;

  constructor(options: RuncOptions = {}) {
    this.#command = [
      options.executable ?? '/usr/bin/runc',
      '--root',
      options.root ?? '/run/docker/runtime-runc/moby',
    ];
    this.#timeoutMs = options.timeoutMs ?? 10_000;
  }

  async pause(id: string): Promise<void> {
    await runCommand([...this.#command, 'pause', id], { timeoutMs: this.#timeoutMs });
  }

  async resume(id: string): Promise<void> {
    await runCommand([...this.#command, 'resume', id], { timeoutMs: this.#timeoutMs });
  }
}
