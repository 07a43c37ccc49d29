import { type ChildProcess, type ChildProcessByStdio, execFile, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { stringify } from 'yaml';
import { uncaughtFaults } from '../../bench/uncaught-faults.js';
import { allowed } from './slowness.js';

const main = 'dist/cli/main.js';

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Commands whose lines are counted. */
const counted = new Set<string>();

/**
 * One `gleaner` command, to its end. Its code is NaN if it does not end by itself in time. What
 * runs again and again is counted once, and then answers from the bundle, as for users: a third of
 * the CPU.
 */
export function gleaner(
  args: readonly string[],
  env: Record<string, string> = {},
  timeoutMs = 180_000,
): Promise<Ran> {
  const words = args.join(' ');
  const coverage = counted.has(words) ? { NODE_V8_COVERAGE: '' } : {};
  counted.add(words);
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [main, ...args],
      {
        env: { ...process.env, ...coverage, ...env },
        timeout: allowed(timeoutMs),
        maxBuffer: 16 * 1024 * 1024,
      },
      (error, out, err) =>
        resolve({ code: error === null ? 0 : Number(error.code ?? Number.NaN), out, err }),
    );
  });
}

export interface Collected {
  /** All that it has written so far, to either stream. */
  output(): string;
  /** Resolves with the exit code. */
  readonly ended: Promise<number | null>;
}

export function collected(child: ChildProcessByStdio<null, Readable, Readable>): Collected {
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8');
    stream.on('data', (chunk: string) => {
      text += chunk;
    });
  }
  const ended = new Promise<number | null>((resolve) => child.on('exit', (code) => resolve(code)));
  return { output: () => text, ended };
}

export interface Up extends Collected {
  readonly child: ChildProcess;
  readonly config: string;
  readonly folder: string;
  /** Ends what still runs. Rejects where a part had a fault that nothing caught. */
  clean(): Promise<void>;
}

/** `gleaner up` with a configuration and a state folder of its own. @param node runs every part */
export function startUp(
  config: Record<string, unknown>,
  args: readonly string[] = [],
  node = process.execPath,
): Up {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-up-'));
  const file = join(folder, 'gleaner.yaml');
  const hook = { ...((config.hook as object | undefined) ?? {}), stateDir: join(folder, 'state') };
  writeFileSync(file, stringify({ ...config, hook }));
  const child = spawn(node, [main, '--config', file, 'up', '--plain', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return {
    child,
    config: file,
    folder,
    ...collected(child),
    clean: async () => {
      await endOwn(child, folder);
      const faults = uncaughtFaults(join(folder, 'state'));
      rmSync(folder, { recursive: true, force: true });
      if (faults.length > 0) throw new Error(`faults that nothing caught:\n${faults.join('\n')}`);
    },
  };
}

/** Living processes with this text on their command line, zombies left out. */
export function processesWith(text: string): { pid: number; args: string }[] {
  const found: { pid: number; args: string }[] = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const args = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ');
      if (args.includes(text)) found.push({ pid: Number(name), args });
    } catch {
      // It ended while we looked.
    }
  }
  return found;
}

/**
 * Ends a process, in order, and kills by their ids those of its children that are left: `folder`,
 * which only this test uses, is on their command lines.
 */
export async function endOwn(child: ChildProcess, folder: string): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
  const gone = (): boolean => processesWith(folder).length === 0;
  await until(gone, 20_000, 'every process has ended').catch(() => {
    for (const { pid } of processesWith(folder)) process.kill(pid, 'SIGKILL');
  });
}

/**
 * Waits as long as the last look took, a moment at least and half a second at most: looks, such as
 * commands, must not take the CPU from what they wait for.
 */
export async function until(
  condition: () => boolean | Promise<boolean>,
  timeoutMs: number,
  what: string,
): Promise<void> {
  const end = performance.now() + allowed(timeoutMs);
  for (;;) {
    const begun = performance.now();
    if (await condition()) return;
    const now = performance.now();
    if (now > end) throw new Error(`not within ${timeoutMs} ms: ${what}`);
    const pause = Math.min(500, Math.max(10, now - begun));
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
