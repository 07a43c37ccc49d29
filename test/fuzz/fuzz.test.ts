import test from 'ava';
import { fuzzTargets } from './all.js';
import { fuzz } from './fuzz.js';

const MILLIS = 1500;

for (const target of fuzzTargets()) {
  test.serial(
    `damaged input to '${target.name}' gives no crash, no wrong limit, and bounded memory`,
    async (t) => {
      // Another seed each day finds what one seed does not; a failure says which it was.
      const seed = Math.floor(Date.now() / 86_400_000);
      t.teardown(async () => target.close?.());
      const { inputs, outcomes, grown } = await fuzz(target, {
        seed,
        inputs: 1_000_000,
        millis: MILLIS,
      });
      const counts = JSON.stringify(Object.fromEntries(outcomes));
      t.log(`${inputs} inputs, ${grown.toFixed(1)} MiB grown, ${counts}`);
      t.true(grown < 32, `${grown} MiB`);
      // Of any that are fed some are valid still, and some are refused: neither half of the edge is
      // left out.
      t.true(inputs < 200 || (outcomes.get('accepted') ?? 0) > 0);
      t.true(inputs < 200 || outcomes.size > 1);
    },
  );
}
