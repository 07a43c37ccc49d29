import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { deserialize, serialize } from 'node:v8';
import { PieceFiles } from '../piece-files.js';
import type { Job, JobResult } from './job.js';

/** Folders of the build whose code a run's figures depend on. */
const CODE = ['agents', 'config', 'experiments', 'openwhisk-plugin', 'rules', 'simulator'];

/**
 * Runs of comparisons as files of a folder: a comparison that was stopped continues, and folders of
 * parts can be copied together. A workload's file is known by its path only.
 */
export class KeptRuns {
  readonly #files: PieceFiles;

  constructor(folder: string) {
    this.#files = new PieceFiles(folder, { code: codeHash() });
  }

  save(job: Job, result: JobResult): void {
    // Not as JSON, which has neither NaN nor typed arrays.
    this.#files.save(keyOf(job), serialize(result).toString('base64'));
  }

  /** Undefined: it is not there, or it is damaged. */
  read(job: Job): JobResult | undefined {
    const text = this.#files.read(keyOf(job));
    if (typeof text !== 'string') return undefined;
    try {
      return { ...(deserialize(Buffer.from(text, 'base64')) as JobResult), index: job.index };
    } catch {
      return undefined;
    }
  }
}

/** A run of another build must not stand beside new ones: versions change more rarely. */
function codeHash(): string {
  const hash = createHash('sha256');
  for (const name of CODE) {
    const folder = new URL(`../../${name}/`, import.meta.url);
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    for (const file of files.filter((each) => each.endsWith('.js')).sort())
      hash.update(file).update(readFileSync(new URL(file, folder)));
  }
  return hash.digest('hex');
}

/** All that the run depends on, its place in a comparison not. */
function keyOf({ setting, contender, seed }: Job): string {
  const { trained, ...rules } = contender;
  const hash = createHash('sha256').update(JSON.stringify([setting, rules, seed]));
  if (trained !== undefined) hash.update(serialize(trained));
  return `run-${hash.digest('hex').slice(0, 32)}`;
}
