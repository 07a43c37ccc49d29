import { ControlFile } from './control-file.js';

/**
 * The kernel's burst of a container (`cpu.cfs_burst_us`, `cpu.max.burst`): a quota below it is
 * refused. Engines set none, so the file is kept open only where there is one.
 */
export class Burst {
  readonly #path: string;
  #file: ControlFile | null;

  constructor(path: string) {
    this.#path = path;
    this.#file = ControlFile.open(path, 'r+');
    if ((this.#file?.number() ?? 0) <= 0) this.close();
  }

  /** Before a quota is written, us a period. */
  lowerBurst(quota: number): void {
    if (this.#file !== null && this.#file.number() > quota) this.#file.write(quota);
  }

  /** After a quota was refused: true if a burst was set meanwhile; it is lowered now. */
  lowerBurstAfterError(quota: number): boolean {
    if (this.#file !== null) return false;
    this.#file = ControlFile.open(this.#path, 'r+');
    if ((this.#file?.number() ?? 0) > quota) {
      this.lowerBurst(quota);
      return true;
    }
    this.close();
    return false;
  }

  close(): void {
    this.#file?.close();
    this.#file = null;
  }
}
