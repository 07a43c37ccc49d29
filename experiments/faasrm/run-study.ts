import { faasrmParameters, faasrmWeights, shippedFaasrm } from '../../agents/faasrm/index.js';
import {
  CORRECTED_CONTENDERS,
  type CorrectedSection,
  type CorrectedSetting,
  correctedSection,
} from './corrected-study.js';
import { type PublishedRow, publishedStudy } from './published-study.js';

/**
 * Held-out settings in which about half of the memory is held by calls; a little more and calls
 * only wait.
 */
const SETTINGS: readonly CorrectedSetting[] = [
  { workload: 'profiles-12', load: 0.35, calls: 40_000 },
  { workload: 'azure-sample:100', load: 0.2, calls: 12_000 },
];
const QUICK_SETTINGS: readonly CorrectedSetting[] = [
  { workload: 'profiles-12', load: 0.35, calls: 5000 },
];
const FUNCTIONS = [10, 50, 1000];
const QUICK_FUNCTIONS = [10, 50];
export const FAASRM_SEEDS = 10;
export const FAASRM_QUICK_SEEDS = 5;
/** By the published rules hardly anything is drawn. */
const PUBLISHED_SEEDS = 5;

export interface FaasrmResults {
  readonly published: readonly PublishedRow[];
  readonly corrected: readonly CorrectedSection[];
}

/** Both halves, with the weights that come with the product. */
export function runFaasrm(
  quick: boolean,
  seeds: readonly number[],
  onRun: (done: number, all: number) => void,
): FaasrmResults {
  const [cluster, rules] = [shippedFaasrm('cluster'), shippedFaasrm('freyr-2021')];
  if (cluster === null || rules === null)
    throw new Error('the weights that come with the product are missing');
  const settings = quick ? QUICK_SETTINGS : SETTINGS;
  const all = settings.length * CORRECTED_CONTENDERS.length * seeds.length;
  let done = 0;
  const material = { parameters: faasrmParameters(0, false), weights: faasrmWeights(cluster) };
  return {
    published: publishedStudy(
      quick ? QUICK_FUNCTIONS : FUNCTIONS,
      seeds.slice(0, PUBLISHED_SEEDS),
      rules.actor,
    ),
    corrected: settings.map((setting) =>
      correctedSection(setting, seeds, material, () => onRun(++done, all)),
    ),
  };
}
