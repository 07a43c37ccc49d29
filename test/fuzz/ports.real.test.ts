import test from 'ava';
import { fuzz } from './fuzz.js';
import { portTargets } from './ports.js';

const MILLIS = 10_000;

test('raw bytes on any listening port end no process and use bounded memory', async (t) => {
  const seed = Math.floor(Date.now() / 86_400_000);
  // At the same time, so that this takes as long as one.
  await Promise.all(
    portTargets().map(async (target) => {
      await target.open();
      try {
        const { inputs, outcomes, early, late } = await fuzz(target, {
          seed,
          inputs: 1_000_000,
          millis: MILLIS,
        });
        const memory = `${early.toFixed(0)} to ${late.toFixed(0)} MiB`;
        const counts = JSON.stringify(Object.fromEntries(outcomes));
        t.log(`${target.name}: ${inputs} inputs, ${memory}, ${counts}`);
        t.true(late - early < 100, `${target.name}: from ${early} to ${late} MiB`);
        // Both halves of the edge are tried.
        t.true((outcomes.get('accepted') ?? 0) > 0 && outcomes.size > 3, target.name);
      } finally {
        await target.close();
      }
    }),
  );
});
