import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { ManualTime, type Millis, mebibytes } from '../../../config/index.js';
import {
  ActionsController,
  type Allowance,
  Journal,
  OpenWhiskRest,
  openChanges,
  type Wish,
} from '../../../openwhisk-plugin/index.js';
import { KEY, RestDouble, type Version } from './rest-double.js';

export const wish = (fn: string, mib: number): Wish => ({ function: fn, memory: mebibytes(mib) });
export const restTo = (apiHost: string, key = KEY, timeout = 10_000): OpenWhiskRest =>
  new OpenWhiskRest({ apiHost, key, timeout: timeout as Millis, ca: null });

export interface RigOptions {
  readonly keys?: readonly string[];
  readonly timeout?: number;
  readonly holdMs?: number;
  readonly allowance?: Allowance;
  readonly whileWaiting?: (double: RestDouble) => void;
  readonly prepare?: (double: RestDouble) => void;
}

/** A controller on a REST double, whose waits take no time; `waits` are those asked for, ms. */
export async function rig(t: ExecutionContext, version: Version, options: RigOptions = {}) {
  const double = await RestDouble.start(version);
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-actions-'));
  t.teardown(() => {
    double.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  options.prepare?.(double);
  const time = new ManualTime();
  const waits: number[] = [];
  const controller = await ActionsController.connect(
    (options.keys ?? [KEY]).map((key) => restTo(double.url, key, options.timeout)),
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
      options.whileWaiting?.(double);
    },
  );
  const path = join(folder, 'actions.journal');
  const withJournal = async <T>(act: (journal: Journal) => Promise<T>): Promise<T> => {
    const journal = Journal.open(path);
    try {
      return await act(journal);
    } finally {
      journal.close();
    }
  };
  return {
    double,
    controller,
    time,
    waits,
    path,
    apply: (...wishes: Wish[]) => withJournal((journal) => controller.apply(wishes, journal.entries, journal)),
    undo: () => withJournal((journal) => controller.undo(openChanges(journal.entries), journal)),
    open: () => openChanges(Journal.read(path)),
  };
}
