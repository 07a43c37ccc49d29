import { faasrmParameters, faasrmWeights, shippedFaasrm } from '../../agents/faasrm/index.js';
import type { SeededStudy } from '../reproduction.js';
import {
  CORRECTED_CONTENDERS,
  type CorrectedSection,
  type CorrectedSetting,
  correctedSection,
} from './corrected-study.js';
import { type PublishedRow, publishedStudy } from './published-study.js';
import { faasrmMisses, faasrmReport } from './reproduce.js';

/**
 * Held-out settings in which about half of the memory is held by activations; a little more and
 * activations only wait.
 */
const SETTINGS: readonly CorrectedSetting[] = [
  { workload: 'profiles-12', load: 0.35, activations: 40_000 },
  { workload: 'azure-sample:100', load: 0.2, activations: 12_000 },
];
const QUICK_SETTINGS: readonly CorrectedSetting[] = [
  { workload: 'profiles-12', load: 0.35, activations: 5000 },
];
const FUNCTIONS = [10, 50, 1000];
const QUICK_FUNCTIONS = [10, 50];
/** By the published rules hardly anything is drawn. */
const PUBLISHED_SEEDS = 5;

export const faasrmReproduction: SeededStudy = {
  name: 'faasrm',
  description:
    "FaaSRM's learned choice with the published simulator's rules and on the cluster model, " +
    'with fixed, greedy, ensure, libra and lower bounds (10 min; --quick: 10 s)',
  firstSeed: 1,
  seeds: 10,
  quickSeeds: 5,
  run({ seeds, quick, command, onRun }) {
    const { published, corrected } = runFaasrm(quick, seeds, onRun);
    return {
      markdown: faasrmReport(published, corrected, command),
      figures: { published, corrected },
      missed: faasrmMisses(corrected),
    };
  },
};

/** Both halves, with the weights that come with the product. */
function runFaasrm(
  quick: boolean,
  seeds: readonly number[],
  onRun: (done: number, all: number) => void,
): { readonly published: PublishedRow[]; readonly corrected: CorrectedSection[] } {
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
