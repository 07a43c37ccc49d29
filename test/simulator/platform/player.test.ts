import test from 'ava';
import { Player } from '../../../simulator/platform/index.js';
import { fn, scene } from './scene.js';

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));

test('without a pace a run ends as soon as it can, at the simulated time it needs', async (t) => {
  const s = await scene([fn('a', [0, 50_000], 100)]);
  const player = new Player(s.platform.host, {
    speed: Number.POSITIVE_INFINITY,
    lingerMicros: 1_000_000,
  });
  t.is(player.state, 'ready');
  t.is(await player.play(), 'finished');
  t.is(player.state, 'finished');
  t.is(s.platform.host.ended, 2);
  t.true(s.platform.host.now >= 51_100_000 && s.platform.host.now <= 51_200_000);
});

test('what is promised meanwhile is kept during the run', async (t) => {
  const s = await scene([fn('a', [0, 1000], 100)]);
  let result = '';
  let at = -1;
  s.at(500, async () => {
    result = await s.limits(0).lowerMemory((100 * 1024 * 1024) as never);
    at = s.platform.host.now;
  });
  await new Player(s.platform.host, { speed: Number.POSITIVE_INFINITY }).play();
  t.is(result, 'written');
  t.true(at < 600_000, `${at}`);
});

test('at a multiple of real time a simulated second takes its share of a real one', async (t) => {
  const s = await scene([fn('a', [0, 3900], 100)]);
  const started = performance.now();
  const player = new Player(s.platform.host, { speed: 10 });
  t.is(await player.play(), 'finished');
  const took = performance.now() - started;
  // 4 s at 10: .4 s, and never faster; slower where the machine is busy.
  t.true(took >= 380, `${took}`);
  t.true(took < 5000, `${took}`);
});

test('paused, simulated time stands still; resumed, it goes on from there', async (t) => {
  const s = await scene([fn('a', [0], 100)]);
  s.platform.host.repeat = true;
  const player = new Player(s.platform.host, { speed: 20 });
  const done = player.play();
  await sleep(50);
  player.pause();
  t.is(player.state, 'paused');
  await sleep(30);
  const stood = s.platform.host.now;
  t.true(stood > 0);
  await sleep(50);
  t.is(s.platform.host.now, stood);
  player.speed = 40;
  t.is(player.speed, 40);
  void player.play();
  await sleep(60);
  t.true(s.platform.host.now > stood);
  // A pause leaves no debt of time behind.
  t.true(s.platform.host.now - stood < 40 * 3_000_000);
  player.stop();
  t.is(await done, 'stopped');
  t.is(player.state, 'stopped');
});

test('stopped while paused, it ends', async (t) => {
  const s = await scene([fn('a', [0, 60_000], 100)]);
  const player = new Player(s.platform.host);
  const done = player.play();
  player.pause();
  await sleep(20);
  player.stop();
  t.is(await done, 'stopped');
});

test('a speed must be positive', async (t) => {
  const s = await scene([fn('a', [0], 100)]);
  t.throws(() => new Player(s.platform.host, { speed: 0 }), { instanceOf: RangeError });
  const player = new Player(s.platform.host);
  t.throws(
    () => {
      player.speed = Number.NaN;
    },
    { instanceOf: RangeError },
  );
});
