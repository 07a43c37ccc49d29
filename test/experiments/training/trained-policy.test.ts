import { join } from 'node:path';
import test from 'ava';
import { faasrmCheckpoint, faasrmSettings, shippedFaasrm } from '../../../agents/faasrm/index.js';
import { type Checkpoint, saveCheckpoint } from '../../../agents/nn/index.js';
import {
  policyCheckpoint,
  SIMPPO_NAMES,
  settingsOf,
  shippedPolicy,
} from '../../../agents/simppo/index.js';
import { loadTrainedPolicy } from '../../../experiments/training/index.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

const simppo = shippedPolicy('simppo', 'weight', settingsOf('simppo'))!;

/** A checkpoint as `gleaner train` writes it, with the options of its training. */
async function saved(checkpoint: Checkpoint, training?: Checkpoint['configuration']) {
  const folder = temporaryFolder('trained-policy');
  const configuration = { ...checkpoint.configuration, ...(training && { training }) };
  await saveCheckpoint(folder, { ...checkpoint, configuration });
  return folder;
}

for (const manager of SIMPPO_NAMES)
  test(`a policy of ${manager} is read with its mode and weights`, async (t) => {
    const settings = settingsOf(manager);
    const state = shippedPolicy(manager, 'quota', settings)!;
    const folder = await saved(policyCheckpoint(state, settings, 1), { manager, mode: 'quota' });
    t.deepEqual(await loadTrainedPolicy(folder), { manager, mode: 'quota', state });
  });

test('weights of faasrm from the cluster decide in quota mode', async (t) => {
  const state = shippedFaasrm('cluster')!;
  const checkpoint = faasrmCheckpoint(state, faasrmSettings, 1);
  const folder = await saved(checkpoint, { manager: 'faasrm', on: 'cluster' });
  t.deepEqual(await loadTrainedPolicy(folder), { manager: 'faasrm', mode: 'quota', state });
  const published = await saved(checkpoint, { manager: 'faasrm', on: 'freyr-2021' });
  const error = await t.throwsAsync(loadTrainedPolicy(published));
  t.regex(error!.message, /it was trained by the rules of freyr-2021/);
});

const checkpoint = policyCheckpoint(simppo, settingsOf('simppo'), 1);
for (const [what, wrong, training, message] of [
  ['without the options of its training', checkpoint, undefined, /names no training/],
  ['of another manager', checkpoint, { manager: 'aware', mode: 'quota' }, /names no training/],
  [
    'of an older layout of the inputs',
    { ...checkpoint, kind: 'simppo-inputs-1' },
    { manager: 'simppo', mode: 'weight' },
    /it is of 'simppo-inputs-1', not 'simppo-inputs-2'/,
  ],
  [
    'that is not of the manager it names',
    checkpoint,
    { manager: 'single-agent', mode: 'weight' },
    /'actor' is 29-64-64-7 tanh, not 16-64-64-7 tanh/,
  ],
  [
    'of faasrm with other features',
    {
      ...faasrmCheckpoint(shippedFaasrm('cluster')!, faasrmSettings, 1),
      configuration: { layout: 0 },
    },
    { manager: 'faasrm', on: 'cluster' },
    /its features are of layout 0/,
  ],
] as const)
  test(`a policy ${what} is refused, with its folder`, async (t) => {
    const folder = await saved(wrong, training);
    const error = await t.throwsAsync(loadTrainedPolicy(folder));
    t.regex(error!.message, message);
    t.true(error!.message.includes(join(folder)), error!.message);
  });
