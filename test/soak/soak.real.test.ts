import test from 'ava';
import { missing, realParts } from '../support/real-parts.js';
import { soak } from './soak.js';

/**
 * 60 containers of 17 files each (openwhisk-plugin/host/cgroup/file-budget.ts), and what the
 * process has besides.
 */
const HOOK_DESCRIPTORS = 60 * 17 + 200;
/**
 * In so short a time everything is still warming up, so that growth says nothing: what is counted
 * stays below what a leak of one for each container, function or visit would soon pass. An hour of
 * it by hand looks for growth (README.md).
 */
const MOST: Readonly<Record<string, number>> = {
  'hook descriptors': HOOK_DESCRIPTORS,
  'agents descriptors': 60,
  'aggregator descriptors': 60,
  'dashboard descriptors': 60,
  streams: 12,
  consumers: 12,
  'files in the state folder': 30,
};

test('six seconds of the soak leave no descriptor, consumer or file behind', async (t) => {
  if (missing(t, [...realParts, ['ip', '-V']])) return;
  const result = await soak({
    minutes: 0.1,
    seed: 1,
    manager: 'simppo',
    log: (line) => t.log(line),
  });
  t.deepEqual(result.restarted, []);
  t.is(result.failed, 0);
  t.true(result.sent > 0);
  for (const [name, bound] of Object.entries(MOST)) {
    const seen = result.growth.find((each) => each.name === name);
    t.true(seen !== undefined && seen.most <= bound, `${name}: ${seen?.most} of ${bound}`);
  }
  t.true(result.growth.some(({ name }) => name === 'hook heap after collection'));
});
