import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { type Millis, mebibytes } from '../../../config/index.js';
import {
  ActionWriter,
  type FindHolds,
  Journal,
  type LimitRequest,
  OpenWhiskRest,
  openChanges,
} from '../../../openwhisk-plugin/openwhisk-api/index.js';
import type { Allowance } from '../../../openwhisk-plugin/openwhisk-api/plan.js';
import { ManualTime } from '../../support/manual-time.js';
import { FakeOpenWhiskRest, KEY, type Version } from './fake-openwhisk-rest.js';

export const request = (fn: string, mib: number): LimitRequest => ({
  function: fn,
  memory: mebibytes(mib),
});
export const restTo = (apiHost: string, key = KEY, timeout = 10_000): OpenWhiskRest =>
  new OpenWhiskRest({ apiHost, key, timeout: timeout as Millis, ca: null });

export const nothingHeld: FindHolds = async () => new Map();

export interface RigOptions {
  readonly keys?: readonly string[];
  readonly timeout?: number;
  readonly holdMs?: number;
  readonly allowance?: Allowance;
  readonly findHolds?: FindHolds;
  readonly whileWaiting?: (fakeOpenWhisk: FakeOpenWhiskRest) => void;
  readonly prepare?: (fakeOpenWhisk: FakeOpenWhiskRest) => void;
}

/** An action writer on a fake REST API, whose waits take no time; `waits`: those asked for, ms. */
export async function rig(t: ExecutionContext, version: Version, options: RigOptions = {}) {
  const fakeOpenWhisk = await FakeOpenWhiskRest.start(version);
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-actions-'));
  t.teardown(() => {
    fakeOpenWhisk.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  options.prepare?.(fakeOpenWhisk);
  const time = new ManualTime();
  const waits: number[] = [];
  const writer = await ActionWriter.connect(
    (options.keys ?? [KEY]).map((key) => restTo(fakeOpenWhisk.url, key, options.timeout)),
    {
      changesPerMinute: 6,
      holdMs: options.holdMs ?? 0,
      waitForHost: true,
      attempts: 4,
      backOff: 1000 as Millis,
      allowanceOf: () => options.allowance ?? { mode: 'enforce' },
    },
    time,
    async (span) => {
      waits.push(span);
      time.advance(span);
      options.whileWaiting?.(fakeOpenWhisk);
    },
  );
  const path = join(folder, 'actions.journal');
  const withJournal = async <T>(act: (journal: Journal) => Promise<T>): Promise<T> => {
    const journal = await Journal.open(path);
    try {
      return await act(journal);
    } finally {
      journal.close();
    }
  };
  return {
    fakeOpenWhisk,
    writer,
    time,
    waits,
    path,
    apply: (...requests: LimitRequest[]) =>
      withJournal((journal) =>
        writer.apply(requests, journal.entries, journal, options.findHolds ?? nothingHeld),
      ),
    undo: () => withJournal((journal) => writer.undo(openChanges(journal.entries), journal)),
    open: () => openChanges(Journal.read(path)),
  };
}
