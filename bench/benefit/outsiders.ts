import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mean, ratioInterval } from '../../experiments/statistics.js';
import { atLeast, type BenchRow, row } from '../report.js';

/** CPU time of each piece of work, and time between the begins of two, ms: 5 % of a core. */
const PIECE_MILLIS = 3;
const PERIOD_MILLIS = 60;
/** Of the pieces that a run has time for: fewer show no mean. */
const LEAST_PIECES = 0.5;

/**
 * For `node -e`: does a piece of work each period and appends to a file when each was due and how
 * long after that it was done, ms. Blocks its thread, because a timer of the event loop is late by
 * up to a millisecond.
 */
const PROGRAM = `
const { appendFileSync } = require('node:fs');
const file = process.argv[1];
const cell = new Int32Array(new SharedArrayBuffer(4));
const now = () => performance.timeOrigin + performance.now();
const lines = [];
for (let due = now(), x = 1; ; due = Math.max(due + ${PERIOD_MILLIS}, now())) {
  const wait = due - now();
  if (wait > 0) Atomics.wait(cell, 0, 0, wait);
  const begun = process.cpuUsage();
  for (let used = 0; used < ${PIECE_MILLIS * 1000}; ) {
    for (let i = 0; i < 5000; i++) x = (Math.imul(x, 1664525) + 1013904223) | 0;
    const { user, system } = process.cpuUsage(begun);
    used = user + system;
  }
  if (lines.push(due + ' ' + (now() - due)) < 16) continue;
  appendFileSync(file, lines.splice(0).join('\\n') + '\\n');
}`;

/** Where an outsider runs: its program's arguments for node, and its folder. */
export type OutsiderStart = (
  program: (folder: string) => string[],
  folder: string,
) => Promise<() => Promise<void>>;

/** Steady work beside the actions that Gleaner does not manage, to see what it loses. */
class Outsider {
  readonly name: string;
  readonly #start: OutsiderStart;
  readonly #folder = mkdtempSync(join(tmpdir(), 'gleaner-outsider-'));
  readonly #file = join(this.#folder, 'pieces');
  readonly means = { off: [] as number[], on: [] as number[] };
  fewest = 1;
  #stop: (() => Promise<void>) | undefined;

  constructor(name: string, start: OutsiderStart) {
    this.name = name;
    this.#start = start;
  }

  async start(): Promise<void> {
    writeFileSync(this.#file, '');
    const program = (folder: string): string[] => ['-e', PROGRAM, join(folder, 'pieces')];
    this.#stop = await this.#start(program, this.#folder);
  }

  /** Takes in the pieces that were due between two times of the wall clock, ms. */
  note(arm: 'off' | 'on', from: number, to: number): void {
    const took: number[] = [];
    for (const line of readFileSync(this.#file, 'latin1').split('\n')) {
      const [due, millis] = line.split(' ').map(Number);
      if (due !== undefined && millis !== undefined && due >= from && due < to) took.push(millis);
    }
    this.fewest = Math.min(this.fewest, (took.length * PERIOD_MILLIS) / (to - from));
    this.means[arm].push(mean(took));
  }

  async stop(): Promise<void> {
    await this.#stop?.();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** All outsiders of a bench. */
export class Outsiders {
  readonly #all: readonly Outsider[];

  constructor(starts: Readonly<Record<string, OutsiderStart>>) {
    this.#all = Object.entries(starts).map(([name, start]) => new Outsider(name, start));
  }

  async start(): Promise<void> {
    for (const each of this.#all) await each.start();
  }

  note(arm: 'off' | 'on', from: number, to: number): void {
    for (const each of this.#all) each.note(arm, from, to);
  }

  rows(tag: string): BenchRow[] {
    return this.#all.flatMap(({ name, means: { on, off }, fewest }) => {
      const ratios = on.map((value, round) => value / off[round]!);
      const interval = ratioInterval(ratios);
      return [
        row(`${tag}.outside.${name}`, mean(on), 'ms', {
          baseline: mean(off),
          goal: '<= 1.05x',
          note:
            `${PIECE_MILLIS} ms of CPU every ${PERIOD_MILLIS} ms, not managed; by round ` +
            `${ratios.map((ratio) => ratio.toFixed(2)).join(' ')}: geometric mean ` +
            `${interval.mean.toFixed(3)} [${interval.low.toFixed(3)}, ${interval.high.toFixed(3)}]`,
        }),
        atLeast(
          `${tag}.outside.${name}.pieces`,
          fewest,
          LEAST_PIECES,
          'of those due in a run',
          'the work beside the actions got too little CPU to show a mean',
        ),
      ];
    });
  }

  async stop(): Promise<void> {
    for (const each of this.#all) await each.stop();
  }
}

/** A process of this host; in a session of its own, so that the scheduler groups it with none. */
export const asProcess: OutsiderStart = async (program, folder) => {
  const child = spawn(process.execPath, program(folder), { stdio: 'ignore', detached: true });
  await spawned(child);
  return () => ended(child);
};

const spawned = (child: ChildProcess): Promise<void> =>
  new Promise((resolve, reject) => child.once('spawn', resolve).once('error', reject));

function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGKILL');
  return gone;
}
