import { readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { millis } from '../../../../config/index.js';
import { emptySample } from '../../../../openwhisk-plugin/decision/index.js';
import { CgroupUsageMonitor } from '../../../../openwhisk-plugin/host/cgroup/index.js';
import { ManualTime } from '../../../support/manual-time.js';
import { FixtureTree, ID, container as info, V2_SCOPE, v1Mount, v2Tree } from './fixture-tree.js';

const MIB = 1024 * 1024;

function v2(files: Record<string, string> = {}) {
  const built = v2Tree(files);
  const time = new ManualTime();
  const monitor = new CgroupUsageMonitor({ root: built.tree.root, clock: time });
  const probe = monitor.open(built.container);
  const sample = emptySample();
  t0(probe.sample(sample));
  const close = (): void => {
    probe.close();
    monitor.close();
    built.tree.remove();
  };
  return {
    ...built,
    time,
    monitor,
    probe,
    sample,
    close,
    runs: () => built.put('cpu.stat', busy()),
  };
}

let used = 10_000;
/**
 * A `cpu.stat` that says that the container has run since the last one: what has not is not looked
 * at in full.
 */
const busy = (): string => `usage_usec ${++used}\nnr_periods 0\nnr_throttled 0\n`;

const t0 = (fine: boolean): void => {
  if (!fine) throw new Error('the sample could not be read');
};

test('the working set is the use without inactive page cache', (t) => {
  const { sample, close } = v2({
    'memory.current': `${200 * MIB}\n`,
    'memory.stat':
      `anon ${70 * MIB}\nfile ${130 * MIB}\n` +
      `inactive_file ${120 * MIB}\nactive_file ${10 * MIB}\n`,
  });
  t.is(sample.workingSet as number, 80 * MIB);
  close();
});

test('processes killed are counted, not the times a limit was met', (t) => {
  const { sample, put, probe, runs, close } = v2({
    'memory.events': 'low 0\nhigh 12\nmax 40\noom 1\noom_kill 0\noom_group_kill 0\n',
  });
  t.is(sample.oomKills, 0);
  t.is(sample.limitHits, 40);
  put('memory.events', 'low 0\nhigh 12\nmax 40\noom 1\noom_kill 2\noom_group_kill 0\n');
  runs();
  probe.sample(sample);
  t.is(sample.oomKills, 2);
  close();
});

test('throttled periods are read beside all periods', (t) => {
  const { sample, probe, close } = v2({
    'cpu.stat': 'usage_usec 77\nnr_periods 50\nnr_throttled 30\nthrottled_usec 9\n',
  });
  t.is(sample.periods, 50);
  t.is(sample.throttledPeriods, 30);
  t.is(probe.cpu(), 77);
  close();
});

test('without a peak that can be reset the peak is unknown', (t) => {
  const { sample, close } = v2();
  t.is(sample.peak, -1);
  close();
});

test('a peak whose file opens for writing but cannot be reset is unknown', (t) => {
  const { tree, put, container } = v2Tree();
  // As `memory.peak` before kernel 6.12: mode 0444, root opens it for writing, a write fails with
  // EINVAL. `oom_score` is such a file everywhere.
  symlinkSync('/proc/self/oom_score', join(tree.root, V2_SCOPE, 'memory.peak'));
  const monitor = new CgroupUsageMonitor({ root: tree.root });
  const probe = monitor.open(container);
  const sample = emptySample();
  t.true(probe.sample(sample));
  t.is(sample.peak, -1);
  probe.resetPeak();
  put('cpu.stat', busy());
  t.true(probe.sample(sample));
  t.is(sample.peak, -1);
  probe.close();
  monitor.close();
  tree.remove();
});

test('a peak that can be reset is the one since the reset, on either version', (t) => {
  const { sample, put, probe, runs, close } = v2({ 'memory.peak': `${212 * MIB}\n` });
  t.is(sample.peak, 212 * MIB);
  put('memory.peak', `${90 * MIB}\n`);
  runs();
  t.true(probe.sample(sample));
  t.is(sample.peak, 90 * MIB);
  close();
});

test('a frozen cgroup is paused within a second; one that uses CPU is not', (t) => {
  const { sample, put, probe, time, close } = v2();
  t.false(sample.frozen);
  put('cgroup.freeze', '1\n');
  time.advance(millis(999));
  probe.sample(sample);
  t.false(sample.frozen);
  time.advance(millis(1));
  probe.sample(sample);
  t.true(sample.frozen);
  put('cgroup.freeze', '0\n');
  probe.sample(sample);
  t.false(sample.frozen, 'that it goes on is seen at once');
  put('cgroup.freeze', '1\n');
  put('cpu.stat', 'usage_usec 2500\nnr_periods 0\nnr_throttled 0\n');
  time.advance(millis(1000));
  probe.sample(sample);
  t.false(sample.frozen);
  close();
});

test('waiting for a CPU is the pressure on v2', (t) => {
  const { sample, put, probe, time, runs, close } = v2();
  t.is(sample.waiting, 321);
  put('cpu.pressure', 'some avg10=0.00 avg60=0.00 avg300=0.00 total=400\n');
  runs();
  probe.sample(sample);
  t.is(sample.waiting, 321, 'it adds up: read once a second');
  time.advance(millis(1000));
  runs();
  probe.sample(sample);
  t.is(sample.waiting, 400);
  close();
});

test('time that its own quota holds a container back is no wait for others', (t) => {
  const { sample, put, probe, time, close } = v2();
  const read = (pressure: number, throttled: number): number => {
    put('cpu.pressure', `some avg10=0.00 avg60=0.00 avg300=0.00 total=${pressure}\n`);
    const text = `usage_usec ${1_000_000 + pressure}\nnr_periods 9\nnr_throttled 3\n`;
    put('cpu.stat', `${text}throttled_usec ${throttled}\n`);
    time.advance(millis(1000));
    probe.sample(sample);
    return sample.waiting;
  };
  // 321 us at the beginning; then 300,000 more, of which the quota took 240,000.
  t.is(read(300_321, 240_000), 321 + 60_000);
  // On several cores at once throttling takes more time than passes: that is no negative wait.
  t.is(read(350_321, 400_000), 321 + 60_000);
  t.is(read(351_321, 400_000), 321 + 61_000);
  close();
});

test('v1 keys are found in any order; waiting is wait_sum or the first process’s', (t) => {
  const controllers = ['cpu', 'cpuacct', 'memory', 'freezer'];
  const tree = new FixtureTree().proc(
    controllers.map((name, i) => `${i + 1}:${name}:/docker/${ID}`).join('\n'),
    controllers.map((name) => v1Mount(name)),
  );
  const put = (controller: string, name: string, text: string): void =>
    void tree.write(`sys/fs/cgroup/${controller}/docker/${ID}/${name}`, text);
  put('cpuacct', 'cpuacct.usage', '123456789\n');
  put('cpu', 'cpu.stat', 'nr_periods 10\nnr_throttled 4\nthrottled_time 5\n');
  put('memory', 'memory.usage_in_bytes', `${200 * MIB}\n`);
  put(
    'memory',
    'memory.stat',
    `inactive_file 1\ncache 2\ntotal_cache 3\n` +
      `total_inactive_file ${120 * MIB}\ntotal_active_file 5\n`,
  );
  put('memory', 'memory.oom_control', 'oom_kill_disable 0\nunder_oom 0\noom_kill 3\n');
  put('memory', 'memory.failcnt', '17\n');
  put('memory', 'memory.memsw.failcnt', '4\n');
  put('memory', 'memory.max_usage_in_bytes', `${201 * MIB}\n`);
  put('freezer', 'freezer.state', 'FREEZING\n');
  const monitor = new CgroupUsageMonitor({ root: tree.root });
  const probe = monitor.open(info());
  const sample = emptySample();
  t.true(probe.sample(sample));
  t.is(sample.cpu as number, 123456.789);
  t.is(sample.workingSet as number, 80 * MIB);
  t.is(sample.oomKills, 3);
  t.is(sample.limitHits, 21);
  t.is(sample.peak, 201 * MIB);
  t.is(sample.throttledPeriods, 4);
  t.true(sample.frozen);
  // proc/<pid>/schedstat: run time, wait time, slices; nanoseconds.
  t.is(sample.waiting, 2500);
  put('cpu', 'cpu.stat', 'nr_periods 10\nnr_throttled 4\nthrottled_time 5\nwait_sum 7000000\n');
  probe.sample(sample);
  t.is(sample.waiting, 7000);
  probe.resetPeak();
  probe.sample(sample);
  t.is(sample.peak, 0);
  probe.close();
  tree.remove();
});

test('a v1 kernel without failcnt still shows a limit hit, once per peak', (t) => {
  const tree = new FixtureTree().proc(`1:memory:/docker/${ID}`, [v1Mount('memory')]);
  const put = (name: string, value: number): void =>
    void tree.write(`sys/fs/cgroup/memory/docker/${ID}/${name}`, `${value}\n`);
  put('memory.usage_in_bytes', 50 * MIB);
  put('memory.stat', 0);
  put('memory.failcnt', 0);
  put('memory.limit_in_bytes', 128 * MIB);
  put('memory.max_usage_in_bytes', 127 * MIB);
  const monitor = new CgroupUsageMonitor({ root: tree.root });
  const probe = monitor.open(info());
  const sample = emptySample();
  const hits = (): number => {
    probe.sample(sample);
    return sample.limitHits;
  };
  t.is(hits(), 0);
  put('memory.max_usage_in_bytes', 128 * MIB);
  t.deepEqual([hits(), hits()], [1, 1]);
  probe.resetPeak();
  t.is(hits(), 1, 'what was met stays met');
  put('memory.max_usage_in_bytes', 128 * MIB);
  t.is(hits(), 2);
  put('memory.failcnt', 9);
  t.is(hits(), 9);
  probe.close();
  tree.remove();
});

test('memory in use on the host is what is not available', (t) => {
  const { tree, monitor, close } = v2();
  tree.write(
    'proc/meminfo',
    'MemTotal:       24683520 kB\nMemFree:        1000 kB\n' +
      'MemAvailable:   24000000 kB\nBuffers:  5 kB\n',
  );
  t.is(monitor.hostMemoryInUse() as number, 683520 * 1024);
  tree.write('proc/meminfo', '');
  t.is(monitor.hostMemoryInUse() as number, Number.MAX_SAFE_INTEGER, 'unknown counts as full');
  close();
});

test('a container not sampled for long closes its files until it runs again', (t) => {
  // Room for 64 samples, the least there is.
  const { tree, monitor, probe, sample, put, runs, close } = v2({
    'memory.current': `${90 * MIB}\n`,
  });
  tree.write(
    'proc/self/limits',
    'Max open files            512                  512                  files     \n',
  );
  const tight = new CgroupUsageMonitor({ root: tree.root, clock: new ManualTime() });
  const descriptors = (): number => readdirSync('/proc/self/fd').length;
  const before = descriptors();
  const probes = Array.from({ length: 70 }, () => tight.open(info()));
  for (const each of probes) t.true(each.sample(sample));
  // Two kept of each (usage and peak, where this tree has one), six more of those sampled last:
  // fewer than for 70.
  t.true(descriptors() - before <= 70 * 2 + 64 * 6, `${descriptors() - before}`);
  put('memory.current', `${95 * MIB}\n`);
  t.is(probes[0]!.workingSet(), 95 * MIB, 'closed: read all the same');
  runs();
  t.true(probes[0]!.sample(sample));
  t.is(sample.workingSet as number, 95 * MIB);
  for (const each of [...probes, probe]) each.close();
  t.true(descriptors() <= before, 'none is left');
  monitor.close();
  close();
});

test('memory.stat is read when the use changed or a second has passed', (t) => {
  const time = new ManualTime();
  const { tree, container, put } = v2Tree({
    'memory.current': `${100 * MIB}\n`,
    'memory.stat': `anon 0\ninactive_file ${20 * MIB}\n`,
  });
  t.teardown(() => tree.remove());
  const probe = new CgroupUsageMonitor({ root: tree.root, clock: time }).open(container);
  t.teardown(() => probe.close());
  const sample = emptySample();
  const workingSet = (): number => {
    put('cpu.stat', busy());
    t0(probe.sample(sample));
    return sample.workingSet / MIB;
  };
  t.is(workingSet(), 80);
  put('memory.stat', `anon 0\ninactive_file ${30 * MIB}\n`);
  put('memory.current', `${100 * MIB + 4096}\n`);
  // A page more: 100 - 20, and the page.
  t.is(workingSet(), 80 + 4096 / MIB);
  put('memory.current', `${101 * MIB}\n`);
  t.is(workingSet(), 71, 'a MiB more is looked at: 101 - 30');
  put('memory.stat', `anon 0\ninactive_file ${50 * MIB}\n`);
  time.advance(millis(999));
  t.is(workingSet(), 71);
  time.advance(millis(1));
  t.is(workingSet(), 51, 'after a second: 101 - 50');
});

test('v1: failcnt is read only near the limit, and earlier hits stay counted', (t) => {
  const time = new ManualTime();
  const tree = new FixtureTree().proc(`1:memory:/docker/${ID}`, [v1Mount('memory')]);
  t.teardown(() => tree.remove());
  const put = (name: string, value: number): void =>
    void tree.write(`sys/fs/cgroup/memory/docker/${ID}/${name}`, `${value}\n`);
  put('memory.usage_in_bytes', 50 * MIB);
  put('memory.stat', 0);
  put('memory.failcnt', 3);
  put('memory.memsw.failcnt', 4);
  put('memory.limit_in_bytes', 100 * MIB);
  put('memory.max_usage_in_bytes', 50 * MIB);
  const probe = new CgroupUsageMonitor({ root: tree.root, clock: time }).open(info());
  t.teardown(() => probe.close());
  const sample = emptySample();
  const hits = (): number => {
    probe.sample(sample);
    return sample.limitHits;
  };
  t.is(hits(), 7, 'the first sample asks');
  put('memory.failcnt', 4);
  t.is(hits(), 7);
  // Lowered, so that the peak is near: 50 of 55.
  put('memory.limit_in_bytes', 55 * MIB);
  time.advance(millis(1000));
  t.is(hits(), 8);
  put('memory.limit_in_bytes', 100 * MIB);
  put('memory.failcnt', 5);
  time.advance(millis(1000));
  t.is(hits(), 8);
  put('memory.max_usage_in_bytes', 95 * MIB);
  t.is(hits(), 9, 'a peak near the limit is noticed at once');
  put('memory.max_usage_in_bytes', 50 * MIB);
  put('memory.failcnt', 6);
  t.is(hits(), 9);
  time.advance(millis(30_000));
  t.is(hits(), 10, 'now and then it is asked all the same');
});

test('a container that used no CPU is read again only after half a minute', (t) => {
  const { sample, put, probe, time, runs, close } = v2({ 'memory.current': `${40 * MIB}\n` });
  t.teardown(close);
  const use = (megabytes: number): void => put('memory.current', `${megabytes * MIB}\n`);
  const workingSet = (): number => {
    t0(probe.sample(sample));
    return sample.workingSet / MIB;
  };
  use(50);
  time.advance(millis(29_999));
  t.is(workingSet(), 40);
  t.is(sample.at as number, time.monotonic(), 'it is a sample all the same');
  time.advance(millis(1));
  t.is(workingSet(), 50);
  use(60);
  runs();
  t.is(workingSet(), 60);
  use(80);
  t.true(probe.sample(emptySample()));
  t.is(workingSet(), 80, 'another reading was filled meanwhile');
});

test('a container that used no CPU and as much memory as before is not read in full', (t) => {
  const { sample, put, probe, time, close } = v2({
    'memory.current': `${40 * MIB}\n`,
    'memory.events': 'max 0\noom_kill 0\n',
  });
  t.teardown(close);
  const killed = (): number => {
    time.advance(millis(30_000));
    t0(probe.sample(sample));
    return sample.oomKills;
  };
  put('memory.events', 'max 1\noom_kill 1\n');
  t.is(killed(), 0);
  // A killed process gives its memory back.
  put('memory.current', `${30 * MIB}\n`);
  t.is(killed(), 1);
});

test("an idle container's page cache is read again when its use changed", (t) => {
  const stat = (megabytes: number): string => `inactive_file ${megabytes * MIB}\n`;
  const { put, monitor, container, time, close } = v2({
    'memory.current': `${40 * MIB}\n`,
    'memory.stat': stat(10),
  });
  t.teardown(close);
  // Only a sample leaves the files open.
  const probe = monitor.open(container);
  t.teardown(() => probe.close());
  t.is(probe.workingSet(), 30 * MIB);
  put('memory.stat', stat(20));
  time.advance(millis(30_000));
  t.is(probe.workingSet(), 30 * MIB);
  // Without any use of CPU: the kernel took memory back.
  put('memory.current', `${35 * MIB}\n`);
  time.advance(millis(30_000));
  t.is(probe.workingSet(), 15 * MIB);
});

test('a frozen container is read in full at every sample, so a thaw is seen at once', (t) => {
  const { sample, put, probe, time, close } = v2({ 'cgroup.freeze': '1\n' });
  t.teardown(close);
  t.true(sample.frozen);
  time.advance(millis(10));
  put('cgroup.freeze', '0\n');
  t.true(probe.sample(sample) && !sample.frozen);
});

test('a reset peak is the use at that moment, or the last reading if nothing ran since', (t) => {
  const { sample, put, probe, runs, close } = v2({
    'memory.current': `${40 * MIB}\n`,
    'memory.peak': `${90 * MIB}\n`,
  });
  t.teardown(close);
  t.is(sample.peak, 90 * MIB);
  probe.resetPeak();
  t.true(probe.sample(sample));
  t.is(sample.peak, 40 * MIB);
  put('memory.peak', `${60 * MIB}\n`);
  t.true(probe.sample(sample));
  t.is(sample.peak, 40 * MIB);
  runs();
  t.true(probe.sample(sample));
  t.is(sample.peak, 60 * MIB);
});
