import { serverList } from '../../broker/index.js';
import { MIN_DOCKER_API } from '../../config/index.js';
import type { EngineSurvey, NodeSurvey, Survey } from './survey.js';

type FindingLevel = 'ok' | 'warn' | 'fail';

export interface Finding {
  readonly check: string;
  readonly level: FindingLevel;
  readonly found: string;
  /** What to do; empty: nothing. */
  readonly advice: string;
}

const CAP_NET_RAW = 13n;

const finding =
  (level: FindingLevel) =>
  (check: string, found: string, advice = ''): Finding => ({ check, level, found, advice });
const ok = finding('ok');
const warn = finding('warn');
const fail = finding('fail');

/** Compares `1.9` and `1.41` as versions. */
export function atLeastVersion(have: string, least: string): boolean {
  const [major = 0, minor = 0] = have.split('.').map(Number);
  const [minMajor = 0, minMinor = 0] = least.split('.').map(Number);
  return major > minMajor || (major === minMajor && minor >= minMinor);
}

/** Judges a survey: what prevents managing this host, and what to do about it. */
export function findings(survey: Survey): Finding[] {
  const out: Finding[] = [];
  if (survey.platform !== 'linux')
    out.push(
      fail(
        'platform',
        survey.platform,
        'real invoker hosts need Linux; `--platform simulated` runs everywhere',
      ),
    );
  else out.push(ok('platform', `Linux ${survey.kernel}, ${survey.cores} cores`));
  if ('error' in survey.engine) out.push(engineDown(survey, survey.engine));
  else if ('runtime' in survey.engine) out.push(...nodeFindings(survey.engine));
  else out.push(...engineFindings(survey.engine));
  out.push(...cgroupFindings(survey), ...tapFindings(survey));
  if (survey.flock === null)
    out.push(fail('flock', 'not found', 'no lock can be taken without it: install util-linux'));
  out.push(...rightsFindings(survey));
  return out;
}

function engineDown(survey: Survey, { error, code }: { error: string; code: string }): Finding {
  if (survey.inKubernetes && survey.engineKind === 'docker')
    return fail(
      'engine',
      'no Docker engine, but Kubernetes',
      "on Kubernetes set hook.engine, and hook.engineSocket to the node's runtime",
    );
  const advice =
    code === 'EACCES'
      ? 'this user may not read the socket: run as root or join the group that owns it'
      : code === 'ETIMEDOUT'
        ? 'the engine hangs: see its log; Gleaner changes no container meanwhile'
        : 'start the container engine, or set hook.engineSocket to its socket';
  return fail('engine', `not reachable: ${error}`, advice);
}

function* nodeFindings(node: NodeSurvey): Generator<Finding> {
  const { pods, unaddressed, unrequested } = node;
  yield ok('engine', `${node.runtime}; ${pods} action pods run`);
  if (node.cgroupDriver === 'systemd')
    yield warn(
      'cgroup driver',
      'systemd, which undoes limits of pods when it reloads',
      'none: Gleaner writes them again when it finds them changed',
    );
  yield* kubeletFindings(node.kubelet);
  if (unaddressed > 0)
    yield fail(
      'pod addresses',
      `${unaddressed} action pods have no IPv4 address`,
      'their traffic is not read and user limits apply: use an IPv4 or dual-stack pod network',
    );
  const lacking = `${unrequested} of ${pods} action pods have none`;
  if (unrequested > 0 && node.isDedicated)
    yield ok(
      'CPU requests',
      `${lacking}: their weights are raised together, beside Burstable system pods only a little`,
    );
  else if (unrequested > 0)
    yield warn(
      'CPU requests',
      `${lacking}, and with it the least weight`,
      "set OpenWhisk's whisk.kubernetes.cpu-scaling, or hook.engine: kubernetes-dedicated",
    );
  const levels = Object.entries(node.levels).filter(([, number]) => number > 0);
  if (levels.length > 1)
    yield warn(
      'QoS classes',
      `action pods are ${levels.map(([name, number]) => `${number} ${name}`).join(', ')}`,
      "weights decide only within a class, because kubelet sets the classes' own: give all " +
        'actions CPU limits (cpu-scaling), or none',
    );
}

function* kubeletFindings(kubelet: NodeSurvey['kubelet']): Generator<Finding> {
  if (kubelet === null) {
    yield warn(
      'kubelet',
      'not found',
      'its CPU manager is not known: a pod needs hostPID to see it; a kubelet inside another ' +
        'program, such as k3s, is not found, so check that its CPU manager is none',
    );
    return;
  }
  const { cpuManager, memoryManager, swapBehavior } = kubelet;
  yield ok(
    'kubelet',
    `CPU manager ${cpuManager ?? 'unknown'}, memory manager ${memoryManager ?? 'unknown'}, ` +
      `swap ${swapBehavior ?? 'unknown'}`,
  );
  if (cpuManager === 'static')
    yield warn(
      'CPU manager',
      'static: kubelet rewrites the limits of containers when it moves them to other cores',
      'set cpuManagerPolicy: none on nodes for actions; until then Gleaner writes its limits again',
    );
  if (memoryManager === 'Static')
    yield warn(
      'memory manager',
      'Static: Guaranteed pods use the memory of fixed NUMA nodes only',
      'none: Gleaner raises no memory limit on Kubernetes',
    );
  if (swapBehavior === 'LimitedSwap')
    yield warn(
      'pod swap',
      'LimitedSwap: pods can use swap, whose limits Gleaner keeps',
      'use NoSwap on nodes for actions: memory in swap does not count as memory in use',
    );
}

function* engineFindings(engine: EngineSurvey): Generator<Finding> {
  const { version, info } = engine;
  const range = `${version.MinAPIVersion ?? '?'}..${version.ApiVersion}`;
  if (atLeastVersion(version.ApiVersion, MIN_DOCKER_API))
    yield ok('engine', `Docker ${version.Version}, API ${range}`);
  else
    yield fail(
      'engine',
      `Docker ${version.Version}, API ${range}`,
      `Gleaner needs API ${MIN_DOCKER_API} or newer: update Docker`,
    );
  if (atLeastVersion(version.MinAPIVersion ?? '0', '1.43'))
    yield warn(
      'engine API',
      `refuses clients older than ${version.MinAPIVersion}`,
      "OpenWhisk's invoker image may have an older docker CLI: check that it starts containers",
    );
  if (info.SecurityOptions?.some((option) => option.includes('rootless')))
    yield fail(
      'engine',
      'runs rootless',
      'limits are ignored without the cpu controller: run the engine as root',
    );
  if (info.SwapLimit === false)
    yield warn(
      'swap',
      'the kernel does not account swap',
      'boot with swapaccount=1, or memory limits do not cover swap; memory loans stay off',
    );
  yield* networkFindings(engine);
}

const unseen: Readonly<Record<string, string>> = {
  macvlan: 'macvlan traffic bypasses the host',
  ipvlan: 'ipvlan traffic bypasses the host',
  overlay: 'an overlay network wraps packets',
  host: 'the host network has no address per container',
  null: 'no network at all',
};

function* networkFindings({ networks, containers }: EngineSurvey): Generator<Finding> {
  const used = new Map<string, number>();
  for (const container of containers) {
    for (const name of Object.keys(container.NetworkSettings?.Networks ?? {}))
      used.set(name, (used.get(name) ?? 0) + 1);
  }
  const bridges: string[] = [];
  for (const network of networks) {
    const actions = used.get(network.Name) ?? 0;
    const subnets = (network.IPAM?.Config ?? []).map((config) => config.Subnet ?? '');
    const onlySix =
      network.Driver === 'bridge' &&
      subnets.length > 0 &&
      subnets.every((subnet) => subnet.includes(':'));
    const reason = onlySix ? 'an IPv6-only bridge' : unseen[network.Driver];
    if (!reason) {
      if (network.Driver === 'bridge') bridges.push(network.Name);
      continue;
    }
    if (actions > 0)
      yield fail(
        `network ${network.Name}`,
        `${reason}, and holds ${actions} action containers`,
        "set the invoker's container network to an IPv4 bridge",
      );
    else if (onlySix || ['macvlan', 'ipvlan', 'overlay'].includes(network.Driver))
      yield warn(
        `network ${network.Name}`,
        reason,
        'the tap cannot see its traffic: do not run action containers on it',
      );
  }
  if (bridges.length > 0)
    yield ok('bridges', `${bridges.join(', ')}; ${containers.length} action containers run`);
  else
    yield fail('bridges', 'no IPv4 bridge network', 'connect action containers to a Docker bridge');
}

function* cgroupFindings({ cgroup, engine }: Survey): Generator<Finding> {
  const info = 'info' in engine ? engine.info : {};
  const version = info.CgroupVersion ?? (cgroup.unified ? '2' : '1');
  const driver = info.CgroupDriver ?? ('runtime' in engine ? engine.cgroupDriver : 'unknown');
  if (cgroup.privateNamespace) {
    yield fail(
      'cgroup',
      "a private cgroup namespace hides the host's tree",
      "start Gleaner's container with --cgroupns=host and /sys/fs/cgroup mounted read-write",
    );
    return;
  }
  const lacking = ['cpu', 'memory'].filter((name) => !cgroup.controllers.includes(name));
  if (lacking.length > 0)
    yield fail(
      'cgroup',
      `v${version}, no controller ${lacking.join(', ')}`,
      cgroup.controllers.length === 0
        ? 'mount /sys/fs/cgroup (container: -v /sys/fs/cgroup:/sys/fs/cgroup), enable them at boot'
        : 'enable it for the root cgroup (cgroup.subtree_control) or at boot',
    );
  else yield ok('cgroup', `v${version}, driver ${driver}`);
  if (!cgroup.quotas && cgroup.controllers.includes('cpu'))
    yield warn(
      'cgroup quotas',
      'the kernel has no CPU quotas (CONFIG_CFS_BANDWIDTH)',
      'only weights are set, CPU is not harvested; quotas need CONFIG_CFS_BANDWIDTH=y',
    );
  if (!cgroup.writable)
    yield fail(
      'cgroup rights',
      'limits cannot be written',
      'run as root with /sys/fs/cgroup mounted read-write',
    );
  // On a Kubernetes node the engine's findings name the driver.
  if (driver === 'systemd' && !('runtime' in engine))
    yield ok(
      'cgroup owner',
      'systemd: limits are set on the scopes, changes by daemon-reload are repaired; weights are ' +
        'raised only up to those of system services',
    );
  else if ('beside' in engine && engine.beside > 0)
    yield ok(
      'weights',
      `raised only up to those of the ${engine.beside} other containers beside the actions'`,
    );
  if (cgroup.unmounted.length > 0)
    yield warn(
      'cgroup hierarchies',
      `${cgroup.unmounted.join(' and ')}: in use and not mounted`,
      'the engine reports no OOM kills then; Gleaner counts them itself. To fix it, mount each ' +
        '(mount -t cgroup -o NAME cgroup FOLDER), remove the folders in it, unmount it',
    );
  if (cgroup.processesHidden)
    yield warn(
      'processes',
      '/proc is mounted with hidepid: cgroups are found by container id',
      cgroup.pressure
        ? 'optional: hidepid=0, or the group of gid= for the hook, finds them faster'
        : 'CPU wait is not measured: boot with psi=1, or add the group of gid= to the unit of ' +
            'the hook (SupplementaryGroups=)',
    );
  if (!cgroup.memoryPeaks)
    yield warn(
      'memory peaks',
      'the kernel cannot reset memory.peak: memory use is known from samples (100 ms) only',
      'a kernel of 6.12 or later has them; until then keep decision.memory.policy guarantee',
    );
  if (!cgroup.pressure)
    yield warn(
      'kernel',
      'no pressure information (PSI)',
      "CPU wait is measured of a container's first process at most: boot with psi=1",
    );
}

function* tapFindings({ tcpdump, uid, capabilities }: Survey): Generator<Finding> {
  if (tcpdump.nsenter === 'missing')
    yield fail('nsenter', 'not found', 'hook.capture: pod needs it: install util-linux');
  if (tcpdump.path === null) {
    yield fail(
      'tcpdump',
      'not found',
      'install it (Debian, Ubuntu: apt-get install tcpdump), or set hook.tcpdump',
    );
    return;
  }
  if (tcpdump.refusal === null) {
    yield ok('tcpdump', `${tcpdump.path} ${tcpdump.version}, permitted`);
    return;
  }
  const allowed = uid === 0 || (capabilities & (1n << CAP_NET_RAW)) !== 0n;
  yield fail(
    'tcpdump',
    `cannot listen: ${tcpdump.refusal}`,
    allowed
      ? 'a security module may forbid it: see the system log'
      : 'run as root or give it CAP_NET_RAW',
  );
}

function* rightsFindings(survey: Survey): Generator<Finding> {
  if (survey.uid === 0) yield ok('rights', 'root');
  else
    yield warn(
      'rights',
      `user ${survey.uid}`,
      "writing limits needs root (or write access to the containers' cgroups)",
    );
  if (survey.swapTotalKiB > 0)
    yield ok(
      'swap on the host',
      `${Math.round(survey.swapTotalKiB / 1024)} MiB; memory and swap limits are set together`,
    );
  if (!survey.stateDirWritable)
    yield fail('state folder', 'cannot be written', 'set hook.stateDir to a folder of this user');
  if (survey.stateDirWriter !== null)
    yield warn(
      'state folder',
      survey.stateDirWriter,
      'chown root:root and chmod 700 it: a user who may write there can release the kill switch',
    );
  if (survey.lockFolderWriter !== null)
    yield warn(
      'lock folder',
      survey.lockFolderWriter,
      'chown root:root and chmod go-w it: a user who may write there can keep hooks from starting',
    );
  if (survey.configWriter !== null)
    yield warn(
      'configuration',
      survey.configWriter,
      'chown root:root and chmod go-w it: it names programs that root runs',
    );
  if (survey.ownHook !== null && survey.ownHookSettings === null)
    yield ok('hook', `runs with this configuration (process ${survey.ownHook})`);
  else if (survey.ownHook !== null)
    yield warn(
      'hook',
      `runs with other settings (process ${survey.ownHook}): ${survey.ownHookSettings}`,
      'it was started with other flags, or the file has changed since; restart it if not meant',
    );
  else if (survey.engineManaged === null)
    yield warn(
      'two hooks',
      "unknown: this user may not see the locks of root's hooks",
      'run gleaner doctor as root',
    );
  else if (survey.engineManaged)
    yield warn(
      'two hooks',
      'a hook with another state folder manages this engine',
      'use its configuration (--config FILE); an engine accepts only one hook',
    );
  yield* fileFindings(survey);
  if (survey.natsServers.length > 0 && survey.natsRefusal !== null)
    yield warn(
      'NATS',
      survey.natsRefusal,
      'check nats.servers and the credentials; until then user limits and local policies apply',
    );
  else if (survey.natsServers.length > 0) yield ok('NATS', serverList(survey.natsServers));
  else if (survey.natsServer !== null)
    yield ok(
      'NATS',
      `nats.servers is empty: only \`gleaner up\` starts its own, ${survey.natsServer}`,
    );
  else
    yield warn(
      'NATS',
      'no servers configured and no nats-server found',
      'set nats.servers, or install nats-server >= 2.9; without it user limits apply',
    );
}

/** Kept open for the life of a container; up to six more for its samples are optional. */
const FILES_PER_CONTAINER = 7;
const FILES_OWN = 512;

function* fileFindings({ openFiles }: Survey): Generator<Finding> {
  if (openFiles === null) return;
  // Node raises its soft limit to the hard one at start.
  const containers = Math.floor((openFiles - FILES_OWN) / FILES_PER_CONTAINER);
  if (containers >= 500) {
    const found = Number.isFinite(openFiles)
      ? `${openFiles}: enough for ${containers} containers`
      : 'no limit';
    yield ok('open files', found);
  } else
    yield warn(
      'open files',
      `${openFiles}: enough for ${Math.max(0, containers)} containers`,
      'raise LimitNOFILE of the unit (or ulimit -Hn) to 65536: each container needs some files',
    );
}

export const isManageable = (list: readonly Finding[]): boolean =>
  list.every((finding) => finding.level !== 'fail');
