import { readFileSync, writeFileSync } from 'node:fs';
import type { WriteResult } from '../../decision/index.js';
import type { MemoryPaths } from './limit-files.js';
import { LARGEST_PAGE } from './pages.js';

export interface LoweringJob {
  readonly paths: MemoryPaths;
  /** Bytes, a whole number of pages. */
  readonly limit: number;
  /** Swap beyond it, bytes; Infinity = no limit. */
  readonly swap: number;
  /** Room above the present use that must stay, as a share of it. */
  readonly margin: number;
  /** `freezer.state` or `cgroup.freeze`, if a paused container must keep its limit. */
  readonly freezer: string | null;
}

/** The files as text: an argument, so that a test can play a kernel that kills. */
export interface TextFiles {
  read(path: string): string;
  write(path: string, text: string): void;
}

const systemFiles: TextFiles = {
  read: (path) => readFileSync(path, 'utf8'),
  write: (path, text) => writeFileSync(path, text, { flag: 'r+' }),
};

/**
 * Lowers a memory limit, in the worker thread: the kernel reclaims inside the write. On v1 it
 * refuses what does not fit (EBUSY); on v2 it kills, so the raw use decides before, and the events
 * after: a rise takes the change back.
 *
 * @param requested false once a newer limit was set: then nothing more is written
 */
export function lowerMemoryNow(
  job: LoweringJob,
  requested: () => boolean,
  files: TextFiles = systemFiles,
): WriteResult {
  const { paths } = job;
  try {
    const old = firstLine(files.read(paths.limit));
    const oldLimit = old === 'max' ? Number.POSITIVE_INFINITY : Number(old);
    if (oldLimit === job.limit) return 'unchanged';
    if (job.freezer !== null && /^(1|F)/.test(files.read(job.freezer))) return 'refused';
    let use = Number(firstLine(files.read(paths.usage)));
    if (paths.version === 1) use -= keyed(files.read(paths.stat), 'total_inactive_file');
    if (!(job.limit >= use * (1 + job.margin))) return 'refused';
    const before = kills(files, paths);
    if (!requested()) return 'refused';
    files.write(paths.limit, `${job.limit}\n`);
    if (paths.swap !== null) {
      try {
        files.write(paths.swap, `${swapText(job, job.limit)}\n`);
      } catch {
        // Memory and swap go together or not at all.
        files.write(paths.limit, `${old}\n`);
        return 'refused';
      }
    }
    if (kills(files, paths) > before) {
      try {
        // v1 allows no memory limit above the limit of memory and swap.
        if (paths.version === 1 && paths.swap !== null)
          files.write(paths.swap, `${swapText(job, oldLimit)}\n`);
      } finally {
        files.write(paths.limit, `${old}\n`);
      }
      return 'refused';
    }
    const now = Number(firstLine(files.read(paths.limit)));
    return now <= job.limit && job.limit - now < LARGEST_PAGE ? 'written' : 'not_effective';
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    return code === 'ENOENT' || code === 'ENODEV' ? 'gone' : 'refused';
  }
}

/** What the swap file holds beside the memory limit `limit`. */
function swapText({ paths, swap }: LoweringJob, limit: number): string {
  if (swap === Number.POSITIVE_INFINITY) return paths.version === 1 ? '-1' : 'max';
  return String(paths.version === 1 ? limit + swap : swap);
}

/** Counters that grow when the kernel kills or throttles because of the limit. */
function kills(files: TextFiles, paths: MemoryPaths): number {
  const text = files.read(paths.events);
  if (paths.version === 1) return keyed(text, 'oom_kill');
  return keyed(text, 'max') + keyed(text, 'oom') + keyed(text, 'oom_kill');
}

function keyed(text: string, key: string): number {
  for (const line of text.split('\n'))
    if (line.startsWith(`${key} `)) return Number(line.slice(key.length + 1));
  return 0;
}

const firstLine = (text: string): string => text.split('\n', 1)[0] ?? '';
