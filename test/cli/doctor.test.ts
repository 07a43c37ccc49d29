import { readFileSync } from 'node:fs';
import test from 'ava';
import { atLeastVersion, findings, isManageable } from '../../cli/doctor/findings.js';
import {
  type EngineSurvey,
  managesEngine,
  type Survey,
  surveyHost,
  unmountedControllers,
} from '../../cli/doctor/survey.js';
import { configSchema } from '../../config/index.js';
import { EngineLock } from '../../openwhisk-plugin/host/lock/index.js';
import { json, stubEngine, VERSION } from '../openwhisk-plugin/host/docker/stub-engine.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const engine: EngineSurvey = {
  version: { Version: '20.10.24', ApiVersion: '1.41', MinAPIVersion: '1.12' },
  info: { CgroupVersion: '1', CgroupDriver: 'cgroupfs', SwapLimit: true },
  networks: [{ Name: 'bridge', Driver: 'bridge', IPAM: { Config: [{ Subnet: '172.17.0.0/16' }] } }],
  containers: [],
};
const good: Survey = {
  platform: 'linux',
  kernel: '6.1.0',
  cores: 2,
  uid: 0,
  capabilities: 0n,
  inKubernetes: false,
  engine,
  cgroup: {
    unified: false,
    controllers: ['cpu', 'memory'],
    writable: true,
    privateNamespace: false,
    pressure: true,
    processesHidden: false,
    quotas: true,
    unmounted: [],
  },
  tcpdump: { path: '/usr/bin/tcpdump', version: '4.99.3', refusal: null },
  swapTotalKiB: 0,
  stateDirWritable: true,
  ownHook: null,
  engineManaged: false,
  natsServer: '/usr/sbin/nats-server',
  natsServers: [],
  natsRefusal: null,
  openFiles: { soft: 65_536, hard: 65_536 },
};

const on = (name: string) => ({
  Id: 'a',
  Names: ['/wsk0_1_guest_a'],
  NetworkSettings: { Networks: { [name]: {} } },
});
const failed = (survey: Survey): string[] =>
  findings(survey)
    .filter(({ level }) => level === 'fail')
    .map(({ check }) => check);

test('a good host has only good findings', (t) => {
  t.true(isManageable(findings(good)));
  t.true(findings(good).every(({ level }) => level === 'ok'));
});

test('containers are counted by the rule by which the hook manages them', async (t) => {
  const names = [
    'wsk1_5_guest_a',
    'wskhost_a.b-0_3_prewarm_nodejs20',
    'wsk10_1_guest_a',
    'wsk_admin',
    'my-wsk1_5_x_y',
  ];
  const stub = await stubEngine((url, response) => {
    if (url.startsWith('/version')) return json(response, VERSION);
    if (url.startsWith('/networks')) return json(response, []);
    if (url.startsWith('/info')) return json(response, engine.info);
    json(
      response,
      names.map((name) => ({ Id: name, Names: [`/${name}`] })),
    );
  });
  const counted = async (containerPrefix: string): Promise<string[]> => {
    const hook = { ...configSchema.parse({}).hook, engineSocket: stub.socketPath, containerPrefix };
    const nats = { servers: [], binary: null, refusal: async () => null };
    const survey = await surveyHost(hook, nats, `${temporaryFolder('doctor')}/hook.lock`);
    return 'error' in survey.engine
      ? [survey.engine.error]
      : survey.engine.containers.map(({ Id }) => Id);
  };
  t.deepEqual(await counted('wsk'), [names[0], names[1], names[2]]);
  t.deepEqual(await counted('wsk1'), [names[0]]);
  t.deepEqual(await counted('wskhost_a.b-0'), [names[1]]);
  await stub.close();
});

test('each finding that is not good says what to do', (t) => {
  const bad: Survey = {
    ...good,
    uid: 1000,
    engine: { error: 'connect ENOENT', code: 'ENOENT' },
    cgroup: { ...good.cgroup, controllers: ['memory'], writable: false, pressure: false },
    tcpdump: { path: null, version: '', refusal: null },
    stateDirWritable: false,
    engineManaged: true,
    natsServer: null,
  };
  for (const finding of findings(bad))
    t.is(finding.level === 'ok', finding.advice === '', finding.check);
  t.deepEqual(failed(bad), ['engine', 'cgroup', 'cgroup rights', 'tcpdump', 'state folder']);
});

test('a kernel without quotas and a /proc that hides processes are told, and neither keeps the hook from running', (t) => {
  const limited: Survey = {
    ...good,
    cgroup: { ...good.cgroup, quotas: false, processesHidden: true },
  };
  const results = [...findings(limited)]
    .filter(({ level }) => level === 'warn')
    .map(({ check, advice }) => [check, advice]);
  t.deepEqual(results, [
    [
      'cgroup quotas',
      'weights are set and CPU is not harvested; use a kernel with CONFIG_CFS_BANDWIDTH=y for quotas',
    ],
    [
      'processes',
      'nothing to do; with hidepid=0, or the group of gid= for the hook, they are found faster',
    ],
  ]);
  t.deepEqual(failed(limited), []);
});

test('hierarchies that are in use and not mounted are named: with them Docker 20.10 told of no OOM kill', (t) => {
  // A host's own lines after a systemd had run in a container: three hierarchies are left, one of
  // them of two controllers.
  const own =
    '17:net_cls,net_prio:/\n15:hugetlb:/\n9:name=systemd:/docker/a\n4:memory:/docker/a\n2:cpu,cpuacct:/docker/a\n0::/docker/a\n';
  const mounts = [
    'tmpfs /sys/fs/cgroup tmpfs ro,relatime,size=4096k,mode=755 0 0',
    'cgroup /sys/fs/cgroup/memory cgroup rw,relatime,memory 0 0',
    'cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0',
    'cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0',
    '',
  ].join('\n');
  const unmounted = unmountedControllers(own, mounts);
  t.deepEqual(unmounted, ['net_cls,net_prio', 'hugetlb']);
  t.deepEqual(
    unmountedControllers('0::/system.slice/a\n', 'cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n'),
    [],
  );
  const results = findings({ ...good, cgroup: { ...good.cgroup, unmounted } });
  t.deepEqual(
    results.filter(({ level }) => level !== 'ok').map(({ check, level }) => [check, level]),
    [['cgroup hierarchies', 'warn']],
  );
  t.true(isManageable(results));
});

test('NATS that refuses, and too few open files, are said with advice, and are no reason not to run', (t) => {
  const servers = ['nats://user:secret@host:4222'];
  const refused = findings({ ...good, natsServers: servers, natsRefusal: 'wrong credentials' });
  t.like(
    refused.find(({ check }) => check === 'NATS'),
    { level: 'warn', found: 'wrong credentials' },
  );
  t.true(isManageable(refused));
  // (1024 - 512) / 7 = 73 containers
  const few = findings({ ...good, openFiles: { soft: 1024, hard: 4096 } });
  t.like(
    few.find(({ check }) => check === 'open files'),
    { level: 'warn', found: '1024: enough for 73 containers' },
  );
  t.false(JSON.stringify(findings({ ...good, natsServers: servers })).includes('secret'));
});

test('what the tap cannot see is refused by name where action containers are on it', (t) => {
  const networks = [
    ...engine.networks,
    { Name: 'six', Driver: 'bridge', IPAM: { Config: [{ Subnet: 'fd00::/64' }] } },
    { Name: 'mac', Driver: 'macvlan' },
    { Name: 'over', Driver: 'overlay' },
    { Name: 'host', Driver: 'host' },
  ];
  for (const name of ['six', 'mac', 'over', 'host']) {
    const survey = { ...good, engine: { ...engine, networks, containers: [on(name)] } };
    t.deepEqual(failed(survey), [`network ${name}`]);
  }
  const empty = findings({ ...good, engine: { ...engine, networks } });
  t.true(isManageable(empty));
  t.deepEqual(
    empty.filter(({ level }) => level === 'warn').map(({ check }) => check),
    ['network six', 'network mac', 'network over'],
  );
});

test('an engine that may not be read, hangs, or is none at all gets its own advice', (t) => {
  const advice = (code: string, inKubernetes = false) =>
    findings({ ...good, inKubernetes, engine: { error: 'x', code } }).find(
      ({ check }) => check === 'engine',
    )?.advice;
  t.regex(advice('EACCES') ?? '', /group/);
  t.regex(advice('ETIMEDOUT') ?? '', /hangs/);
  t.regex(advice('ENOENT', true) ?? '', /Kubernetes/);
});

test('a cgroup namespace of its own is named with its cure (field-notes A2-22)', (t) => {
  const survey = { ...good, cgroup: { ...good.cgroup, unified: true, privateNamespace: true } };
  t.regex(
    findings(survey).find(({ check }) => check === 'cgroup')?.advice ?? '',
    /--cgroupns=host/,
  );
  t.false(isManageable(findings(survey)));
});

test('a missing controller is named, and where there is none the mount is the cure (field-notes A2-23)', (t) => {
  const cgroup = (controllers: string[]) =>
    findings({ ...good, cgroup: { ...good.cgroup, controllers } }).find(
      ({ check }) => check === 'cgroup',
    );
  t.is(cgroup(['memory'])?.found, 'v1, no controller cpu');
  t.regex(cgroup(['memory'])?.advice ?? '', /subtree_control/);
  t.is(cgroup([])?.found, 'v1, no controller cpu, memory');
  t.regex(cgroup([])?.advice ?? '', /mount \/sys\/fs\/cgroup/);
});

test("Docker 29 and newer get a word about the invoker's own old client (field-notes A1-25)", (t) => {
  const version = { Version: '29.0.0', ApiVersion: '1.52', MinAPIVersion: '1.44' };
  const list = findings({ ...good, engine: { ...engine, version } });
  t.true(isManageable(list));
  t.true(list.some(({ check, level }) => check === 'engine API' && level === 'warn'));
});

test('API versions compare as versions', (t) => {
  t.true(atLeastVersion('1.41', '1.24'));
  t.false(atLeastVersion('1.9', '1.24'));
  t.true(atLeastVersion('2.0', '1.24'));
});

test('the hook of this very configuration is no second hook; one with another state folder is', async (t) => {
  const results = (changes: Partial<Survey>) =>
    findings({ ...good, ...changes }).filter(
      ({ check }) => check === 'hook' || check === 'two hooks',
    );
  t.deepEqual(results({}), []);
  t.deepEqual(
    results({ ownHook: 77, engineManaged: true }).map(({ check, level }) => [check, level]),
    [['hook', 'ok']],
  );
  t.deepEqual(
    results({ engineManaged: true }).map(({ check, level }) => [check, level]),
    [['two hooks', 'warn']],
  );
  // As the kernel tells of the lock that a hook holds; another engine's is none of ours.
  const engine = `/run/${process.pid}.sock`;
  const sockets = () => readFileSync('/proc/net/unix', 'utf8');
  t.false(managesEngine(sockets(), engine));
  const lock = await EngineLock.acquire(engine);
  t.true(managesEngine(sockets(), engine));
  t.false(managesEngine(sockets(), `${engine}2`));
  lock.release();
});
