import {
  closeSync,
  lstatSync,
  openSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { type Broker, type ModeAuthor, type ModeOutcome, services } from '../../broker/index.js';
import { TEXT_MAX } from '../../broker/messages/index.js';
import { callEveryInstance, callService } from '../../broker/services/index.js';
import { type Config, EXIT, messageOf, UsageError } from '../../config/index.js';
import { killFile, killSwitchHolder, releaseNote } from '../../openwhisk-plugin/daemon/index.js';
import { engineLockPath, HookLock } from '../../openwhisk-plugin/host/lock/index.js';
import {
  inspectHooks,
  left,
  makeFolder,
  shortList,
  statePaths,
  withBroker,
} from '../../runtime/index.js';
import {
  authorOfRestore,
  type RestorePlace,
  type RestoreSettings,
  restoreHost,
  settingsForRestore,
} from '../../runtime/wiring/index.js';
import {
  changeEverywhere,
  modeOutcomeJson,
  reportModeOutcome,
  storeForOption,
} from '../mode-change.js';
import {
  addOutputOption,
  author,
  globalOptions,
  noteRestoreSettings,
  type OutputOptions,
  printTable,
  reportNoAnswer,
} from './common.js';

interface RestoreOptions extends OutputOptions {
  readonly all?: boolean;
  readonly host?: string;
  readonly local?: boolean;
  readonly hold?: boolean;
  readonly release?: boolean;
  readonly reason: string;
  readonly storeFor: number;
}

interface RestoredHost {
  readonly host: string;
  readonly result: string;
  readonly ok: boolean;
  /** Containers that may not have their user limits; absent: none. */
  readonly notRestored?: readonly string[];
  /** After a release, what holds the kill switch; absent: nothing. */
  readonly stillHeldBy?: readonly string[];
}

/** Target of a restore without the hook. */
const placeOf = ({ platform, hook }: Config): string =>
  hook.engine === 'docker'
    ? `platform ${platform}, containers ${hook.containerPrefix}… on ${hook.engineSocket}`
    : `platform ${platform}, action pods on ${hook.engineSocket}`;

const HELD_BY_ALL = 'kill switch set: user limits apply until --release --all';
const HELD_BY_HOOK =
  'kill switch set: user limits apply until --release --host, or until this hook restarts';

/** A hook's answer, or that of a restore without a hook. An older hook names neither list. */
interface Answer {
  readonly restored?: number;
  readonly examined?: number;
  readonly failed?: number;
  readonly notRestored?: readonly string[];
  readonly killedBy?: readonly string[];
  readonly auditError?: string | null;
}

function describe(answer: unknown): Omit<RestoredHost, 'host'> {
  if (answer instanceof Error) return { result: messageOf(answer), ok: false };
  const { restored, examined, failed = 0, notRestored = [], auditError } = (answer ?? {}) as Answer;
  if (restored === undefined) return { result: 'restored', ok: true };
  const ok = failed === 0 && notRestored.length === 0;
  const parts: string[] = [];
  if (examined === undefined) parts.push(`${restored} containers restored`);
  else if (!ok) parts.push(`${examined} containers examined, ${restored} restored`);
  else {
    parts.push(`${examined} containers examined: all have their user limits`);
    if (restored > 0) parts.push(`${restored} of them had other limits`);
  }
  if (notRestored.length > 0) parts.push(`not restored: ${shortList(notRestored)}`);
  else if (failed > 0) parts.push(`${failed} failed`);
  if (typeof auditError === 'string') parts.push(`not in the audit log: ${auditError}`);
  return { result: parts.join('; '), ok, ...(ok ? {} : { notRestored }) };
}

/** Result of setting the kill switch of one hook, which may fail to restore. */
export function switchedBy(host: string, done: string, answer: unknown): RestoredHost {
  const { result, ...rest } = describe(answer);
  return { host, result: rest.ok ? done : `${done}; ${result}`, ...rest };
}

/** Result of a release, which fails while another source holds the kill switch. */
export function releasedBy(
  host: string,
  released: string,
  heldBy: readonly string[],
): RestoredHost {
  if (heldBy.length === 0) return { host, result: released, ok: true };
  const how = heldBy.map((source) => `${source} (${RELEASES[source] ?? 'of a newer release'})`);
  return {
    host,
    result: `${released}, but still held by ${how.join(', ')}`,
    ok: false,
    stillHeldBy: heldBy,
  };
}

const RELEASE_STORED =
  'gleaner restore --release --all; without NATS: ' +
  'remove modes.json in the state folder and restart the hook';

/** How to release each source, `KillSource` of the hook. */
const RELEASES: Readonly<Record<string, string>> = {
  file: 'on that host: gleaner restore --release',
  signal: 'on that host: kill -USR2 the hook',
  service: 'gleaner restore --release --host HOST',
  kv: RELEASE_STORED,
  kv_unreadable: RELEASE_STORED,
};

export function addCommands(program: Command): void {
  const command = program
    .command('restore')
    .description('restore the user limits of every container')
    .option('--all', 'on every host with a hook (default)')
    .option('--host <name>', 'on this host only')
    .option('--local', 'on this host from engine and cgroups, without NATS and without the hook')
    .option(
      '--hold',
      'also set the kill switch until --release: by a file on this host, without NATS; ' +
        'with --all or --host over NATS',
    )
    .option('--release', 'release the kill switch: on this host, with --all or --host over NATS')
    .option('--reason <text>', 'with --hold or --release: reason, for the audit log', '')
    .addOption(storeForOption());
  addOutputOption(command).action(async (options: RestoreOptions) => {
    const globals = globalOptions(command);
    const settings = settingsForRestore(globals);
    checkOptions(options, settings);
    noteRestoreSettings(settings);
    const { hosts, held = false, outcome = null } = await restore(options, settings);
    printTable(
      options.output,
      {
        held: options.hold === true && (outcome !== null || options.host !== undefined || held),
        hosts,
        ...(outcome && modeOutcomeJson(outcome)),
      },
      hosts,
      [left('host', (row) => row.host), left('result', (row) => row.result)],
    );
    if (outcome === null && hosts.length === 0) reportNoAnswer('hook');
    const reported = outcome === null || reportModeOutcome(outcome);
    process.exitCode =
      reported && hosts.length > 0 && hosts.every((row) => row.ok) ? EXIT.ok : EXIT.failed;
  });
}

/** @throws UsageError for options that exclude each other */
function checkOptions(
  { all, host, local, hold, release, reason }: RestoreOptions,
  { places }: RestoreSettings,
): void {
  if (release && (hold || local))
    throw new UsageError('--release cannot be used with --hold or --local', {
      hint: 'use --release alone',
    });
  if (reason !== '' && !hold && !release)
    throw new UsageError('--reason needs --hold or --release', {
      hint: 'a restore without them is in the audit log with its author',
    });
  if (all && (host !== undefined || local))
    throw new UsageError('--all cannot be used with --host or --local', {
      hint: 'use one of them',
    });
  if (host !== undefined && local)
    throw new UsageError('--host cannot be used with --local', { hint: '--local means this host' });
  if (local && places.every(({ config }) => config.platform === 'simulated'))
    throw new UsageError(
      '--local cannot restore a simulated host: its containers exist in its hook only',
      { hint: '`gleaner restore` asks the hook, `gleaner restore --hold` sets its kill switch' },
    );
}

interface Restored {
  readonly hosts: readonly RestoredHost[];
  /** Whether every kill switch on this host is set; absent: none was to be. */
  readonly held?: boolean;
  /** Outcome of a kill switch for all hosts, which is a change of mode. */
  readonly outcome?: ModeOutcome;
}

async function restore(options: RestoreOptions, { places }: RestoreSettings): Promise<Restored> {
  const { all, host, local, hold, release, reason } = options;
  const [{ config }] = places;
  // Hooks refuse a longer one, and with it the change.
  const who = { author: author(), reason: reason.slice(0, TEXT_MAX) };
  if ((hold || release) && all)
    return switchEverywhere(hold === true, config, who, options.storeFor);
  if ((hold || release) && host !== undefined)
    return { hosts: [await switchOn(host, hold === true, config, who)] };
  if (!hold && !local && !release) return { hosts: await askHooks(host, config) };
  // Every kill switch first: a restore may take long.
  const failed = hold
    ? places.map((place) => setKillFile(statePaths(place.config).killSwitch, who))
    : [];
  const switches: RestoredHost[] = [];
  const restored: RestoredHost[] = [];
  for (const [i, place] of places.entries()) {
    const { config, source } = place;
    if (release) {
      switches.push(judged(await releaseHere(statePaths(config).killSwitch, who), place));
      continue;
    }
    // The hook of a simulated host watches the kill switch and restores by itself.
    if (config.platform !== 'simulated') restored.push(await restoreHere(config, source));
    if (hold) switches.push(failed[i] ?? judged(await confirmedHold(config), place));
  }
  return { held: switches.every((row) => row.ok), hosts: [...switches, ...restored] };
}

/** A kill switch in a folder that may be another hook's is not one to rely on. */
const judged = (row: RestoredHost, { trust }: RestorePlace): RestoredHost =>
  trust !== 'guessed'
    ? row
    : {
        ...row,
        ok: false,
        result: `${row.result}; the hook may use another folder: --set hook.stateDir=FOLDER`,
      };

/** Sets or releases the kill switch of all hosts. */
async function switchEverywhere(
  kill: boolean,
  config: Config,
  who: ModeAuthor,
  storeForSeconds: number,
): Promise<Restored> {
  return withBroker(config, async (broker) => {
    const outcome = await changeEverywhere(broker, null, { kill }, who, storeForSeconds);
    const heldBy = kill ? null : await heldAfterRelease(broker);
    const rowOf = (host: string): RestoredHost => {
      if (heldBy === null) return { host, result: HELD_BY_ALL, ok: true };
      const sources = heldBy.get(host);
      return sources === undefined ? unknownAfter(host) : releasedBy(host, RELEASED, sources);
    };
    const hosts = outcome.hosts.map((host) => {
      const [row, problem] = [rowOf(host), outcome.problems.get(host)];
      return problem === undefined
        ? row
        : { ...row, result: `${row.result}; ${problem}`, ok: false };
    });
    return { outcome, hosts };
  });
}

const RELEASED = 'kill switch released';

/** What holds the kill switch of each host once the release has reached its hook. */
async function heldAfterRelease(broker: Broker): Promise<Map<string, readonly string[]>> {
  const end = performance.now() + CONFIRM_MILLIS;
  for (;;) {
    const { hooks } = await inspectHooks(broker, { limit: 0, containers: 0 });
    const held = new Map(hooks.map(({ host }) => [host.host, host.killedBy]));
    // The hooks may learn of the stored release after they have answered.
    const isDone = [...held.values()].every(
      (sources) => !sources.some((source) => source.startsWith('kv')),
    );
    if (isDone || performance.now() > end) return held;
    await sleep(100);
  }
}

/** Sets or releases the kill switch in the hook of one host. */
async function switchOn(
  host: string,
  kill: boolean,
  config: Config,
  { author, reason }: ModeAuthor,
): Promise<RestoredHost> {
  // A hook of an earlier release refuses a request with a reason.
  const by = { author, ...(reason ? { reason } : {}) };
  const request = { ...(kill ? { hold: true } : { release: true }), ...by };
  const answer = await withBroker(config, (broker) =>
    callService(broker, { service: services.hook, endpoint: 'restore', request, host }),
  );
  if (kill) return switchedBy(host, HELD_BY_HOOK, answer);
  const heldBy = (answer as Answer | null)?.killedBy;
  return heldBy === undefined ? unknownAfter(host) : releasedBy(host, RELEASED, heldBy);
}

/** The hook did not answer, or is of an earlier release. */
const unknownAfter = (host: string): RestoredHost => ({
  host,
  result: `${RELEASED}, but whether something else holds it is not known: see \`gleaner status\``,
  ok: false,
});

/** Removes the file of this host's kill switch, and waits until its hook has seen that. */
async function releaseHere(killSwitch: string, who: ModeAuthor): Promise<RestoredHost> {
  const released =
    killFile(killSwitch) === 'unset' ? `no file ${killSwitch}` : `released ${killSwitch}`;
  const note = releaseNote(killSwitch);
  try {
    writeFileSync(note, noteOf('--release', who), { mode: 0o600 });
  } catch {
    // It is for the audit log only: no folder, or a full disk.
  }
  const heldBy = (): readonly string[] => killSwitchHolder(killSwitch)?.sources ?? [];
  try {
    // A container engine makes a folder of a file that is to be mounted and is not there.
    if (lstatSync(killSwitch, { throwIfNoEntry: false })?.isDirectory()) rmdirSync(killSwitch);
    else rmSync(killSwitch, { force: true });
    const end = performance.now() + CONFIRM_MILLIS;
    while (heldBy().includes('file') && performance.now() < end) await sleep(50);
  } finally {
    // A later release without a note must not have this author.
    rmSync(note, { force: true });
  }
  return releasedBy('local', released, heldBy());
}

/** Asks the hook of one host, or all hooks, to restore. */
async function askHooks(host: string | undefined, config: Config): Promise<RestoredHost[]> {
  const call = { service: services.hook, endpoint: 'restore', request: { author: author() } };
  const answers = await withBroker(config, async (broker) =>
    host === undefined
      ? callEveryInstance(broker, { ...call, isExclusive: true })
      : new Map([[host, await callService(broker, { ...call, host })]]),
  );
  return [...answers].map(([name, answer]) => ({ host: name, ...describe(answer) }));
}

/** Restores this host without its hook. */
async function restoreHere(config: Config, source: string): Promise<RestoredHost> {
  const by = authorOfRestore(author(), 'asked', process.env);
  const { result, ...rest } = describe(
    await restoreHost(config, by).catch((error: unknown) => error),
  );
  return { host: 'local', result: `${result} (${placeOf(config)}; ${source})`, ...rest };
}

/** A line that the hook takes for its audit log. */
const noteOf = (option: string, { author, reason = '' }: ModeAuthor): string => {
  const why = reason === '' ? '' : `: ${reason.replaceAll(/\s+/g, ' ')}`;
  return `${new Date().toISOString()} gleaner restore ${option} by ${author}${why}\n`;
};

/** Sets the kill switch, a file that the hook watches. Null: it is set. */
function setKillFile(file: string, who: ModeAuthor): RestoredHost | null {
  try {
    makeFolder(dirname(file));
    // The hook must not see the file before its note.
    const fresh = openSync(`${file}.new`, 'w', 0o600);
    try {
      writeSync(fresh, noteOf('--hold', who));
    } catch {
      // The file is the switch; a full disk has no room for the note.
    } finally {
      closeSync(fresh);
    }
    renameSync(`${file}.new`, file);
  } catch (error) {
    try {
      rmSync(`${file}.new`, { force: true });
    } catch {
      // There is no such folder.
    }
    if (killFile(file) !== 'set') {
      const result =
        `cannot set the kill switch: ${messageOf(error)}; ` +
        'kill -USR2 the hook sets it without a file, a stop of its service restores';
      return { host: 'local', result, ok: false };
    }
  }
  return null;
}

/** Hooks look at the file every 200 ms. */
const CONFIRM_MILLIS = 2000;

/** Waits until the hook of this state folder, or of this engine, holds the kill switch. */
async function confirmedHold(config: Config): Promise<RestoredHost> {
  const { platform, hook } = config;
  const { killSwitch, lock } = statePaths(config);
  const row = (rest: string, ok: boolean): RestoredHost => ({
    host: 'local',
    result: `kill switch set (${killSwitch})${rest}`,
    ok,
  });
  const pid =
    HookLock.holder(lock) ??
    (platform === 'simulated'
      ? null
      : HookLock.holder(engineLockPath(hook.engineSocket, hook.stateDir)));
  if (pid === null)
    return row(': no hook found; one with this state folder holds it until --release', true);
  const end = performance.now() + CONFIRM_MILLIS;
  const isConfirmed = (): boolean => {
    const holder = killSwitchHolder(killSwitch);
    return holder?.pid === pid && holder.sources.includes('file');
  };
  while (!isConfirmed()) {
    if (performance.now() > end)
      return row(
        `, but the hook (process ${pid}) did not confirm it within ${CONFIRM_MILLIS / 1000} s: ` +
          `it may change limits until it does, or ends (kill -9 ${pid})`,
        false,
      );
    await sleep(50);
  }
  return row(': user limits apply until --release', true);
}
