import { readdirSync, readFileSync } from 'node:fs';
import { family } from '../hook/processes.js';

/** What one process holds. */
export interface ProcessFigures {
  readonly pid: number;
  /** MiB. */
  readonly rss: number;
  readonly descriptors: number;
  /** CPU time so far, ms. */
  readonly cpuMillis: number;
}

/** Null where it has ended. */
export function figuresOf(pid: number): ProcessFigures | null {
  try {
    const kib = Number(
      /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0,
    );
    const descriptors = readdirSync(`/proc/${pid}/fd`).length;
    const cpuMillis = family(pid).find((each) => each.pid === pid)?.cpuMillis ?? 0;
    return { pid, rss: kib / 1024, descriptors, cpuMillis };
  } catch {
    return null;
  }
}

/** Process ids of every tcpdump below `root`. */
export function tcpdumpsBelow(root: number): number[] {
  return family(root)
    .filter(({ command }) => /(?:^|\/)tcpdump /.test(command))
    .map(({ pid }) => pid);
}

/** Processes below `root` by the part of Gleaner that they are. */
export function partsBelow(root: number): Map<string, number> {
  const parts = new Map<string, number>();
  for (const { pid, command } of family(root)) {
    const part = /main\.js (hook|agents|aggregator|dashboard)\b/.exec(command)?.[1];
    const other = /(?:^|\/)(nats-server) /.exec(command)?.[1];
    const name = part ?? other;
    if (name !== undefined && !parts.has(name)) parts.set(name, pid);
  }
  return parts;
}
