/**
 * Bodies of the actions that tests, benches and the shipped workload run. Each is a self-contained
 * function: its source text is what `/init` carries. Parameters come in the payload, so one source
 * serves many demands.
 */

/**
 * Burns a stated CPU time of this process since `begin`, whatever the quota makes of its duration.
 * ms.
 */
function burn(cpuMs: number, begin = process.cpuUsage()): number {
  let x = 1;
  for (;;) {
    // About 20 us of work between two readings of the CPU time.
    for (let i = 0; i < 5000; i++) x = (Math.imul(x, 1664525) + 1013904223) | 0;
    const used = process.cpuUsage(begin);
    if (used.user + used.system >= cpuMs * 1000) return x;
  }
}

/**
 * Touches every page of freshly allocated native memory (V8's own heap is fixed at its start and
 * would not do). MB a second; 0: at once.
 */
async function grow(megabytes: number, perSecond: number, keep: Buffer[]): Promise<void> {
  const begin = Date.now();
  for (let done = 0; done < megabytes; done++) {
    keep.push(Buffer.allocUnsafeSlow(1048576).fill(1));
    const ahead = perSecond > 0 ? ((done + 1) / perSecond) * 1000 - (Date.now() - begin) : 0;
    if (ahead > 1) await new Promise((resolve) => setTimeout(resolve, ahead));
  }
}

/**
 * Frees native memory at once, by moving it to a port without a reader. Left to the garbage
 * collector, it would stay until a later activation, which would then be OOM-killed at random near
 * its limit.
 */
function releaseBuffers(keep: Buffer[]): void {
  const { MessageChannel } = require('node:worker_threads');
  const { port1, port2 } = new MessageChannel();
  port2.close();
  for (const { buffer } of keep) port1.postMessage(buffer, [buffer]);
  keep.length = 0;
}

function cpu(args: { cpuMs?: number }): unknown {
  const cpuMs = args.cpuMs ?? 10;
  burn(cpuMs);
  return { cpuMs };
}

/** As `cpu`; returns when it ran, in ms of the kernel's monotonic clock. */
function timedCpu(args: { cpuMs?: number }): unknown {
  const now = (): number => Number(process.hrtime.bigint()) / 1e6;
  const began = now();
  burn(args.cpuMs ?? 10);
  return { began, ended: now() };
}

/** Splits the CPU time over a number of threads or child processes. */
async function parallel(args: {
  cpuMs?: number;
  workers?: number;
  processes?: boolean;
}): Promise<unknown> {
  const cpuMs = args.cpuMs ?? 100;
  const workers = args.workers ?? 2;
  const loop = 'let x=1;for(let i=0;i<5000;i++)x=(Math.imul(x,1664525)+1013904223)|0;';
  const done: Promise<unknown>[] = [];
  if (args.processes) {
    // A child's start counts as its work: its CPU time begins at 0.
    const code =
      `for(;;){${loop}const u=process.cpuUsage();` +
      `if(u.user+u.system>=${(cpuMs / workers) * 1000})break;}`;
    const { spawn } = require('node:child_process');
    for (let i = 0; i < workers; i++) {
      done.push(
        new Promise((resolve) => spawn(process.execPath, ['-e', code]).on('close', resolve)),
      );
    }
  } else {
    // Threads share one CPU time, so each burns until all of it is used.
    const { Worker } = require('node:worker_threads');
    const start = process.cpuUsage();
    const until = start.user + start.system + cpuMs * 1000;
    const code = `for(;;){${loop}const u=process.cpuUsage();if(u.user+u.system>=${until})break;}`;
    for (let i = 0; i < workers; i++) {
      done.push(new Promise((resolve) => new Worker(code, { eval: true }).on('exit', resolve)));
    }
  }
  await Promise.all(done);
  return { cpuMs, workers };
}

/**
 * Grows, holds, frees. A child grows outside of the action's process: an OOM kill there leaves the
 * action alive.
 */
async function memory(args: {
  megabytes?: number;
  megabytesPerSecond?: number;
  holdMs?: number;
  inChild?: boolean;
}): Promise<unknown> {
  const megabytes = args.megabytes ?? 64;
  const perSecond = args.megabytesPerSecond ?? 0;
  if (args.inChild) {
    const code =
      `const keep=[];const grow=${grow.toString()};` +
      `grow(${megabytes},${perSecond},keep).then(()=>process.exit(0))`;
    const { spawn } = require('node:child_process');
    const ended = await new Promise((resolve) => {
      spawn(process.execPath, ['-e', code]).on(
        'close',
        (status: number | null, signal: string | null) => resolve({ status, signal }),
      );
    });
    return { megabytes, child: ended };
  }
  const keep: Buffer[] = [];
  await grow(megabytes, perSecond, keep);
  await new Promise((resolve) => setTimeout(resolve, args.holdMs ?? 0));
  const held = keep.length;
  releaseBuffers(keep);
  return { megabytes: held };
}

async function io(args: { sleepMs?: number }): Promise<unknown> {
  await new Promise((resolve) => setTimeout(resolve, args.sleepMs ?? 100));
  return { sleepMs: args.sleepMs ?? 100 };
}

/**
 * Rounds of waiting and burning. The working set grows during the first half of them, as the
 * simulated host's does: touched all at once, it would be a burst of a whole core that hides how
 * little the rest of the activation needs.
 */
async function mixed(args: {
  rounds?: number;
  cpuMs?: number;
  sleepMs?: number;
  megabytes?: number;
}): Promise<unknown> {
  const rounds = args.rounds ?? 2;
  const keep: Buffer[] = [];
  const megabytes = args.megabytes ?? 0;
  for (let round = 0; round < rounds; round++) {
    const due = Math.ceil(megabytes * Math.min(1, (2 * (round + 1)) / rounds));
    await new Promise((resolve) => setTimeout(resolve, (args.sleepMs ?? 0) / rounds));
    // Touching memory is part of the CPU time of the activation.
    const begin = process.cpuUsage();
    await grow(due - keep.length, 0, keep);
    burn((args.cpuMs ?? 0) / rounds, begin);
  }
  const held = keep.length;
  releaseBuffers(keep);
  return { rounds, megabytes: held };
}

function noop(): unknown {
  return {};
}

function fail(): unknown {
  console.log('about to fail');
  throw new Error('boom');
}

function appError(): unknown {
  return { error: 'app said no' };
}

const source = (
  main: (...args: never[]) => unknown,
  ...helpers: ((...args: never[]) => unknown)[]
): string => [...helpers, main].map((part) => part.toString()).join('\n');

const sources = {
  noop: { code: source(noop), main: 'noop' },
  cpu: { code: source(cpu, burn), main: 'cpu' },
  timedCpu: { code: source(timedCpu, burn), main: 'timedCpu' },
  parallel: { code: source(parallel), main: 'parallel' },
  /** Out of memory where `megabytes` is above the container's limit. */
  memory: { code: source(memory, grow, releaseBuffers), main: 'memory' },
  /** Times out where `sleepMs` is above the action's limit. */
  io: { code: source(io), main: 'io' },
  mixed: { code: source(mixed, burn, grow, releaseBuffers), main: 'mixed' },
  fail: { code: source(fail), main: 'fail' },
  appError: { code: source(appError), main: 'appError' },
} as const;

export type ActionBody = keyof typeof sources;

export const actionBodies = Object.keys(sources) as ActionBody[];

/**
 * Source and entry point of one body. @param initCpuMs CPU time that loading it burns, inside
 * `/init`
 */
export function actionSource(body: ActionBody, initCpuMs = 0): { code: string; main: string } {
  const { code, main } = sources[body];
  if (initCpuMs === 0) return { code, main };
  const once = code.includes('function burn(') ? '' : `${burn.toString()}\n`;
  return { code: `${once}${code}\nburn(${initCpuMs});`, main };
}
