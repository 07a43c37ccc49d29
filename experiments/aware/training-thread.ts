import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { saveMeta } from '../../agents/aware/index.js';
import { defaultEngine } from '../../agents/nn/index.js';
import { awareApps, shippedSplit } from '../../simulator/workload/index.js';
import { type MetaTraining, trainMetaLearner } from './meta-training.js';

export interface TrainingRequest {
  readonly folder: string;
  readonly training: MetaTraining;
}

/** Applications of a part, by the shipped split: `test` are the 200 held-out ones [AWARE]. */
export function appsOf(part: 'train' | 'validation' | 'test') {
  const apps = awareApps();
  return shippedSplit('aware').functions[part].map(
    (name) => apps[Number(name.slice(name.lastIndexOf('-') + 1))]!,
  );
}

if (!isMainThread && (workerData as { kind?: unknown } | null)?.kind === 'aware-training') {
  const { folder, training } = (workerData as { request: TrainingRequest }).request;
  const port = parentPort!;
  const meta = trainMetaLearner(
    defaultEngine(() => {}),
    [...appsOf('train'), ...appsOf('validation')],
    training,
    (progress) => port.postMessage(progress),
  );
  await saveMeta(folder, meta, {
    by: `gleaner train-meta${training.empty === 1 ? ' --without-embedding' : ''}`,
    of: '800 composed applications',
    ...training,
  });
}
