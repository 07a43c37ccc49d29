export interface ErrorRow {
  /** `{name}` is filled in by the error's class; a literal, so that TypeScript checks values. */
  readonly message: string;
  readonly hint: string;
  /** Exit code of a command that ends with this error; 1 unless stated. */
  readonly exit?: 2;
}

/** Every error that Gleaner raises on purpose, by its stable code. */
export const ERRORS = {
  // Command line and configuration
  GLN_USAGE: { message: '{problem}', hint: '{hint}', exit: 2 },
  GLN_CONFIG_INVALID: {
    message: 'the configuration has {count}:\n{problems}',
    hint: 'docs/reference/config.md lists every key; `gleaner config check` shows all problems',
    exit: 2,
  },
  GLN_CONFIG_OPEN: {
    message: 'every user of this host may write {path}, which names programs that root would run',
    hint: 'check its content, then: chmod go-w FILE',
    exit: 2,
  },
  GLN_STATE_FOLDER: {
    message: 'cannot create the folder {folder}: {reason}',
    hint: 'set hook.stateDir to a folder of this user, or run as the user that runs Gleaner',
  },
  GLN_OUTPUT_FOLDER: {
    message: 'cannot write in {folder} (--out): {reason}',
    hint: 'name with --out a folder in which this user may write',
  },
  GLN_ALREADY_UP: {
    message: '`gleaner up` already runs with the state folder {folder} (process {pid})',
    hint: 'stop it first, or use another folder: --set hook.stateDir=FOLDER',
  },
  GLN_CHILD_NOT_READY: {
    message: '{process} did not start: {reason}',
    hint: 'read its log in the state folder',
  },
  GLN_AUDIT_MISSING: {
    message: 'cannot read an audit log at {path}{reason}',
    hint:
      'run the command on the invoker host, as the user of the hook and with its configuration ' +
      '(hook.stateDir)',
  },
  GLN_FUNCTION_NAME: {
    message: "'{name}' is not the name of an action",
    hint: 'write it fully qualified: /namespace/action or /namespace/package/action',
  },
  GLN_FUNCTION_UNKNOWN: {
    message: "the hooks know no function '{name}'",
    hint: '{suggestion}`gleaner functions` lists the functions that were activated',
  },
  GLN_FUNCTION_AMBIGUOUS: {
    message: "'{name}' is the name of {count} functions",
    hint: 'use one of: {names}',
  },

  // Installation
  GLN_NOT_INSTALLED: {
    message: 'nothing is installed below {root}',
    hint: '`gleaner install` installs Gleaner; --root names another folder',
  },
  GLN_MANIFEST_DAMAGED: {
    message: '{path} is not a manifest of Gleaner',
    hint: 'restore it from a backup, or delete it and run `gleaner install` with every --part',
  },
  GLN_NO_PREVIOUS_RELEASE: {
    message: 'there is no previous release',
    hint: 'an upgrade leaves one; otherwise run `gleaner install` of the release that you need',
  },
  GLN_RELEASE_CONFIG: {
    message: 'release {release} cannot use {config}, and was not switched to:\n{problems}',
    hint: 'correct this and repeat the command; docs/upgrade.md lists changed keys',
  },
  GLN_LIMITS_NOT_RESTORED: {
    message: 'some limits may not be restored: {containers}',
    hint: 'a loan of memory in use cannot be reclaimed: retry when idle, or remove the containers',
  },
  GLN_ACTIONS_NOT_UNDONE: {
    message: 'OpenWhisk still has changed limits of {count} actions: {names}',
    hint:
      'run `gleaner actions undo --no-dry-run` and remove again; ' +
      'or keep the changed limits: --leave-actions',
  },
  GLN_SYSTEMD: {
    message: 'systemctl {arguments}: {reason}',
    hint: 'read the log: journalctl -u {units}',
  },
  GLN_NATS_CERTIFICATE: {
    message: 'openssl {command}: {reason}',
    hint: 'install openssl, or pass your own certificates with --tls-cert, --tls-key and --tls-ca',
  },

  // NATS
  GLN_NATS_SERVER_OLD: {
    message: '{binary} is nats-server {version}; Gleaner needs {least} or newer',
    hint:
      'install a newer nats-server (Debian, Ubuntu: apt-get install nats-server), ' +
      'or name another: nats.embedded.binary, nats.servers',
  },
  GLN_NATS_SERVER_MISSING: {
    message: 'no nats-server was found, and nats.servers is empty',
    hint:
      'install nats-server >= 2.9 (Debian, Ubuntu: apt-get install nats-server), ' +
      'or set nats.servers or nats.embedded.binary',
  },
  GLN_NATS_UNKNOWN: {
    message:
      'no NATS servers are configured, and no `gleaner up` runs with the state folder {folder}',
    hint:
      'pass the configuration of the running Gleaner (--config FILE or GLEANER_CONFIG; ' +
      '`npm start` uses config/demo.yaml), or --nats URL',
  },
  GLN_NATS_NOT_CONFIGURED: {
    message: '{part} cannot work without NATS, and no NATS servers are configured',
    hint:
      'set nats.servers (`gleaner nats-config` writes it with the credentials), ' +
      'or pass --nats URL',
    exit: 2,
  },
  GLN_NATS_AWAY: {
    message: 'cannot reach {servers}: {reason}',
    hint:
      'start nats-server, or name another with --nats URL or nats.servers; the kill switch works ' +
      'without NATS: `gleaner restore --hold` on the invoker host',
  },
  GLN_BROKER_UNREACHABLE: {
    message: 'cannot reach {servers}: {reason}',
    hint: 'start nats-server, or correct nats.servers; running parts reconnect by themselves',
  },
  GLN_BROKER_DISCONNECTED: {
    message: 'no connection to NATS: {operation}',
    hint: 'start nats-server, or correct nats.servers; running parts reconnect by themselves',
  },
  GLN_BROKER_CLOSED: {
    message: 'the broker is closed: {operation}',
    hint: 'this process is stopping; start it again',
  },
  GLN_BROKER_NO_RESPONDERS: {
    message: 'no service answers on {subject}',
    hint: 'start the part that serves it; `gleaner status` shows what runs',
  },
  GLN_BROKER_TIMEOUT: {
    message: 'no answer within {timeout} ms: {operation}',
    hint: 'the part that serves it is busy or has ended; see `gleaner status`',
  },
  GLN_BROKER_NO_JETSTREAM: {
    message: 'JetStream is not enabled for this account: {operation}',
    hint:
      'start nats-server with -js and enable JetStream for the account of this user; if its log ' +
      'says that JetStream was disabled, free disk space and restart it',
  },
  GLN_BROKER_STORE_FULL: {
    message: '{operation}: the store is full: {detail}',
    hint:
      'free disk space, raise max_file_store of nats-server or the limits of the account or ' +
      'stream (`nats stream report`), or delete what fills the store',
  },
  GLN_BROKER_STORE_UNAVAILABLE: {
    message: '{operation}: JetStream cannot answer at present: {detail}',
    hint: 'retry; if it lasts, check the log of nats-server and that most of its cluster runs',
  },
  GLN_BROKER_STORE_TIMEOUT: {
    message: 'no answer from JetStream within {timeout} ms: {operation}',
    hint: 'the disk of nats-server is full or hangs, or nats-server itself: see its log',
  },
  GLN_BROKER_STORE_CONFLICT: {
    message: '{operation}: another stream has the same name or subjects: {detail}',
    hint:
      'see `nats stream ls`: rename or delete the stream that Gleaner did not create, ' +
      'or give Gleaner its own account',
  },
  GLN_BROKER_STORE: {
    message: '{operation}: {detail}',
    hint: 'check the disk space and the log of nats-server',
  },
  GLN_BROKER_PAYLOAD_LIMIT: {
    message: '{operation}: the message is too large',
    hint: 'raise max_payload of nats-server, or max_msg_size of the stream',
  },
  GLN_BROKER_TOO_LARGE: {
    message: '{subject} has {size} bytes, the server accepts {limit}',
    hint: 'raise max_payload of nats-server',
  },
  GLN_BROKER_SUBJECT: {
    message: "'{subject}' is not a NATS subject",
    hint: 'use tokens without spaces, separated by dots; docs/reference/nats.md lists all subjects',
  },
  GLN_BROKER_KEY: {
    message: "'{key}' is not a key",
    hint: 'a function is keyed by its token; docs/reference/nats.md says how it is made',
  },
  GLN_BROKER_HANDLER: {
    message: 'the handler of {subject} failed: {problem}',
    hint: 'report this defect with its stack in the log; other handlers are not affected',
  },
  GLN_BROKER_AUTH: {
    message: 'NATS refuses this client: {detail}',
    hint:
      'commands need --config nats/operator.yaml (queries: viewer.yaml) of `gleaner ' +
      'nats-config`, parts the credentials in nats.* and their permissions (docs/nats.md)',
  },
  GLN_BROKER_TLS: {
    message: 'the TLS handshake with NATS failed: {detail}',
    hint:
      'nats.caFile must hold the authority that signed the server’s certificate, ' +
      'and nats.servers the name in that certificate',
  },
  GLN_BROKER_CREDENTIALS: {
    message: '{path}: {detail}',
    hint: 'use a .creds file or an nkey seed, as `nsc` or `nk -gen user` write them',
  },
  GLN_SERVICE: { message: '{problem}', hint: '{hint}' },
  GLN_MODE_CONFLICT: {
    message: '{key} in gleaner_mode was changed by another client',
    hint: 'retry',
  },
  GLN_MODE_NOT_STORED: {
    message: 'in force on {hosts} but not stored: {reason}',
    hint: 'hooks that start later do not have it: {hint}; then run the command again',
  },
  GLN_MODE_PROBLEM: {
    message: 'in force on {host}, but {problem}',
    hint:
      '`gleaner status` shows the host; `gleaner restore --hold` there restores user limits ' +
      'without NATS',
  },
  GLN_MODE_NOT_IN_FORCE: {
    message: 'not in force on {host}: {reason}',
    hint:
      'repeat the command when `gleaner status` lists the host; if its hook hangs, ' +
      '`gleaner restore --hold` there restores user limits',
  },
  GLN_MODE_NO_HOOK: {
    message: 'stored, but in force on no host: no hook answers',
    hint:
      'hooks apply it when they start or answer again: start `gleaner hook`, or check --nats; ' +
      'if one hangs, `gleaner restore --hold` on its host restores user limits',
  },
  GLN_MODE_NOT_CHANGED: {
    message: 'in force on no host: {hooks}; and not stored: {reason}',
    hint: '`gleaner restore --hold` on each host restores user limits without NATS; {hint}',
  },
  GLN_HOST_NAME_SHARED: {
    message: '{instances} instances of {service} are called {host}: only one has answered',
    hint:
      'give each another name (hook.hostName, agents.hostName); until then use ' +
      '`gleaner restore --hold` on each',
  },
  GLN_HOST_NAME: {
    message: "'{host}' cannot name a host on NATS",
    hint:
      'use 1 to 64 letters, digits, - or _, different on each host ' +
      '(hook.hostName, agents.hostName)',
  },

  // Hook: container engine, cgroups, policies
  GLN_HOOK_LOCKED: {
    message: '{holder} holds {path}: another hook manages this engine',
    hint: 'stop it first; two hooks on one engine would undo each other',
  },
  GLN_HOOK_LOCK: {
    message: 'cannot take the lock {path}: {cause}',
    hint:
      'check that its folder can be written (under systemd, another hook.stateDir needs ' +
      'ReadWritePaths= in the unit) and that flock (util-linux) is installed',
  },
  GLN_ENGINE_UNAVAILABLE: {
    message: '{problem}',
    hint: 'check that the container engine runs and this user may open its socket; Gleaner retries',
  },
  GLN_ENGINE_STATUS: {
    message: '{request} was answered with {status}: {body}',
    hint: 'read the log of the container engine: journalctl -u docker, or -u containerd',
  },
  GLN_ENGINE_ANSWER: {
    message: '{problem}',
    hint: 'set hook.engineSocket to the socket of the engine that hook.engine names',
  },
  GLN_ENGINE_UNSUPPORTED: {
    message: '{problem}',
    hint:
      'use Docker 1.12 or newer, run as root (a rootless engine has no limits on cgroup v1), ' +
      'and the Docker container factory of OpenWhisk',
  },
  GLN_ENGINE_PREFIX: {
    message: "'{prefix}' cannot be the prefix of an invoker's containers",
    hint:
      'use letters, digits, _ . and - only, as in wsk (all invokers of this host), ' +
      'wsk0 (invoker 0) or wskhost-a.example0',
  },
  GLN_CGROUP_NOT_FOUND: {
    message: '{problem}',
    hint:
      'the container has probably ended; if it runs, `gleaner doctor` checks that this process ' +
      'is root and that the cpu and memory controllers are enabled',
  },
  GLN_CGROUP_NAMESPACE: {
    message: '{problem}',
    hint:
      'run Gleaner on the host, or its container with --cgroupns=host, --pid=host and ' +
      '-v /sys/fs/cgroup:/sys/fs/cgroup:rw',
  },
  GLN_CGROUP_READ_ONLY: {
    message: 'cannot open {path} for writing',
    hint:
      'run as root with the cgroup file system mounted rw; in a container add --cgroupns=host ' +
      'and -v /sys/fs/cgroup:/sys/fs/cgroup:rw',
  },
  GLN_CGROUP_OPEN_FILES: {
    message: 'cannot open {path}: this process has too many open files',
    hint:
      'raise LimitNOFILE of the unit (or ulimit -Hn) to 65536; ' +
      '`gleaner doctor` says for how many containers it is enough',
  },
  GLN_SYSTEMD_BUS: {
    message: '{problem}',
    hint:
      'limits are set in the kernel, but systemd may undo them at its next daemon-reload; ' +
      'check that this process may use /run/dbus/system_bus_socket',
  },
  GLN_POLICY_UNKNOWN: {
    message: "there is no activation policy '{name}'",
    hint: 'use one of: {names}',
  },
  GLN_POLICY_PARAMETERS: {
    message: "activation policy '{name}': {key}: {problem}",
    hint: 'correct the entry in the key-value bucket gleaner_policy; the current policy stays',
  },
  GLN_POLICY_SCORER: {
    message: 'cannot score options: {reason}',
    hint: 'the processor needs SIMD (SSE4.1 or NEON); choose another policy than faasrm',
  },

  // OpenWhisk's API
  GLN_OPENWHISK_UNKNOWN: {
    message: "cannot use OpenWhisk's API: {problem}",
    hint: 'set openwhisk.apiHost and openwhisk.keysFile (docs/openwhisk-api.md)',
  },
  GLN_OPENWHISK_AUTH: {
    message: 'OpenWhisk does not let {key} {operation} (HTTP {status})',
    hint:
      'check its line in openwhisk.keysFile ' +
      '(`wsk property get --auth` shows a key as uuid:key)',
  },
  GLN_OPENWHISK_NOT_FOUND: {
    message: 'OpenWhisk could not {operation}: not found (HTTP 404)',
    hint: 'it was deleted or renamed, or the path of openwhisk.apiHost is wrong',
  },
  GLN_OPENWHISK_REFUSED: {
    message: 'OpenWhisk refuses to {operation} (HTTP {status}): {detail}',
    hint: 'docs/openwhisk-api.md lists the ranges of each version and who sets them',
  },
  GLN_OPENWHISK_CONFLICT: {
    message: 'cannot {operation}: the action was changed at the same time (HTTP 409)',
    hint: 'plan again; the other change is kept',
  },
  GLN_OPENWHISK_AWAY: {
    message: 'OpenWhisk could not {operation}: {reason}',
    hint:
      'check that the API can be reached from this host (openwhisk.apiHost, openwhisk.caFile, ' +
      'proxies); a change with unknown outcome is in the journal',
  },
  GLN_OPENWHISK_ANSWER: {
    message: 'the answer to "{operation}" is not from OpenWhisk: {problem}',
    hint: 'set openwhisk.apiHost to the OpenWhisk API, not to a page in front of it',
  },
  GLN_OPENWHISK_KEYS: {
    message: 'cannot use the OpenWhisk keys in {path}: {problem}',
    hint: 'write one key (uuid:key) per line in a file that only its owner can read (chmod 600)',
  },
  GLN_ACTIONS_JOURNAL: {
    message: 'cannot use the journal of changed actions {path}: {problem}',
    hint:
      'no action is changed without it. Repair or move the file; ' +
      'the changes that it lists may still be in OpenWhisk',
  },
  GLN_ACTIONS_LOCKED: {
    message: 'another Gleaner changes actions with the journal {path}',
    hint: 'wait until it has ended',
  },
  GLN_ACTIONS_HELD: {
    message: 'no action is changed while the kill switch is set: {path}',
    hint: '`gleaner restore --release` clears it; `gleaner actions undo` works with it set',
  },
  GLN_ACTIONS_NO_EVIDENCE: {
    message: 'no agent host has seen an activation yet, so there is nothing to recommend',
    hint:
      'check with `gleaner status` that `gleaner hook` and `gleaner agents` run on these ' +
      'NATS servers',
  },

  // Agents
  GLN_MANAGER_UNKNOWN: {
    message: "there is no resource manager '{name}'",
    hint: 'use one of: {names}',
  },
  GLN_MANAGER_MODULE: {
    message: 'cannot use the manager module {module}: {problem}',
    hint:
      'docs/adding-a-manager.md says what a module exports; ' +
      '`gleaner config check` shows its path',
  },
  GLN_NN_SHAPE: {
    message: '{problem}',
    hint: 'layer widths are integers from 1 to 1024, and data must have the shape of the network',
  },
  GLN_NN_ENGINE: {
    message: "the engine '{engine}' does not run here: {reason}",
    hint: '`gleaner engines` lists those that do; `js` runs everywhere',
  },
  GLN_CHECKPOINT_DAMAGED: {
    message: '{path} is damaged: {problem}',
    hint: 'use an older checkpoint, or train again',
  },
  GLN_CHECKPOINT_FOREIGN: {
    message: '{path} is a checkpoint of another agent: {problem}',
    hint:
      'use a checkpoint of the same kind of agent with the same network shape ' +
      '(see its model.json)',
  },
  GLN_CHECKPOINT_NEWER: {
    message: '{path} has version {found}, this Gleaner reads up to {known}',
    hint: 'update Gleaner, or train again',
  },
  GLN_CHECKPOINT_MISSING: {
    message: '{path}: there is no checkpoint',
    hint: 'name a folder with model.json and its weights',
  },
  GLN_PPO_ROLLOUT: {
    message: '{problem}',
    hint: 'close the last segment by cut() or end() before an update',
  },
  GLN_CONCURRENCY_SETTINGS: {
    message: 'concurrency tuner: {problem}',
    hint: 'correct agents.concurrency.* (docs/reference/config.md)',
  },
  GLN_CONCURRENCY_DAMAGED: {
    message: '{path} is damaged: {problem}',
    hint: 'delete it: the tuner restarts its search',
  },
  GLN_CONCURRENCY_FOREIGN: {
    message: '{path} belongs to another function, revision or search: {problem}',
    hint: 'delete it: the tuner restarts its search',
  },
  GLN_CONCURRENCY_NEWER: {
    message: '{path} has version {found}, this Gleaner reads up to {known}',
    hint: 'update Gleaner, or delete it: the tuner restarts its search',
  },

  // Dashboard
  GLN_DASHBOARD_PORT: {
    message: 'the dashboard cannot listen on {address}: {reason}',
    hint: 'set dashboard.listen to another address, or to null for none',
  },
  GLN_DASHBOARD_TOKEN: {
    message: "the dashboard's token file {path} {problem}",
    hint: 'create one: umask 077; openssl rand -base64 24 > FILE, and set dashboard.tokenFile',
  },

  // Simulation, emulator and experiments
  GLN_WORKLOAD_INVALID: {
    message: '{path}: {problems}',
    hint: 'docs/simulate.md and docs/traces.md describe the formats',
  },
  GLN_TRACE_INVALID: { message: '{where}: {problem}', hint: '{hint}' },
  GLN_CONTENDER_UNKNOWN: {
    message: "there is no manager or policy '{name}'",
    hint: '{suggestion}names: {names}; join a manager and its policies with +',
  },
  GLN_COMPARISON_RUN: {
    message: '{run} failed: {reason}',
    hint: '`gleaner simulate` repeats a single run',
  },
  GLN_EMULATOR_COMMAND_FAILED: {
    message: '{command} ended with {status}: {output}',
    hint: 'run the command by hand: the engine may be down or the image missing',
  },
  GLN_EMULATOR_COMMAND_TIMEOUT: {
    message: '{command} was stopped after {timeout} ms',
    hint: 'the engine is overloaded or hangs; read its log',
  },
  GLN_EMULATOR_NO_DOCKER: {
    message: 'no docker client (tried {paths})',
    hint: 'install the docker command-line client',
  },
  GLN_EMULATOR_CONTAINER_HEALTH: {
    message: 'the container does not answer at {address}',
    hint: 'the activation runs in another container',
  },
  GLN_EMULATOR_INVALID_ACTION: {
    message: '{problem}',
    hint: 'name the image or kind, the code and the limits of the action',
  },
  GLN_EMULATOR_IMAGE: {
    message: '{problem}',
    hint:
      'the image is made of the node of this host and its libraries: ' +
      'docker, tar and ldd are needed',
  },
  GLN_EMULATOR_LOGS_INCOMPLETE: {
    message: 'the log of {container} has no end markers',
    hint: 'the action proxy prints them; the container is removed',
  },
} as const satisfies Readonly<Record<`GLN_${string}`, ErrorRow>>;

export type ErrorCode = keyof typeof ERRORS;

const PLACEHOLDER = /\{(\w+)\}/g;

/** The names to fill in of one error, in order of their first appearance. */
export const placeholdersOf = (code: ErrorCode): readonly string[] => [
  ...new Set([...textOf(code).matchAll(PLACEHOLDER)].map((match) => match[1]!)),
];

const textOf = (code: ErrorCode): string => `${ERRORS[code].message} ${ERRORS[code].hint}`;

export const filledIn = (
  template: string,
  values: Readonly<Record<string, string | number>>,
): string => template.replace(PLACEHOLDER, (_, name: string) => String(values[name]));

const shown = (text: string): string => text.replaceAll('\n', ' ').replace(PLACEHOLDER, '…');

/** A code with its message, and below it the hint, as a command prints them. */
function entry(code: ErrorCode, { message, hint, exit }: ErrorRow): string {
  const head = `- \`${code}\`${exit === undefined ? '' : ` (exit code ${exit})`}`;
  const texts = [shown(message), shown(hint)].filter((text) => text !== '…');
  return `${head}: ${texts.join('\\\n  ')}`;
}

/** docs/reference/errors.md. */
export function errorsReference(): string {
  const lines = [
    '# Errors reference',
    '',
    'Generated by `gleaner docs`; do not edit. Every error that Gleaner raises on purpose has a',
    'stable code, a message and a hint. A command prints `gleaner: <message> [<code>]`, below it',
    'the hint, and ends with exit code 1 unless another is stated. A NATS service answers with',
    'code, message and hint. `…` is filled in; one text alone is the hint.',
    '',
    ...(Object.entries(ERRORS) as [ErrorCode, ErrorRow][])
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([code, row]) => entry(code, row)),
  ];
  return `${lines.join('\n')}\n`;
}
