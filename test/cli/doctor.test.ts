import { basename, join } from 'node:path';
import test from 'ava';
import { atLeastVersion, findings, isManageable } from '../../cli/doctor/findings.js';
import {
  type EngineSurvey,
  isHeld,
  type NodeSurvey,
  type Survey,
  surveyHost,
  unmountedControllers,
} from '../../cli/doctor/survey.js';
import { configSchema } from '../../config/index.js';
import { engineLockPath, HookLock } from '../../openwhisk-plugin/host/lock/index.js';
import {
  json,
  SWITCHING_PROTOCOLS,
  stubEngine,
  VERSION,
} from '../openwhisk-plugin/host/docker/stub-engine.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const engine: EngineSurvey = {
  version: { Version: '20.10.24', ApiVersion: '1.41', MinAPIVersion: '1.12' },
  info: { CgroupVersion: '1', CgroupDriver: 'cgroupfs', SwapLimit: true },
  networks: [{ Name: 'bridge', Driver: 'bridge', IPAM: { Config: [{ Subnet: '172.17.0.0/16' }] } }],
  containers: [],
  beside: 0,
};
const good: Survey = {
  platform: 'linux',
  kernel: '6.1.0',
  cores: 2,
  uid: 0,
  capabilities: 0n,
  inKubernetes: false,
  engineKind: 'docker',
  engine,
  cgroup: {
    unified: false,
    controllers: ['cpu', 'memory'],
    writable: true,
    privateNamespace: false,
    pressure: true,
    memoryPeaks: true,
    processesHidden: false,
    quotas: true,
    unmounted: [],
  },
  flock: '/usr/bin/flock',
  tcpdump: { path: '/usr/bin/tcpdump', version: '4.99.3', refusal: null, nsenter: 'unneeded' },
  swapTotalKiB: 0,
  stateDirWritable: true,
  stateDirWriter: null,
  lockFolderWriter: null,
  configWriter: null,
  ownHook: null,
  ownHookSettings: null,
  engineManaged: false,
  natsServer: '/usr/sbin/nats-server',
  natsServers: [],
  natsRefusal: null,
  openFiles: 65_536,
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

async function engineAt(engineSocket: string, containerPrefix: string): Promise<Survey['engine']> {
  const hook = { ...configSchema.parse({}).hook, engineSocket, containerPrefix };
  const nats = { servers: [], binary: null, refusal: async () => null };
  return (await surveyHost(hook, nats, `${temporaryFolder('doctor')}/hook.lock`)).engine;
}

test('a good host has only good findings', (t) => {
  t.true(isManageable(findings(good)));
  t.true(findings(good).every(({ level }) => level === 'ok'));
});

test('containers are counted by the same rule that the hook manages them by', async (t) => {
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
    const found = await engineAt(stub.socketPath, containerPrefix);
    if ('error' in found) return [found.error];
    return 'containers' in found ? found.containers.map(({ Id }) => Id) : [];
  };
  t.deepEqual(await counted('wsk'), [names[0], names[1], names[2]]);
  t.deepEqual(await counted('wsk1'), [names[0]]);
  t.deepEqual(await counted('wskhost_a.b-0'), [names[1]]);
  await stub.close();
});

test('an engine that switches protocols is reported as one that does not answer', async (t) => {
  const stub = await stubEngine((_url, response) => {
    response.socket?.write(SWITCHING_PROTOCOLS);
  });
  t.like(await engineAt(stub.socketPath, 'wsk'), {
    error: '/version was closed without an answer',
  });
  await stub.close();
});

test('each warning or failure has advice', (t) => {
  const bad: Survey = {
    ...good,
    uid: 1000,
    engine: { error: 'connect ENOENT', code: 'ENOENT' },
    cgroup: {
      ...good.cgroup,
      controllers: ['memory'],
      writable: false,
      pressure: false,
      memoryPeaks: false,
    },
    tcpdump: { path: null, version: '', refusal: null, nsenter: 'missing' },
    flock: null,
    stateDirWritable: false,
    engineManaged: true,
    natsServer: null,
  };
  for (const finding of findings(bad))
    t.is(finding.level === 'ok', finding.advice === '', finding.check);
  t.deepEqual(failed(bad), [
    'engine',
    'cgroup',
    'cgroup rights',
    'nsenter',
    'tcpdump',
    'flock',
    'state folder',
  ]);
});

test('missing quotas and hidepid are warnings, not failures', (t) => {
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
      'only weights are set, CPU is not harvested; quotas need CONFIG_CFS_BANDWIDTH=y',
    ],
    ['processes', 'optional: hidepid=0, or the group of gid= for the hook, finds them faster'],
  ]);
  t.deepEqual(failed(limited), []);
});

test('unmounted hierarchies are named, since Docker 20.10 then reports no OOM kills', (t) => {
  // From a real host after systemd had run in a container, which left three hierarchies.
  const own = [
    '17:net_cls,net_prio:/',
    '15:hugetlb:/',
    '9:name=systemd:/docker/a',
    '4:memory:/docker/a',
    '2:cpu,cpuacct:/docker/a',
    '0::/docker/a\n',
  ].join('\n');
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

test('a folder or configuration that others may write is a warning', (t) => {
  const stateDirWriter = '/var/lib/gleaner belongs to user 1000';
  const lockFolderWriter = 'others may write /var/lib/gleaner/engines';
  const configWriter = 'others may write /etc/g.yaml';
  const open = findings({ ...good, stateDirWriter, lockFolderWriter, configWriter });
  t.deepEqual(
    open.filter(({ level }) => level === 'warn').map(({ check, found }) => [check, found]),
    [
      ['state folder', stateDirWriter],
      ['lock folder', lockFolderWriter],
      ['configuration', configWriter],
    ],
  );
  t.true(isManageable(open));
});

test('refused NATS and too few open files are warnings with advice', (t) => {
  const servers = ['nats://user:secret@host:4222'];
  const refused = findings({ ...good, natsServers: servers, natsRefusal: 'wrong credentials' });
  t.like(
    refused.find(({ check }) => check === 'NATS'),
    { level: 'warn', found: 'wrong credentials' },
  );
  t.true(isManageable(refused));
  // (1024 - 512) / 7 = 73 containers
  const few = findings({ ...good, openFiles: 1024 });
  t.like(
    few.find(({ check }) => check === 'open files'),
    { level: 'warn', found: '1024: enough for 73 containers' },
  );
  t.false(JSON.stringify(findings({ ...good, natsServers: servers })).includes('secret'));
});

test('networks that the tap cannot see fail if action containers are on them', (t) => {
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

test('an unreadable, hanging or missing engine gets specific advice', (t) => {
  const advice = (code: string, inKubernetes = false) =>
    findings({ ...good, inKubernetes, engine: { error: 'x', code } }).find(
      ({ check }) => check === 'engine',
    )?.advice;
  t.regex(advice('EACCES') ?? '', /group/);
  t.regex(advice('ETIMEDOUT') ?? '', /hangs/);
  t.regex(advice('ENOENT', true) ?? '', /Kubernetes/);
});

test('a private cgroup namespace is named with its fix', (t) => {
  const survey = { ...good, cgroup: { ...good.cgroup, unified: true, privateNamespace: true } };
  t.regex(
    findings(survey).find(({ check }) => check === 'cgroup')?.advice ?? '',
    /--cgroupns=host/,
  );
  t.false(isManageable(findings(survey)));
});

test('a missing controller is named; without any the advice is to mount', (t) => {
  const cgroup = (controllers: string[]) =>
    findings({ ...good, cgroup: { ...good.cgroup, controllers } }).find(
      ({ check }) => check === 'cgroup',
    );
  t.is(cgroup(['memory'])?.found, 'v1, no controller cpu');
  t.regex(cgroup(['memory'])?.advice ?? '', /subtree_control/);
  t.is(cgroup([])?.found, 'v1, no controller cpu, memory');
  t.regex(cgroup([])?.advice ?? '', /mount \/sys\/fs\/cgroup/);
});

test("Docker 29 and newer warn about the invoker's older client", (t) => {
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

test('a hook with another state folder is reported as a second hook', async (t) => {
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
    results({ ownHook: 77, ownHookSettings: 'platform docker' }).map(({ level, found }) => [
      level,
      found,
    ]),
    [['warn', 'runs with other settings (process 77): platform docker']],
  );
  t.deepEqual(
    results({ engineManaged: true }).map(({ check, level }) => [check, level]),
    [['two hooks', 'warn']],
  );
  t.deepEqual(
    results({ engineManaged: null }).map(({ check, level, advice }) => [check, level, advice]),
    [['two hooks', 'warn', 'run gleaner doctor as root']],
  );
});

test("the hook of an engine is found by root's locks and by the user's own", async (t) => {
  const [locks, stateDir] = [temporaryFolder('locks'), temporaryFolder('doctor')];
  const engineSocket = `/run/${process.pid}.sock`;
  const paths = [true, false].map((isRoot) =>
    join(isRoot ? locks : stateDir, basename(engineLockPath(engineSocket, stateDir, isRoot))),
  );
  t.false(isHeld(paths));
  for (const path of paths) {
    const lock = await HookLock.acquire(path);
    t.true(isHeld(paths));
    lock.release();
  }
  t.false(isHeld(paths));
  if (process.getuid?.() !== 0) return;
  // Root's folder is closed to other users.
  process.seteuid?.(65_534);
  try {
    t.is(isHeld(paths), null);
  } finally {
    process.seteuid?.(0);
  }
});

test('what stands beside the action containers bounds how far their weights are raised', (t) => {
  const weights = (survey: Survey): string[] =>
    [...findings(survey)]
      .filter(({ found }) => found.includes('raised only'))
      .map(({ check }) => check);
  t.deepEqual(weights(good), []);
  t.deepEqual(weights({ ...good, engine: { ...engine, beside: 2 } }), ['weights']);
  const info = { ...engine.info, CgroupDriver: 'systemd' };
  t.deepEqual(weights({ ...good, engine: { ...engine, info, beside: 2 } }), ['cgroup owner']);
});

test('on a Kubernetes node the doctor names what cannot be managed and what to do', (t) => {
  const node: NodeSurvey = {
    runtime: 'containerd 1.6.20',
    cgroupDriver: 'cgroupfs',
    pods: 3,
    unaddressed: 0,
    unrequested: 0,
    levels: { Guaranteed: 0, Burstable: 3, BestEffort: 0 },
    isDedicated: false,
    kubelet: { cpuManager: 'none', memoryManager: 'None', swapBehavior: 'NoSwap' },
  };
  const kubelet = { cpuManager: 'static', memoryManager: 'Static', swapBehavior: 'LimitedSwap' };
  const found = (change: Partial<NodeSurvey>) =>
    findings({ ...good, engineKind: 'kubernetes', engine: { ...node, ...change } })
      .filter(({ level }) => level !== 'ok')
      .map(({ check, level }) => `${level} ${check}`);
  t.deepEqual(found({}), []);
  t.deepEqual(found({ unrequested: 2 }), ['warn CPU requests']);
  t.deepEqual(found({ unrequested: 2, isDedicated: true }), []);
  t.deepEqual(found({ kubelet }), ['warn CPU manager', 'warn memory manager', 'warn pod swap']);
  t.deepEqual(found({ kubelet: null }), ['warn kubelet']);
  const levels = { Guaranteed: 1, Burstable: 2, BestEffort: 0 };
  t.deepEqual(found({ levels }), ['warn QoS classes']);
  t.deepEqual(found({ unaddressed: 1 }), ['fail pod addresses']);
  t.true(found({ cgroupDriver: 'systemd' }).includes('warn cgroup driver'));
  const systemd = { ...good, engine: { ...node, cgroupDriver: 'systemd' } };
  t.false(findings(systemd).some(({ found }) => found.includes('system services')));
  const unset: Survey = {
    ...good,
    inKubernetes: true,
    engine: { error: 'connect ENOENT', code: 'ENOENT' },
  };
  const [advice] = findings(unset).filter(({ check }) => check === 'engine');
  t.regex(advice?.advice ?? '', /hook\.engineSocket to the node's runtime/);
});
