import { defaultEngine, loadMeta, shippedMeta } from '../../agents/index.js';
import { type AwareStudyRequest, appsOf, awareStudy } from '../../simulator/index.js';
import { stderrProgress } from '../progress.js';
import { awareMissed, awareReport } from './aware.js';

/** `gleaner reproduce aware`: some four minutes of one core, half a minute with --quick. */
const AWARE: Omit<AwareStudyRequest, 'heldOut' | 'sources'> = {
  pairs: 20,
  perScenario: 3,
  surveyEpisodes: 8,
  sourceEpisodes: 300,
  adaptationEpisodes: 100,
  beforeEpisodes: 60,
  afterEpisodes: 80,
  bootstrapEpisodes: 300,
  triplets: 5000,
  tripletEpisodes: 2,
};
const AWARE_QUICK: typeof AWARE = {
  ...AWARE,
  pairs: 4,
  perScenario: 1,
  surveyEpisodes: 4,
  sourceEpisodes: 200,
  adaptationEpisodes: 60,
  beforeEpisodes: 60,
  afterEpisodes: 60,
  bootstrapEpisodes: 100,
  triplets: 1000,
  tripletEpisodes: 2,
};
const AWARE_SOURCES = 5;
const QUICK_HELD_OUT = 40;

/** The study on the shipped meta-learner, or on that of a folder. */
export function reproduceAware(quick: boolean, meta: string | undefined, command: string) {
  const some = <T>(from: readonly T[], count: number): T[] =>
    Array.from({ length: count }, (_, i) => from[Math.floor((i * from.length) / count)]!);
  const request = {
    ...(quick ? AWARE_QUICK : AWARE),
    heldOut: quick ? some(appsOf('test'), QUICK_HELD_OUT) : appsOf('test'),
    sources: some(appsOf('train'), quick ? 2 : AWARE_SOURCES),
  };
  const warn = (text: string): void => void process.stderr.write(`gleaner: ${text}\n`);
  const tools = { engine: defaultEngine(warn), meta: meta === undefined ? shippedMeta() : loadMeta(meta) };
  const progress = stderrProgress();
  const study = awareStudy(tools, request, (share, what) => progress.update(share, what));
  progress.end();
  return { markdown: awareReport(study, request, command), figures: study, missed: awareMissed(study) };
}
