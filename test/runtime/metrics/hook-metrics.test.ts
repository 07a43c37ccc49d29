import { mkdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { services } from '../../../broker/index.js';
import { callEveryInstance } from '../../../broker/services/index.js';
import { problemLines } from '../../../cli/commands/status.js';
import { auditCheck, HookMetrics, tapCheck } from '../../../runtime/metrics/index.js';
import { MetricSet } from '../../../runtime/metrics/metric-set.js';
import { HookRig } from '../../openwhisk-plugin/daemon/hook-rig.js';
import { until } from '../../support/gleaner.js';
import { seriesOf } from './exposition.js';

async function scrape(rig: HookRig, functions = 20): Promise<Map<string, number>> {
  const set = new MetricSet('hook');
  new HookMetrics(set, { functions }).update(
    rig.hook.figures(),
    rig.platform.time.monotonic() / 1000,
  );
  return seriesOf(await set.registry.metrics());
}

test('a prewarmed container is not counted as started for an activation', async (t) => {
  const rig = await new HookRig().start();
  rig.container({ name: 'wsk0_1_guest_hello' });
  rig.container({ name: 'wsk0_2_prewarm_nodejs20' });
  const series = await scrape(rig);
  t.is(series.get('gleaner_containers'), 2);
  t.is(series.get('gleaner_action_containers_total'), 1);
  await rig.hook.stop();
});

test('what the hook saw and did is on the page', async (t) => {
  const rig = await new HookRig().start();
  const container = rig.container();
  container.call(100, 500);
  container.call(100, 500, { late: 60 });
  container.unreadable();
  const series = await scrape(rig);
  // One /init, two /run, one head that could not be read.
  t.is(series.get('gleaner_requests_total'), 4);
  t.is(series.get('gleaner_activations_total{function="/guest/hello"}'), 2);
  t.is(series.get('gleaner_activation_ends_total{reason="answer"}'), 2);
  // No quota: weight mode, whose range is "weight"; the late one is decided too, and not enforced.
  t.is(series.get('gleaner_decisions_total{mode="enforce",reason="weight"}'), 2);
  // 60 ms after the kernel's stamp is above the 50 ms after which a start is late.
  t.is(series.get('gleaner_decision_fallbacks_total{reason="late"}'), 1);
  t.is(series.get('gleaner_decision_fallbacks_total{reason="unreadable_head"}'), 1);
  t.is(series.get('gleaner_decision_fallbacks_total{reason="no_target"}'), 0);
  t.is(series.get('gleaner_boosts_total'), 1);
  // The boost raises the weight, the answer of /init ends it.
  t.is(
    series.get(
      'gleaner_limit_updates_total{resource="cpu.shares",direction="raise",result="written"}',
    ),
    1,
  );
  t.true(
    series.get(
      'gleaner_limit_updates_total{resource="cpu.shares",direction="lower",result="written"}',
    )! >= 1,
  );
  // The second start came 60 ms late: beyond every bucket but 0.1 s and 1 s; the fake clock stands
  // still otherwise.
  t.is(series.get('gleaner_decision_lag_seconds_count'), 2);
  t.is(series.get('gleaner_decision_lag_seconds_bucket{le="0.01"}'), 1);
  t.is(series.get('gleaner_decision_lag_seconds_sum'), 0.06);
  t.is(series.get('gleaner_containers'), 1);
  t.is(series.get('gleaner_memory_limit_bytes{function="/guest/hello"}'), 256 * 1024 * 1024);
  t.deepEqual(
    ['observe', 'recommend', 'enforce'].map((mode) => series.get(`gleaner_mode{mode="${mode}"}`)),
    [0, 0, 1],
  );
  await rig.hook.stop();
});

test('a lost tap is in metrics, health and status until it listens again', async (t) => {
  const rig = await new HookRig().start();
  const other = { interfaceName: 'br-7', networkName: 'other', gateway: '172.18.0.1' };
  rig.platform.listener.bridgesChanged([...rig.platform.bridges, other]);
  const states = async (): Promise<(number | undefined)[]> => {
    const series = await scrape(rig);
    return ['listening', 'starting', 'lost'].map((state) =>
      series.get(`gleaner_tap_interfaces{state="${state}"}`),
    );
  };
  const seen = () => ({
    check: tapCheck(rig.hook.figures().host.tap),
    status: problemLines([rig.hook.inspect()]),
  });
  t.deepEqual(await states(), [2, 0, 0]);
  t.deepEqual(seen(), {
    check: { name: 'tap', state: 'ok', detail: 'listens on docker0, br-7' },
    status: '',
  });
  const since = new Date(Math.round(rig.platform.time.wall() / 1000)).toISOString();
  rig.platform.packets.lost('unavailable', 'br-7', 'tcpdump ended (code 1): no permission');
  rig.platform.packets.counted(7, 2);
  const text =
    'tap lost on br-7: tcpdump ended (code 1): no permission; ' +
    `user limits in force since ${since}`;
  t.deepEqual(await states(), [1, 0, 1]);
  t.deepEqual(seen(), {
    check: { name: 'tap', state: 'degraded', detail: text },
    status: `host-a: ${text}\n`,
  });
  const series = await scrape(rig);
  t.is(series.get('gleaner_tap_losses_total{reason="unavailable"}'), 1);
  t.is(series.get('gleaner_tap_interface_drops_total'), 7);
  t.is(series.get('gleaner_tap_counters_ignored_total'), 2);
  rig.platform.packets.listening('br-7');
  t.deepEqual(await states(), [2, 0, 0]);
  t.is(seen().check.state, 'ok');
  t.is(tapCheck([]).state, 'degraded');
  await rig.hook.stop();
});

test('an audit log that cannot be written is in health and status until it is', async (t) => {
  const rig = await new HookRig().start();
  const seen = () => ({
    check: auditCheck(rig.hook.figures().host.audit),
    status: problemLines([rig.hook.inspect()]),
  });
  const written = {
    check: { name: 'audit', state: 'ok', detail: 'audit log is written' },
    status: '',
  };
  const flushed = async (isDone: () => boolean): Promise<void> => {
    await until(
      () => {
        rig.advance(200);
        return isDone();
      },
      10_000,
      'a write',
    );
  };
  t.deepEqual(seen(), written);
  const path = join(rig.folder, 'audit.jsonl');
  mkdirSync(path);
  rig.container({ quota: 1000 }).call(400, 200);
  await flushed(() => rig.hook.figures().audit.failures > 0);
  const { check, status } = seen();
  t.is(check.state, 'degraded');
  t.regex(check.detail, /^audit log cannot be written: EISDIR.*; [1-9]\d* lines wait, 0 are lost$/);
  t.is(status, `host-a: ${check.detail}\n`);
  rmdirSync(path);
  await flushed(() => rig.hook.figures().audit.waiting === 0);
  t.deepEqual(seen(), written);
  await rig.hook.stop();
});

test('policy target without an agent: each start is a fallback with a reason', async (t) => {
  const rig = await new HookRig((config) => {
    Object.assign(config.decision.policy, { quota: 'target' });
  }).start();
  const container = rig.container({ quota: 500 });
  container.call(100, 100);
  container.call(100, 100);
  t.is((await scrape(rig)).get('gleaner_decision_fallbacks_total{reason="no_target"}'), 2);
  await rig.hook.stop();
});

test('a paused function is a metric of its own, and others continue', async (t) => {
  const rig = await new HookRig().start();
  rig.container().call(50, 100);
  rig.container().call(50, 100, { action: '/guest/other' });
  const { broker } = rig;
  await callEveryInstance(broker, {
    service: services.hook,
    endpoint: 'pause',
    request: { function: '/guest/hello' },
  });
  const series = await scrape(rig);
  t.is(series.get('gleaner_paused{function="/guest/hello"}'), 1);
  t.is(series.get('gleaner_paused{function="/guest/other"}'), 0);
  t.is(series.get('gleaner_functions_paused'), 1);
  await rig.hook.stop();
});

test('forty functions with three labels: four label values, and the sum is complete', async (t) => {
  const rig = await new HookRig().start();
  for (let i = 0; i < 40; i++) rig.container().call(20, 100, { action: `/guest/f${i}` });
  const series = await scrape(rig, 3);
  const activations = [...series].filter(([key]) => key.startsWith('gleaner_activations_total{'));
  t.is(activations.length, 4);
  t.is(
    activations.reduce((sum, [, value]) => sum + value, 0),
    40,
  );
  t.is(series.get('gleaner_activations_total{function="other"}'), 37);
  // 40 containers of 256 MB, with or without their own label.
  const memory = [...series].filter(([key]) => key.startsWith('gleaner_memory_limit_bytes{'));
  t.is(
    memory.reduce((sum, [, value]) => sum + value, 0),
    40 * 256 * 1024 * 1024,
  );
  await rig.hook.stop();
});
