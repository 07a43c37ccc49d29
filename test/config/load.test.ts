import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import test from 'ava';
import {
  ConfigError,
  configSchema,
  configWarnings,
  defaultConfig,
  formatProblem,
  loadConfig,
  maskUrlCredentials,
  salvageConfig,
} from '../../config/index.js';
import { keysOf } from '../../config/keys.js';
import type { ConfigInputs } from '../../config/load.js';
import { CHANGED_KEYS, REMOVED_KEYS } from '../../config/removed-keys.js';

const from = (text: string, rest: ConfigInputs = {}) =>
  loadConfig({ path: 'g.yaml', readFile: () => text, ...rest });

function problemsOf(run: () => unknown): string[] {
  try {
    run();
  } catch (error) {
    if (error instanceof ConfigError)
      return error.message
        .split('\n')
        .slice(1)
        .map((line) => line.trim());
    throw error;
  }
  return [];
}

test('without a file every key has its default', (t) => {
  const { config, sources } = loadConfig();
  t.is(config.mode, 'recommend');
  t.is(config.decision.thetaUser, 0.9);
  t.is(config.decision.thetaSpike, 0.8);
  t.is(config.decision.controlShare, 0.03);
  t.is(config.decision.peakHalfLifeS, 3600);
  t.is(config.decision.weight.slowdownBound, 1.25);
  t.is(config.decision.policy.quota, 'smallest-in-range');
  t.is(config.decision.policy.weight, 'deadline-first');
  t.is(config.decision.memory.policy, 'guarantee');
  t.is(config.agents.manager, 'fixed');
  t.deepEqual(config.functions.exclude, ['/whisk.system/**']);
  t.is(sources.size, 0);
});

test('flag wins over environment, environment over file, file over default', (t) => {
  const file = 'hook:\n  auditRotateMiB: 1001\n  sampleMs: 101\n  stepS: 7\n';
  const env = { GLEANER_HOOK_AUDITROTATEMIB: '1002', GLEANER_HOOK_SAMPLEMS: '102' };
  const { config, sources } = from(file, { env, flags: { 'hook.auditRotateMiB': 1003 } });
  t.is(config.hook.auditRotateMiB, 1003);
  t.is(config.hook.sampleMs, 102);
  t.is(config.hook.stepS, 7);
  t.is(config.hook.stepActivations, 20);
  t.is(sources.get('hook.auditRotateMiB'), 'flag hook.auditRotateMiB');
  t.is(sources.get('hook.sampleMs'), 'GLEANER_HOOK_SAMPLEMS');
  t.is(sources.get('hook.stepS'), 'g.yaml:4');
});

test('all problems come at once, each with line, key and value', (t) => {
  const file = [
    'mode: enforced', // 1
    'hook:', // 2
    '  auditRotateMiB: 70000', // 3
    '  contanerPrefix: wsk', // 4
    'decision:', // 5
    '  weight:', // 6
    '    alpha: 0.5', // 7
    '    slowdownBound: "many"', // 8
    'functions:', // 9
    '  overrides:', // 10
    '    - match: /guest/*', // 11
    '      bounds: { memoryMiB: { min: 512, max: 128 } }', // 12
    '    - mach: /guest/x', // 13
    '    - { match: /guest/pay, holdOffline: maybe }', // 14
    'agents: { aware: { windowEpisodes: 1 } }', // 15
    'rightSizing: { everyS: 60 }', // 16
  ].join('\n');
  const problems = problemsOf(() => from(file, { env: { GLEANER_NATS_INBOXPREFIX: 'a b' } }));
  const has = (part: string) =>
    t.true(
      problems.some((line) => line.includes(part)),
      `${part} in\n${problems.join('\n')}`,
    );
  has('g.yaml:1: mode: must be one of observe, recommend, enforce (got "enforced")');
  has('g.yaml:3: hook.auditRotateMiB: must be at most 10240 (got 70000)');
  has('g.yaml:4: hook.contanerPrefix: no such key; did you mean containerPrefix?');
  has('g.yaml:8: decision.weight.slowdownBound: must be a number (got "many")');
  has('g.yaml:12: functions.overrides.0.bounds.memoryMiB: min is above max');
  has('g.yaml:13: functions.overrides.1.mach: no such key; did you mean match?');
  has('g.yaml:14: functions.overrides.2.holdOffline: ');
  has('g.yaml:16: rightSizing: no such key; did you mean openwhisk.rightSizing?');
  has('g.yaml:15: agents.aware.windowEpisodes: must be at least 2 (got 1)');
  has('GLEANER_NATS_INBOXPREFIX: nats.inboxPrefix:');
});

test('a removed key is refused with the value that it always has', (t) => {
  t.deepEqual(
    problemsOf(() =>
      from('decision:\n  spikeMargin: 0.1\n', {
        env: { GLEANER_HOOK_DRIFTS: '9' },
        flags: { 'openwhisk.timeoutMs': 5 },
      }),
    ),
    [
      'g.yaml:2: decision.spikeMargin: was removed: its value is always 0.05',
      'GLEANER_HOOK_DRIFTS: was removed: its value is always 5 s',
      'flag openwhisk.timeoutMs: was removed: its value is always 10000 ms',
    ],
  );
});

test('a changed key is refused with its new name, or with what chooses it now', (t) => {
  t.deepEqual(
    problemsOf(() =>
      from('openwhisk: { rightSizing: { leastCalls: 9 } }\ndecision: { boost: { factor: 8 } }\n', {
        env: { GLEANER_OPENWHISK_RIGHTSIZING_WATCHCALLS: '9' },
      }),
    ),
    [
      'g.yaml:1: openwhisk.rightSizing.leastCalls: is now openwhisk.rightSizing.leastActivations',
      'g.yaml:2: decision.boost.factor: was removed: chosen by the policy, see ' +
        'docs/decisions/0014-range-and-reference.md',
      'GLEANER_OPENWHISK_RIGHTSIZING_WATCHCALLS: is now openwhisk.rightSizing.watchActivations',
    ],
  );
});

test('no removed key is in the schema, and docs/upgrade.md lists each with its value', (t) => {
  const keys = new Set([...keysOf(configSchema)].map(({ path }) => path.join('.')));
  const upgrade = readFileSync('docs/upgrade.md', 'utf8');
  for (const [key, value] of Object.entries(REMOVED_KEYS)) {
    t.false(keys.has(key), key);
    t.true(upgrade.includes(`\n- \`${key}\`: ${value}\n`), key);
  }
  for (const key of Object.keys(CHANGED_KEYS)) {
    t.false(keys.has(key), key);
    t.true(upgrade.includes(`\`${key}\``), key);
  }
});

/** Each key is one more decision for an operator, and one more case to support. */
const KEYS_MAX = 93;

test('the configuration stays within its budget of keys', (t) => {
  const keys = [...keysOf(configSchema)].length;
  t.true(
    keys <= KEYS_MAX,
    `${keys} keys, at most ${KEYS_MAX}: use a constant, or remove an unused key; if ` +
      'neither is possible, raise KEYS_MAX and give the reason in the commit',
  );
});

test('one port for two parts is refused, also as a default or on every address', (t) => {
  t.deepEqual(
    problemsOf(() =>
      from('dashboard:\n  listen: 127.0.0.1:9990\nmetrics:\n  hook: 127.0.0.1:9990\n'),
    ),
    [
      'g.yaml:4: metrics.hook: has the port of dashboard.listen, 127.0.0.1:9990 ' +
        '(got "127.0.0.1:9990")',
    ],
  );
  t.deepEqual(
    problemsOf(() => from('dashboard: { listen: "0.0.0.0:9782" }\n')),
    [
      'g.yaml:1: dashboard.listen: has the port of metrics.agents, 127.0.0.1:9782 ' +
        '(got "0.0.0.0:9782")',
    ],
  );
  // Different addresses, and any free port, do not conflict.
  from('metrics: { hook: "127.0.0.2:9780", agents: "127.0.0.1:0", aggregator: "127.0.0.1:0" }\n');
  t.pass();
});

test('contradicting floors, caps and steps are refused at the key that is set', (t) => {
  t.deepEqual(
    problemsOf(() =>
      from(
        'decision: { memoryCapMiB: 32 }\n' +
          'agents: { concurrency: { least: 1, most: 10, step: 5 } }\n',
      ),
    ),
    [
      'g.yaml:1: decision.memoryCapMiB: is below decision.memoryFloorMiB, which is 64 (got 32)',
      'g.yaml:2: agents.concurrency.step: 10 - 1 (agents.concurrency.most - ' +
        'agents.concurrency.least) is no multiple of step, which is 5 (got 5)',
    ],
  );
});

test('problems are in the order of lines, then those of variables and flags', (t) => {
  const text = [
    'mode: x',
    'decision:',
    '  thetaSpike: 0.01',
    'hook:',
    '  sampleMs: 1',
    '  stateDri: x',
    'metrics:',
    '  hook: 1',
  ];
  const lines = problemsOf(() => from(text.join('\n'), { env: { GLEANER_LOG_LEVEL: 'loud' } }));
  t.deepEqual(
    lines.map((line) => line.split(':').slice(0, 2).join(':')),
    ['g.yaml:1', 'g.yaml:3', 'g.yaml:5', 'g.yaml:6', 'g.yaml:8', 'GLEANER_LOG_LEVEL: log.level'],
  );
});

test('rules between keys hold whatever else is wrong', (t) => {
  const problems = problemsOf(() =>
    from('mode: x\nnats:\n  certFile: a\n  credentialsFile: b\n  nkeySeedFile: c\n'),
  );
  t.is(problems.length, 3);
  t.true(
    problems[1]?.includes('nats.keyFile: needs nats.certFile too') ||
      problems[1]?.includes('certFile'),
    problems[1],
  );
  t.true(
    problems[2]?.startsWith(
      'g.yaml:4: nats.credentialsFile: cannot be used with nats.nkeySeedFile',
    ),
    problems[2],
  );
});

test('YAML errors and repeated keys are named by line', (t) => {
  t.true(problemsOf(() => from('mode: observe\nmode: enforce\n'))[0]?.startsWith('g.yaml:2: '));
  t.true(problemsOf(() => from('- a\n- b\n'))[0]?.includes('must be a map of sections'));
  t.true(problemsOf(() => from('hook: [1\n'))[0]?.startsWith('g.yaml:'));
  t.deepEqual(
    problemsOf(() => from('mode: observe\n---\nmode: enforce\n')),
    ['g.yaml:2: a second document begins here: put everything into one, without `---`'],
  );
});

test('an unknown or recursive alias is named by line; so is a key that is not text', (t) => {
  // Found by the fuzzer: the second had no end, and broke the message about itself.
  t.deepEqual(
    problemsOf(() => from('mode: *x\n')),
    ['g.yaml:1: no &x before *x'],
  );
  t.deepEqual(
    problemsOf(() => from('hook: &a\n  sampleMs: *a\n')),
    ['g.yaml:2: *a is part of &a itself'],
  );
  t.deepEqual(
    problemsOf(() => from('mode: observe\nnull:\n')),
    ['g.yaml:2: no such key'],
  );
  t.deepEqual(
    problemsOf(() => from('mode: observe\n? {a: 1}\n: 2\n')),
    ['g.yaml:1: { a: 1 }: no such key'],
  );
  t.is(
    from('hook:\n  sampleMs: &n 200\n  stepS: *n\n').config.hook.stepS,
    200,
    'others are as good as any',
  );
});

test('a missing file is one problem with its name', (t) => {
  const problems = problemsOf(() =>
    loadConfig({
      path: 'no.yaml',
      readFile: () => {
        throw new Error('ENOENT: no such file');
      },
    }),
  );
  t.deepEqual(problems, ['no.yaml: cannot be read: ENOENT: no such file']);
});

test('an empty file, an empty section and an empty variable mean the defaults', (t) => {
  t.is(from('').config.mode, 'recommend');
  t.is(from('hook:\ndecision:\n  weight:\n').config.hook.auditRotateMiB, 64);
  t.is(from('', { env: { GLEANER_MODE: '' } }).config.mode, 'recommend');
});

test('variables hold lists, numbers, switches, null and text', (t) => {
  const env = {
    GLEANER_NATS_SERVERS: 'nats://a:4222, nats://b:4222',
    GLEANER_DECISION_BOOST_ENABLED: 'false',
    GLEANER_DECISION_MEMORYCAPMIB: '2048',
    GLEANER_NATS_CAFILE: 'null',
    GLEANER_HOOK_HOSTNAME: '12',
    GLEANER_FUNCTIONS_OVERRIDES: '[{match: "/guest/**", mode: observe}]',
  };
  const { config } = loadConfig({ env });
  t.deepEqual(config.nats.servers, ['nats://a:4222', 'nats://b:4222']);
  t.false(config.decision.boost.enabled);
  t.is(config.decision.memoryCapMiB, 2048);
  t.is(config.nats.caFile, null);
  t.is(config.hook.hostName, '12');
  t.is(config.functions.overrides[0]?.mode, 'observe');
});

test('an unknown variable of a known section is an error with a suggestion', (t) => {
  const problems = problemsOf(() =>
    loadConfig({ env: { GLEANER_HOOK_AUDITROTATEMB: '1', GLEANER_TEST_REAL: '1', GLEANERS: 'x' } }),
  );
  t.deepEqual(problems, [
    'GLEANER_HOOK_AUDITROTATEMB: no such key; did you mean GLEANER_HOOK_AUDITROTATEMIB?',
  ]);
  t.deepEqual(
    problemsOf(() => loadConfig({ flags: { 'hook.auditRotateMB': 1 } })),
    ['flag hook.auditRotateMB: no such key; did you mean hook.auditRotateMiB?'],
  );
});

test('a pattern that matches no function is refused, with the one that was probably meant', (t) => {
  const problem = (pattern: string): string =>
    problemsOf(() => from(`functions: { exclude: [${JSON.stringify(pattern)}] }`)).join();
  // A name has 2 or 3 parts, and no part begins or ends with a blank (broker/function-token.ts).
  for (const [pattern, meant] of [
    ['/billing', '/billing/**'],
    ['/guest/', '/guest/**'],
    ['/guest/dh ', '/guest/dh'],
    ['/a/b/c/', '/a/b/c'],
  ])
    t.is(
      problem(pattern!),
      `g.yaml:1: functions.exclude.0: matches no function; did you mean ${meant}? ` +
        `(got "${pattern}")`,
    );
  for (const pattern of ['/a/b/c/d/e', '/a//b', '/a/ b', '/a/b:c', 'a/b', '/a/**/b/c'])
    t.regex(problem(pattern), /must be a pattern like \/team\/\*\*: 2 or 3 parts, the namespace/);
  const valid = ['/a/b', '/a/b/c', '/a/*', '/*/b', '/a/**', '/**', '/a**', '/a/my action@2.x'];
  for (const pattern of valid) t.is(problem(pattern), '', pattern);
  t.deepEqual(
    problemsOf(() => from('functions: { overrides: [{ match: /billing, mode: observe }] }')),
    [
      'g.yaml:1: functions.overrides.0.match: matches no function; did you mean /billing/**? ' +
        '(got "/billing")',
    ],
  );
});

test('a wrong value is one problem, and a number without a JSON form is shown', (t) => {
  t.deepEqual(
    problemsOf(() => from('metrics: { hook: localhost }\n')),
    [
      'g.yaml:1: metrics.hook: must be an address and a port, like 127.0.0.1:9781 ' +
        '(got "localhost")',
    ],
  );
  const [problem, ...others] = problemsOf(() => from('decision: { weight: { alpha: .nan } }\n'));
  t.regex(problem ?? '', /^g\.yaml:1: decision\.weight\.alpha: .* \(got NaN\)$/);
  t.deepEqual(others, []);
});

test('a server that is no URL is refused, and its value is not printed', (t) => {
  // Characters that end the user and password of a URL and must be percent-encoded in them.
  for (const password of ['S3cr3t/Pw', 'S3cr3t?Pw', 'S3cr3t#Pw', '12/Pw', 'S3cr3t,Pw'])
    for (const scheme of ['nats://', ''])
      for (const problem of problemsOf(() =>
        loadConfig({ flags: { 'nats.servers': `${scheme}ops:${password}@nats.example:4222` } }),
      )) {
        t.regex(problem, /nats\.servers\.\d: must be a URL like nats:\/\/host:4222$/);
        t.notRegex(problem, /S3cr3t|Pw/);
      }
  t.deepEqual(
    problemsOf(() => loadConfig({ flags: { 'nats.servers': 'nats://ops:S3cr3t/Pw@h:4222' } })),
    ['flag nats.servers: nats.servers.0: must be a URL like nats://host:4222'],
  );
  // A value at the wrong place.
  for (const text of [
    'nats: ops:S3cr3t@h',
    'nats: nats://ops:S3cr3t@h',
    'nats://ops:S3cr3t@h',
    'nats:\n  caFile: [nats://ops:S3cr3t@h]',
  ]) {
    const [problem] = t.throws(() => from(text), { instanceOf: ConfigError })!.problems;
    t.regex(formatProblem(problem!), /: must be a /);
    t.notRegex(JSON.stringify(problem), /S3cr3t/);
  }
  const valid = ['nats://h', 'tls://ops:S3cr3t%2FPw@h:4222', 'nats://[::1]:4222', 'wss://h/nats'];
  t.deepEqual(loadConfig({ flags: { 'nats.servers': valid } }).config.nats.servers, valid);
});

test('a password in a server URL is not printed', async (t) => {
  const { printConfig } = await import('../../config/index.js');
  const text = printConfig(from('nats:\n  servers: [nats://me:hu@nter2@h:4222]\n'));
  t.false(text.includes('nter2'));
  t.true(text.includes('nats://***@h:4222'));
  t.true(text.startsWith('# nats.servers: g.yaml:2\n'));
});

test('paths in a file are relative to it, others to the working directory', (t) => {
  const text = [
    'hook: { stateDir: state, tcpdump: ./tcpdump, engineSocket: /run/docker.sock }',
    'nats: { caFile: ca.pem, nkeySeedFile: ../seed, embedded: { binary: nats-server } }',
    'simulator: { workload: azure-ten }',
  ].join('\n');
  const load = (path: string, rest: ConfigInputs = {}) =>
    loadConfig({ path, readFile: () => text, ...rest }).config;
  const { hook, nats, simulator } = load('/etc/gleaner/g.yaml');
  t.is(hook.stateDir, '/etc/gleaner/state');
  t.is(nats.nkeySeedFile, '/etc/seed');
  t.is(hook.engineSocket, '/run/docker.sock');
  t.is(hook.tcpdump, '/etc/gleaner/tcpdump');
  t.is(nats.caFile, '/etc/gleaner/ca.pem');
  // Names that are looked for elsewhere, and defaults, stay as they are.
  t.is(nats.embedded.binary, 'nats-server');
  t.is(simulator.workload, 'azure-ten');
  t.is(nats.certFile, null);
  const other = load('/etc/gleaner/g.yaml', {
    env: { GLEANER_NATS_CAFILE: 'here.pem' },
    flags: { 'hook.stateDir': 'state-b' },
  });
  t.is(other.hook.stateDir, 'state-b');
  t.is(other.nats.caFile, 'here.pem');
  // The same file by another path is the same folder.
  t.is(load('config/g.yaml').hook.stateDir, resolve('config/state'));
});

test('an external manager is a path or a package; a misspelled name is refused', (t) => {
  const text =
    'agents: { manager: ./own.mjs }\nfunctions: { overrides: [' +
    '{ match: /a/*, manager: ../other.js }, { match: /b/*, manager: "package:@x/y" }] }\n';
  const { config } = loadConfig({ path: '/etc/gleaner/g.yaml', readFile: () => text });
  t.is(config.agents.manager, '/etc/gleaner/own.mjs');
  t.deepEqual(
    config.functions.overrides.map(({ manager }) => manager),
    ['/etc/other.js', 'package:@x/y'],
  );
  const [problem = ''] = problemsOf(() => from('agents:\n  manager: gredy\n'));
  t.regex(problem, /^g\.yaml:2: agents\.manager: must be one of fixed, greedy, /);
  t.regex(problem, /package:NAME; did you mean greedy\? \(got "gredy"\)$/);
  for (const wrong of ['./own.ts', 'package:', 'package:../x', 'own.mjs'])
    t.is(problemsOf(() => from(`agents: { manager: "${wrong}" }\n`)).length, 1, wrong);
});

test('a restore reads what it can of a configuration, whatever is wrong with it', (t) => {
  const salvaged = (text: string, rest: ConfigInputs = {}) =>
    salvageConfig({ path: '/etc/gleaner/g.yaml', readFile: () => text, ...rest });
  const good = 'platform: docker\nhook: { stateDir: state, containerPrefix: wsk7';
  t.is(salvaged(`${good} }`).error, null);
  for (const [text, env] of [
    [`${good}, bogus: 1 }`, {}],
    [`${good}, sampleMs: soon, engine: podman }\nagents: 5`, {}],
    [`${good} }\ndecision: { cpuFloorMillicores: 900, cpuCapMillicores: 800 }`, {}],
    [`${good} }`, { GLEANER_HOOK_SAMPLEMS: 'abc' }],
    [`${good} }`, { GLEANER_HOOK_BOGUS: '1' }],
  ] as const) {
    const { config, error } = salvaged(text, { env });
    t.true(error instanceof ConfigError, text);
    t.is(config.platform, 'docker');
    t.is(config.hook.stateDir, '/etc/gleaner/state');
    t.is(config.hook.containerPrefix, 'wsk7');
    t.is(config.hook.engine, 'docker');
  }
  // A wrong variable does not hide what the file has.
  const env = { GLEANER_HOOK_ENGINE: 'podman', GLEANER_PLATFORM: 'dokcer' };
  const { config, ignored } = salvaged(`${good}, engine: kubernetes }`, { env });
  t.deepEqual([config.hook.engine, config.platform], ['kubernetes', 'docker']);
  t.deepEqual(ignored, ['GLEANER_PLATFORM', 'GLEANER_HOOK_ENGINE']);
  // Of a text that cannot be read nothing is guessed.
  for (const text of ['hook: { stateDir: /x', 'a: 1\n b: 2', '- 1'])
    t.deepEqual(salvaged(text).config, defaultConfig, text);
  const gone = (): string => {
    throw new Error('no such file');
  };
  const missing = salvaged('', { readFile: gone, env: { GLEANER_HOOK_STATEDIR: '/srv/g' } });
  t.regex(missing.error?.message ?? '', /no such file/);
  t.is(missing.config.hook.stateDir, '/srv/g');
  t.throws(() => salvaged(good, { flags: { 'hook.stateDr': '/x' } }), { instanceOf: ConfigError });
});

test('cores in place of millicores, and seconds in place of ms, are refused', (t) => {
  const problems = (fields: string): string[] =>
    problemsOf(() => from(`functions: { overrides: [{ match: /a/**, ${fields} }] }`));
  // The kernel's least quota is 1 ms in 100 ms.
  t.regex(problems('cpuMillicores: 2')[0]!, /cpuMillicores: must be at least 10 \(got 2\)$/);
  t.regex(problems('sloMs: 0.8')[0]!, /sloMs: must be at least 1 \(got 0\.8\)$/);
  t.regex(problems('bounds: { cpuMillicores: { max: 2 } }')[0]!, /must be at least 10/);
  t.deepEqual(problems('cpuMillicores: 10, sloMs: 1, bounds: { memoryMiB: { min: 0.5 } }'), []);
  const two = '{ match: /a/**, cpuMillicores: 99 }, { match: /b/c, cpuMillicores: 100 }';
  const { config } = from(`functions: { overrides: [${two}] }`);
  t.deepEqual(configWarnings(config), [
    'functions.overrides.0.cpuMillicores: 99 millicores for /a/** are below ' +
      'decision.cpuFloorMillicores, 100; a core is 1000',
  ]);
});

test('a key with the name of something that each object has is no such key', (t) => {
  for (const name of ['__proto__', 'constructor', 'toString'])
    t.deepEqual(
      problemsOf(() => from(`${name}: 1\n`)),
      [`g.yaml:1: ${name}: no such key`],
    );
});

test('a file of anything else gives a short message and all of its problems', (t) => {
  const keys = Array.from({ length: 100 }, (_, n) => `word${n}: 1\n`).join('');
  const error = t.throws(() => from(keys), { instanceOf: ConfigError });
  t.is(error.problems.length, 100);
  t.is(error.message.split('\n').length, 1 + 20 + 1);
  t.true(error.message.endsWith('\n  … 80 more'));
  const [long] = problemsOf(() => from(`mode: ${'x'.repeat(50_000)}\n`));
  t.true(long!.length < 400 && long!.endsWith('xxx…)'), long);
});

test('passwords in addresses are not shown, and other text is as it was', (t) => {
  t.is(maskUrlCredentials('nats://a:b@host'), 'nats://***@host');
  t.is(
    maskUrlCredentials('see "tls://a:p@ss/w@h:1", nats://h:2'),
    'see "tls://***@h:1", nats://h:2',
  );
  t.is(maskUrlCredentials('a@b, 1://2 and c@d'), 'a@b, 1://2 and c@d');
  // One word of a megabyte: a search that starts again at each letter would take minutes.
  const word = 'x'.repeat(1_000_000);
  t.is(maskUrlCredentials(word), word);
});
