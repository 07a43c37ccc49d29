import { cpus, totalmem } from 'node:os';
import {
  type Action,
  actionSource,
  ensureActionImage,
  InvokerEmulator,
} from '../../simulator/invoker-emulator/index.js';
import { atLeast, type BenchRow, promise, row, within } from '../report.js';
import { GleanerProcess } from './gleaner-process.js';

const action = (name: string, memoryMb: number): Action => ({
  namespace: 'guest',
  name,
  version: '0.0.1',
  ...actionSource('memory'),
  memoryMb,
  timeoutMs: 60_000,
});

/**
 * Memory under both policies on real containers. `guarantee`: a function killed at its user limit
 * gets a loan, and lenders that grow to their own limits lose nothing. `faasrm`: harvested memory
 * and OOM kills.
 */
export async function benchMemory(options: { log: (line: string) => void }): Promise<BenchRow[]> {
  return [...(await guarantee(options.log)), ...(await faasrm(options.log))];
}

async function guarantee(log: (line: string) => void): Promise<BenchRow[]> {
  const image = await ensureActionImage();
  const invoker = new InvokerEmulator({
    image,
    prefix: 'wskglm0',
    userMemoryMb: 4096,
    pauseGraceMs: 600_000,
  });
  const gleaner = new GleanerProcess({ hook: { containerPrefix: 'wskglm0' }, mode: 'observe' });
  const overLimit = action('hungry', 128);
  try {
    await invoker.start();
    await gleaner.start();
    const outcomes = async (count: number): Promise<string[]> => {
      const kinds: string[] = [];
      for (let i = 0; i < count; i++) {
        kinds.push(
          (
            await invoker.invoke(overLimit, {
              megabytes: 130,
              megabytesPerSecond: 400,
              holdMs: 200,
            })
          ).kind,
        );
      }
      return kinds;
    };
    const without = await outcomes(3);
    await gleaner.setWrites(true);
    const withLoan = await outcomes(6);
    log(`128 MB function that needs about 180 MB: without writes ${without}; with ${withLoan}`);

    const lenders = Array.from({ length: 8 }, (_, i) => action(`lender${i}`, 256));
    const small = await Promise.all(
      lenders.map((each) => invoker.invoke(each, { megabytes: 20, holdMs: 300 })),
    );
    const all = await Promise.all([
      ...lenders.map((each) =>
        invoker.invoke(each, { megabytes: 180, megabytesPerSecond: 300, holdMs: 500 }),
      ),
      invoker.invoke(overLimit, { megabytes: 130, megabytesPerSecond: 400, holdMs: 500 }),
    ]);
    const lost = all.slice(0, lenders.length).filter((result) => !result.ok).length;
    return [
      within(
        'memory.guarantee.killed.off',
        without.filter((kind) => kind === 'oom').length,
        3,
        0,
        'of 3',
        'the function does not need more than its limit, so a loan saves nothing',
      ),
      row(
        'memory.guarantee.killed.on',
        withLoan.filter((kind) => kind !== 'success').length,
        'of 6',
        {
          goal: '<= 1',
          note: withLoan.join(', '),
        },
      ),
      promise(
        'memory.guarantee.lenders.lost',
        lost + small.filter((result) => !result.ok).length,
        `of ${lenders.length}`,
        { note: 'all at their user limits while the loan stands' },
      ),
    ];
  } finally {
    await gleaner.stop();
    await invoker.stop();
  }
}

async function faasrm(log: (line: string) => void): Promise<BenchRow[]> {
  const image = await ensureActionImage();
  const invoker = new InvokerEmulator({
    image,
    prefix: 'wskglm0',
    userMemoryMb: 4096,
    pauseGraceMs: 600_000,
  });
  const gleaner = new GleanerProcess({
    hook: { containerPrefix: 'wskglm0' },
    mode: 'enforce',
    decision: { memory: { policy: 'faasrm' }, controlShare: 0 },
  });
  const steady = [32, 64, 96].map((megabytes) => ({
    megabytes,
    action: action(`steady${megabytes}`, 256),
  }));
  const fastGrowing = action('jumper', 256);
  let activations = 0;
  let kills = 0;
  // User memory x run time of all activations, MiB x s: what the harvested part is a share of.
  let held = 0;
  const note = (result: { kind: string; runMs: number }): void => {
    activations++;
    held += (256 * result.runMs) / 1000;
    if (result.kind === 'oom') kills++;
  };
  try {
    await invoker.start();
    await gleaner.start();
    for (let round = 0; round < 12; round++) {
      for (const { megabytes, action: each } of steady) {
        note(await invoker.invoke(each, { megabytes, megabytesPerSecond: 500, holdMs: 250 }));
      }
      // Eleven quiet activations, then 100 MB within 100 ms.
      const megabytes = round < 11 ? 20 : 120;
      note(await invoker.invoke(fastGrowing, { megabytes, megabytesPerSecond: 1000, holdMs: 250 }));
    }
    const functions = (await gleaner.command('functions')) as {
      harvestedMebibyteSeconds: number;
    }[];
    const harvested = functions.reduce((sum, fn) => sum + fn.harvestedMebibyteSeconds, 0);
    log(`faasrm: ${activations} activations, ${kills} OOM kills`);
    return [
      atLeast(
        'memory.faasrm.harvest',
        harvested,
        1,
        'MiB x s',
        'no memory limit was lowered, so nothing could be killed by that',
      ),
      row('memory.faasrm.harvested', harvested / held, 'share of user memory', {
        note:
          `as it is: ${harvested.toFixed(0)} of ${held.toFixed(0)} MiB x s ` +
          'while activations ran',
      }),
      row('memory.faasrm.oom', kills, `of ${activations}`, {
        note:
          'one function grows by 100 MB in 100 ms; ' +
          `${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB`,
      }),
    ];
  } finally {
    await gleaner.stop();
    await invoker.stop();
  }
}
