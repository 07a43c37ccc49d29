/** The chart's manifests: of Kubernetes' form, with the rights that the chart's README explains. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import test from 'ava';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { HOOK_FLAGS } from '../../cli/up/children.js';
import { loadConfig } from '../../config/index.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const FILE = 'deploy/kubernetes/gleaner.yaml';
const CHART = 'deploy/helm/gleaner';
const text = readFileSync(FILE, 'utf8');

const { digestOfChart, helm, manifests } = (await import(
  new URL('../../../scripts/chart.mjs', import.meta.url).href
)) as {
  digestOfChart(): string;
  helm(
    command: readonly string[],
    args?: readonly string[],
  ): { status: number | null; stdout: string; stderr: string } | null;
  manifests(): string | null;
};

// The fields that these manifests use, by the Kubernetes API reference: a key that is misspelt or
// at the wrong place is an error here, where a server would ignore or refuse it.
const metadata = z.strictObject({
  name: z.string().regex(/^[a-z0-9-]{1,63}$/),
  namespace: z.string(),
  labels: z.record(z.string(), z.string()),
});
const probe = z.strictObject({
  httpGet: z
    .strictObject({ path: z.string(), port: z.int(), host: z.string().optional() })
    .optional(),
  exec: z.strictObject({ command: z.array(z.string()) }).optional(),
  periodSeconds: z.int().optional(),
  timeoutSeconds: z.int().optional(),
  failureThreshold: z.int().optional(),
  initialDelaySeconds: z.int().optional(),
});
const quantities = z.record(z.enum(['cpu', 'memory']), z.string().regex(/^\d+(m|Mi|Gi)?$/));
const container = z.strictObject({
  name: z.string(),
  image: z.string().regex(/^[\w./-]+:[\w.-]+$/),
  imagePullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']),
  command: z.array(z.string()).optional(),
  args: z.array(z.string()).optional(),
  securityContext: z.strictObject({
    privileged: z.boolean().optional(),
    allowPrivilegeEscalation: z.boolean().optional(),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.strictObject({ drop: z.array(z.string()) }).optional(),
  }),
  env: z.array(z.strictObject({ name: z.string(), value: z.string() })),
  ports: z.array(z.strictObject({ name: z.string(), containerPort: z.int() })).optional(),
  livenessProbe: probe,
  readinessProbe: probe,
  resources: z.strictObject({
    requests: quantities,
    limits: z.partialRecord(z.enum(['cpu', 'memory']), z.string()),
  }),
  volumeMounts: z.array(
    z.strictObject({
      name: z.string(),
      mountPath: z.string().startsWith('/'),
      readOnly: z.boolean().optional(),
    }),
  ),
});
const volume = z.strictObject({
  name: z.string(),
  hostPath: z
    .strictObject({
      path: z.string().startsWith('/'),
      type: z.enum(['Socket', 'Directory', 'DirectoryOrCreate']),
    })
    .optional(),
  configMap: z.strictObject({ name: z.string() }).optional(),
  emptyDir: z.strictObject({}).optional(),
  secret: z
    .strictObject({
      secretName: z.string(),
      defaultMode: z.int(),
      items: z.array(z.strictObject({ key: z.string(), path: z.string() })),
    })
    .optional(),
});
const pod = z.strictObject({
  metadata: z.strictObject({
    labels: z.record(z.string(), z.string()),
    annotations: z.record(z.string(), z.string()),
  }),
  spec: z.strictObject({
    hostPID: z.boolean().optional(),
    hostNetwork: z.boolean().optional(),
    dnsPolicy: z.string().optional(),
    automountServiceAccountToken: z.literal(false),
    enableServiceLinks: z.literal(false),
    priorityClassName: z.string().optional(),
    terminationGracePeriodSeconds: z.int().optional(),
    nodeSelector: z.record(z.string(), z.string()).optional(),
    tolerations: z
      .array(
        z.strictObject({
          key: z.string(),
          operator: z.enum(['Equal', 'Exists']),
          value: z.string(),
          effect: z.string(),
        }),
      )
      .optional(),
    securityContext: z
      .strictObject({
        runAsNonRoot: z.literal(true),
        runAsUser: z.int().min(1),
        runAsGroup: z.int().min(1),
        fsGroup: z.int().min(1),
        seccompProfile: z.strictObject({ type: z.literal('RuntimeDefault') }),
      })
      .optional(),
    containers: z.array(container).length(1),
    volumes: z.array(volume),
  }),
});
const selector = z.strictObject({ matchLabels: z.record(z.string(), z.string()) });
const workload = <Kind extends string>(kind: Kind, more: z.ZodRawShape) =>
  z.strictObject({
    apiVersion: z.literal('apps/v1'),
    kind: z.literal(kind),
    metadata,
    spec: z.strictObject({ selector, template: pod, ...more }),
  });
const manifest = z.discriminatedUnion('kind', [
  workload('DaemonSet', {
    updateStrategy: z.strictObject({
      type: z.literal('RollingUpdate'),
      rollingUpdate: z.strictObject({ maxUnavailable: z.int() }),
    }),
  }),
  workload('Deployment', { replicas: z.int().min(0) }),
  z.strictObject({
    apiVersion: z.literal('v1'),
    kind: z.literal('ConfigMap'),
    metadata,
    data: z.strictObject({ 'gleaner.yaml': z.string() }),
  }),
  z.strictObject({
    apiVersion: z.literal('networking.k8s.io/v1'),
    kind: z.literal('NetworkPolicy'),
    metadata,
    spec: z.strictObject({
      podSelector: z.strictObject({
        matchLabels: z.record(z.string(), z.string()),
        matchExpressions: z
          .array(
            z.strictObject({
              key: z.literal('app.kubernetes.io/component'),
              operator: z.literal('In'),
              values: z.array(z.string()),
            }),
          )
          .length(1),
      }),
      policyTypes: z.tuple([z.literal('Ingress')]),
      ingress: z
        .array(
          z.strictObject({
            from: z.array(z.record(z.string(), z.unknown())).min(1),
            ports: z.array(z.strictObject({ port: z.int() })),
          }),
        )
        .optional(),
    }),
  }),
]);
type Manifest = z.output<typeof manifest>;
type Workload = Extract<Manifest, { kind: 'DaemonSet' | 'Deployment' }>;

const read = (yaml: string): Manifest[] =>
  parseAllDocuments(yaml)
    .map((document) => document.toJS() as unknown)
    .filter((document) => document !== null)
    .map((document) => manifest.parse(document));
const workloadsOf = (list: readonly Manifest[]): Workload[] =>
  list.filter((each): each is Workload => each.kind === 'DaemonSet' || each.kind === 'Deployment');
const containerOf = ({ spec }: Workload) => spec.template.spec.containers[0]!;
const environmentOf = (each: Workload): Record<string, string> =>
  Object.fromEntries(containerOf(each).env.map(({ name, value }) => [name, value]));
const configOf = (list: readonly Manifest[]): string => {
  for (const each of list) if (each.kind === 'ConfigMap') return each.data['gleaner.yaml'];
  throw new Error('no ConfigMap');
};

test('the manifests in the repository are what the chart makes', (t) => {
  t.regex(text, new RegExp(`from chart ${digestOfChart()};`), 'run `npm run chart`');
  const now = manifests();
  if (now === null) t.log('NOT RUN: needs helm; its digest alone was compared');
  else t.is(text, now);
});

test('the manifests have the form of the Kubernetes API', (t) => {
  const all = read(text);
  t.deepEqual(all.map(({ kind, metadata: { name } }) => `${kind} ${name}`).sort(), [
    'ConfigMap gleaner',
    'DaemonSet gleaner-hook',
    'Deployment gleaner-agents',
    'Deployment gleaner-aggregator',
    'Deployment gleaner-dashboard',
    'NetworkPolicy gleaner-metrics',
  ]);
  for (const { spec } of workloadsOf(all)) {
    const { labels } = spec.template.metadata;
    t.like(labels, spec.selector.matchLabels);
    const { volumes, containers } = spec.template.spec;
    const names = new Set(volumes.map(({ name }) => name));
    for (const { name } of containers[0]!.volumeMounts) t.true(names.has(name), name);
    t.is(names.size, containers[0]!.volumeMounts.length);
  }
});

test('each part accepts the configuration and the variables that it is given', (t) => {
  const all = read(text);
  const file = configOf(all);
  for (const each of workloadsOf(all)) {
    const { config } = loadConfig({
      path: 'gleaner.yaml',
      env: environmentOf(each),
      flags: {},
      readFile: () => file,
    });
    t.deepEqual(config.nats.servers, ['nats://nats:4222']);
    t.is(config.mode, 'recommend');
    // Probes ask where the part listens.
    const { livenessProbe, args = ['hook'] } = containerOf(each);
    const part = args[0] as 'hook' | 'agents' | 'aggregator' | 'dashboard';
    const listen = part === 'dashboard' ? config.dashboard.listen : config.metrics[part];
    const { httpGet, exec } = livenessProbe;
    if (exec !== undefined) t.true(exec.command.at(-1)?.includes(`http://${listen}'`), part);
    else t.is(Number(listen?.split(':').at(-1)), httpGet?.port ?? 0, part);
  }
});

test('what listens beyond loopback is closed to other pods by a policy', (t) => {
  const all = read(text);
  const policy = all.find(({ kind }) => kind === 'NetworkPolicy');
  const { podSelector, ingress } = (policy as Extract<Manifest, { kind: 'NetworkPolicy' }>).spec;
  t.is(ingress, undefined);
  for (const each of workloadsOf(all)) {
    const { labels } = each.spec.template.metadata;
    const listens = Object.entries(environmentOf(each)).filter(([name]) =>
      /_LISTEN$|_METRICS_/.test(name),
    );
    t.is(listens.length, 1);
    if (listens[0]![1].startsWith('127.0.0.1:')) continue;
    t.like(labels, podSelector.matchLabels);
    const { values } = podSelector.matchExpressions[0]!;
    t.true(values.includes(labels['app.kubernetes.io/component']!));
  }
});

test('pods that may read metrics are named by a value', (t) => {
  const from = 'metricsFrom[0].namespaceSelector.matchLabels.team';
  const all = rendered(t, 'config.nats.servers={nats://n:4222}', `${from}=monitoring`);
  if (all === null) return;
  t.false('error' in all);
  for (const each of all as Manifest[])
    if (each.kind === 'NetworkPolicy')
      t.deepEqual(each.spec.ingress, [
        {
          from: [{ namespaceSelector: { matchLabels: { team: 'monitoring' } } }],
          ports: [{ port: 9782 }, { port: 9783 }],
        },
      ]);
});

test('the probe of the dashboard succeeds while its page is served', async (t) => {
  const dashboard = workloadsOf(read(text)).find(({ metadata: { name } }) =>
    name.endsWith('dashboard'),
  )!;
  const [, ...args] = containerOf(dashboard).livenessProbe.exec!.command;
  const server = createServer((_, response) => void response.end('page')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const probe = (): Promise<number | null> =>
    new Promise((resolve) => {
      const at = args.map((arg) => arg.replace(':9780', `:${port}`));
      spawn(process.execPath, at, { stdio: 'ignore' }).on('exit', resolve);
    });
  t.is(await probe(), 0);
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
  t.is(await probe(), 1);
});

test('only the hook has rights on its node, and the README gives a reason for each', (t) => {
  const readme = readFileSync(join(CHART, 'README.md'), 'utf8');
  for (const each of workloadsOf(read(text))) {
    const { spec } = each.spec.template;
    const { securityContext } = containerOf(each);
    if (each.kind === 'DaemonSet') {
      t.true(spec.hostPID && spec.hostNetwork && securityContext.privileged);
      for (const right of ['hostPID', 'hostNetwork', 'privileged'])
        t.regex(readme, new RegExp(`^\\| \`${right}\` \\|`, 'm'));
      const writable = containerOf(each).volumeMounts.filter(({ readOnly }) => !readOnly);
      t.deepEqual(writable.map(({ mountPath }) => mountPath).sort(), [
        '/sys/fs/cgroup',
        '/tmp',
        '/var/lib/gleaner',
        '/var/lib/gleaner/engines',
      ]);
      for (const { hostPath } of spec.volumes)
        if (hostPath !== undefined && hostPath.path !== '/run/containerd')
          t.true(readme.includes(`\`${hostPath.path}\``), hostPath.path);
    } else {
      t.is(spec.hostPID ?? spec.hostNetwork ?? securityContext.privileged, undefined);
      t.deepEqual(securityContext.capabilities, { drop: ['ALL'] });
      t.true(spec.securityContext?.runAsNonRoot);
      t.deepEqual(
        spec.volumes.filter(({ hostPath }) => hostPath !== undefined),
        [],
      );
    }
  }
});

/** What helm makes with these values; null, with a loud line, where helm is missing. */
function rendered(
  t: { log(...text: string[]): void; pass(): void },
  ...values: string[]
): { readonly error: string } | Manifest[] | null {
  const found = helm(
    ['template', 'gleaner', '--kube-version', '1.30.0'],
    values.flatMap((value) => ['--set', value]),
  );
  if (found === null) {
    t.log('NOT RUN: needs helm');
    t.pass();
    return null;
  }
  return found.status === 0 ? read(found.stdout) : { error: found.stderr };
}

test('helm finds no fault in the chart', (t) => {
  const found = helm(['lint', '--strict'], ['--set', 'nats.enabled=true']);
  if (found === null) t.log('NOT RUN: needs helm');
  t.is(found?.status ?? 0, 0, `${found?.stdout}${found?.stderr}`);
});

test('a part gets the seed of its own role and no other', (t) => {
  const all = rendered(t, 'nats.enabled=true', 'natsSecret=keys');
  if (all === null) return;
  if ('error' in all) {
    t.fail(all.error);
    return;
  }
  t.regex(configOf(all), /nats:\/\/gleaner-nats\.\S+:4222/);
  for (const each of workloadsOf(all)) {
    const { spec, metadata } = each.spec.template;
    const part = metadata.labels['app.kubernetes.io/component'];
    const role = part === 'dashboard' ? 'viewer' : part;
    const keys = spec.volumes.find(({ name }) => name === 'nats')?.secret?.items;
    t.deepEqual(
      keys?.map(({ key }) => key),
      ['ca.pem', `${role}.nk`],
    );
    t.is(environmentOf(each).GLEANER_NATS_INBOXPREFIX, `_INBOX_gleaner_${role}`);
  }
});

test('a socket in a folder of its own is mounted with it, so that it survives a restart', (t) => {
  const socket = '/run/k3s/containerd/containerd.sock';
  const all = rendered(t, 'config.nats.servers={nats://n:4222}', `hook.engineSocket=${socket}`);
  if (all === null) return;
  t.false('error' in all);
  const hook = workloadsOf(all as Manifest[]).find(({ kind }) => kind === 'DaemonSet')!;
  t.deepEqual(hook.spec.template.spec.volumes.find(({ name }) => name === 'engine')?.hostPath, {
    path: '/run/k3s/containerd',
    type: 'Directory',
  });
  t.is(environmentOf(hook).GLEANER_HOOK_ENGINESOCKET, socket);
});

test('without a NATS server the chart is refused, and the message says what to set', (t) => {
  const all = rendered(t);
  if (all === null) return;
  t.regex('error' in all ? all.error : '', /set config\.nats\.servers, or nats\.enabled=true/);
});

const supervised = (gleaner: string) => {
  const folder = temporaryFolder('hook-script');
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  writeFileSync(
    join(bin, 'gleaner'),
    `#!/bin/sh\necho "$1 \${SERVICE_RESULT-}" >>${folder}/log\n${gleaner}\n`,
  );
  // Node's flags, and then the program.
  writeFileSync(join(bin, 'node'), '#!/bin/sh\nshift $(($# - 2))\nexec "$@"\n');
  for (const name of ['gleaner', 'node']) chmodSync(join(bin, name), 0o755);
  const env = { ...process.env, PATH: `${bin}:${process.env.PATH}` };
  const { status } = spawnSync('sh', ['deploy/container/hook.sh'], { env, timeout: 20_000 });
  return {
    status,
    log: readFileSync(join(folder, 'log'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.trim()),
  };
};

test('every way to start a hook gives node the same flags', (t) => {
  const flags = `${HOOK_FLAGS.join(' ')} `;
  for (const file of ['systemd/gleaner-hook.service', 'container/hook.sh'])
    t.regex(readFileSync(`deploy/${file}`, 'utf8'), new RegExp(`node ${flags}.*hook`));
});

test('a killed hook is followed by a restore, and the container ends with its code', (t) => {
  const { status, log } = supervised('[ "$1" = hook ] && kill -9 $$; exit 0');
  t.is(status, 128 + 9);
  t.deepEqual(log, ['hook', 'restore exit-code']);
});

test('a hook that stopped in order has restored, and nothing follows', (t) => {
  // The container's main process gets the signal of a stop, and passes it on.
  const { status, log } = supervised(
    "trap 'exit 0' TERM; kill -TERM $PPID; while :; do sleep 0.05; done",
  );
  t.is(status, 0);
  t.deepEqual(log, ['hook']);
});
