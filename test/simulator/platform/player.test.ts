import test from 'ava';
import { Player } from '../../../simulator/platform/index.js';
import { fn, scene } from './scene.js';

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));

test('without a pace a run ends as soon as it can, at the simulated time it needs', async (t) => {
  const s = await scene([fn('a', [0, 50_000], 100)]);
  const player = new Player(s.platform, { speed: Number.POSITIVE_INFINITY });
  t.is(await player.play(), 'finished');
  t.is(s.platform.cluster.accounts.ended, 2);
  t.true(s.platform.now >= 50_100_000 && s.platform.now <= 50_120_000);
});

test('what is promised meanwhile is kept during the run', async (t) => {
  const s = await scene([fn('a', [0, 1000], 100)]);
  let result = '';
  let at = -1;
  s.at(500, async () => {
    result = await s.limits(0).lowerMemory((100 * 1024 * 1024) as never);
    at = s.platform.now;
  });
  await new Player(s.platform, { speed: Number.POSITIVE_INFINITY }).play();
  t.is(result, 'written');
  t.true(at < 600_000, `${at}`);
});

test('at a multiple of real time a simulated second takes its share of a real one', async (t) => {
  const s = await scene([fn('a', [0, 3900], 100)]);
  const started = performance.now();
  const player = new Player(s.platform, { speed: 10 });
  t.is(await player.play(), 'finished');
  const took = performance.now() - started;
  // 4 s at 10: .4 s, and never faster; slower where the machine is busy.
  t.true(took >= 380, `${took}`);
  t.true(took < 5000, `${took}`);
});

test('stopped, it ends and simulated time stands still', async (t) => {
  const s = await scene([fn('a', [0, 60_000], 100)]);
  const player = new Player(s.platform);
  const done = player.play();
  await sleep(30);
  player.stop();
  t.is(await done, 'stopped');
  const { now } = s.platform;
  await sleep(30);
  t.is(s.platform.now, now);
  t.true(now < 60_000_000);
});

test('a speed must be positive', async (t) => {
  const s = await scene([fn('a', [0], 100)]);
  t.throws(() => new Player(s.platform, { speed: 0 }), { instanceOf: RangeError });
  t.throws(() => new Player(s.platform, { speed: Number.NaN }), { instanceOf: RangeError });
});
