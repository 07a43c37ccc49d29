import test from 'ava';
import { missing, realParts } from '../real-parts.js';
import { soak } from './soak.js';

test('twelve seconds of the soak: containers and functions change, and no descriptor, consumer or file is left', async (t) => {
  if (missing(t, [...realParts, ['ip', '-V']])) return;
  const result = await soak({ minutes: 0.2, seed: 1, manager: 'simppo', log: (line) => t.log(line) });
  t.deepEqual(result.restarted, []);
  t.is(result.failed, 0);
  t.true(result.sent > 0);
  // Memory says nothing in so short a time: every part is still warming up.
  const counted = result.growth.filter(({ unit }) => unit === '');
  for (const name of ['hook descriptors', 'consumers', 'streams', 'files in the state folder'])
    t.true(
      counted.some((each) => each.name === name),
      `${name} is watched`,
    );
  for (const { name, quarters } of counted.filter(({ grows }) => grows)) t.log(name, quarters);
  t.deepEqual(
    counted.filter(({ grows, name }) => grows && !name.endsWith('messages')),
    [],
  );
});
