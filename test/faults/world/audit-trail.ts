import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Values written to limits: by container and resource (`id cpu.quota`), in order. */
export type Writes = ReadonlyMap<string, readonly number[]>;

/**
 * The audit log of an invoker host, as an operator reads it, and the faults of
 * its disk.
 */
export class AuditTrail {
  readonly #folder: string;
  /** It cannot be written: its place is taken by a folder. */
  #broken = false;
  /** It could not be written at some time, so it need not explain everything. */
  #incomplete = false;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** From the hook's next start on it cannot be written, as on a disk that is full. */
  break(broken: boolean): void {
    const path = join(this.#folder, 'audit.jsonl');
    if (broken === this.#broken) return;
    this.#broken = broken;
    this.#incomplete = true;
    rmSync(path, { recursive: true, force: true });
    if (broken) mkdirSync(path);
  }

  /** What a crash in the middle of a write leaves: a line without its end. */
  leaveHalfLine(): void {
    if (!this.#broken)
      writeFileSync(join(this.#folder, 'audit.jsonl'), '{"at":"2026-', { flag: 'a' });
  }

  /** Writes that it does not explain: each must be in it, in order. */
  unexplained(writes: Writes): string[] {
    if (this.#incomplete) return [];
    const audited = this.#read();
    const found: string[] = [];
    for (const [key, made] of writes) {
      const explained = audited.get(key)?.slice(-made.length) ?? [];
      if (explained.join() === made.join()) continue;
      found.push(`${key}: ${made.length} changes, the audit log has ${explained.length} or others`);
    }
    return found;
  }

  #read(): Writes {
    const values = new Map<string, number[]>();
    // `audit.jsonl.1` is older than `audit.jsonl`.
    const files = readdirSync(this.#folder).filter((name) => name.startsWith('audit.jsonl'));
    for (const file of files.sort().reverse()) {
      for (const line of readFileSync(join(this.#folder, file), 'utf8').split('\n')) {
        try {
          const {
            container,
            resource,
            result,
            new: value,
          } = JSON.parse(line) as Record<string, unknown>;
          if (result !== 'written') continue;
          const key = `${container} ${resource}`;
          const known = values.get(key);
          if (known) known.push(Number(value));
          else values.set(key, [Number(value)]);
        } catch {
          // Half a line, of a crash.
        }
      }
    }
    return values;
  }
}
