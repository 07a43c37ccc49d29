import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Command } from 'commander';
import { type ModeOutcome, services } from '../../broker/index.js';
import { callEveryInstance, callService } from '../../broker/services/index.js';
import { type Config, EXIT, messageOf, UsageError } from '../../config/index.js';
import {
  configPath,
  json,
  loadSettings,
  makeFolder,
  plainText,
  processScreen,
  statePaths,
  table,
  withBroker,
} from '../../runtime/index.js';
import { authorOfRestore, restoreHost } from '../../runtime/wiring/index.js';
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
  type OutputOptions,
  reportNoAnswer,
} from './common.js';

interface RestoreOptions extends OutputOptions {
  readonly all?: boolean;
  readonly host?: string;
  readonly local?: boolean;
  readonly hold?: boolean;
  readonly release?: boolean;
  readonly storeFor: number;
}

interface RestoredHost {
  readonly host: string;
  readonly result: string;
  readonly ok: boolean;
}

/** Target of a restore without the hook. */
const placeOf = ({ platform, hook }: Config): string =>
  `platform ${platform}, containers ${hook.containerPrefix}… on ${hook.engineSocket}`;

const SWITCH_RESULTS = {
  hold: 'kill switch set: user limits apply until --release --all',
  release: 'kill switch released',
};
const HELD_BY_HOOK =
  'kill switch set: user limits apply until --release --host, or until this hook restarts';

function describe(answer: unknown): { result: string; ok: boolean } {
  if (answer instanceof Error) return { result: messageOf(answer), ok: false };
  const { restored, failed, auditError } = (answer ?? {}) as Partial<
    Record<'restored' | 'failed' | 'auditError', unknown>
  >;
  if (typeof restored !== 'number') return { result: 'restored', ok: true };
  const bad = typeof failed === 'number' ? failed : 0;
  if (restored === 0 && bad === 0)
    return { result: '0 limits restored: all user limits applied already', ok: true };
  const auditErrorText =
    typeof auditError === 'string' ? `; not in the audit log: ${auditError}` : '';
  return {
    result: `${restored} limits restored${bad > 0 ? `, ${bad} failed` : ''}${auditErrorText}`,
    ok: bad === 0,
  };
}

/** Result of setting or releasing the kill switch: the hook may hold it but fail to restore. */
export function switchedBy(host: string, done: string, answer: unknown): RestoredHost {
  const { result, ok } = describe(answer);
  return { host, result: ok ? done : `${done}; ${result}`, ok };
}

export function addRestore(program: Command): void {
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
    .addOption(storeForOption());
  addOutputOption(command).action(async (options: RestoreOptions) => {
    if (options.release && (options.hold || options.local))
      throw new UsageError('--release cannot be used with --hold or --local', {
        hint: 'use --release alone',
      });
    if (options.all && (options.host !== undefined || options.local))
      throw new UsageError('--all cannot be used with --host or --local', {
        hint: 'use one of them',
      });
    if (options.host !== undefined && options.local)
      throw new UsageError('--host cannot be used with --local', {
        hint: '--local means this host',
      });
    const globals = globalOptions(command);
    const { config } = loadSettings(globals);
    const simulated = config.platform === 'simulated';
    if (options.local && simulated)
      throw new UsageError(
        '--local cannot restore a simulated host: its containers exist in its hook only',
        { hint: '`gleaner restore` asks the hook, `gleaner restore --hold` sets its kill switch' },
      );
    const file = statePaths(config).killSwitch;
    let hosts: RestoredHost[] = [];
    let outcome: ModeOutcome | null = null;
    const switched = options.hold || options.release;
    if (switched && options.all) {
      const kill = options.hold === true;
      outcome = await withBroker(config, (broker) =>
        changeEverywhere(broker, null, { kill }, { author: author() }, options.storeFor),
      );
      hosts = outcome.hosts.map((host) => ({
        host,
        result: SWITCH_RESULTS[kill ? 'hold' : 'release'],
        ok: true,
      }));
    } else if (switched && options.host !== undefined) {
      const { host } = options;
      const request = { ...(options.hold ? { hold: true } : { release: true }), author: author() };
      const answer = await withBroker(config, (broker) =>
        callService(broker, { service: services.hook, endpoint: 'restore', request, host }),
      );
      hosts = [switchedBy(host, options.hold ? HELD_BY_HOOK : SWITCH_RESULTS.release, answer)];
    } else if (options.release) {
      rmSync(file, { force: true });
      hosts = [{ host: 'local', result: `released ${file}`, ok: true }];
    } else {
      if (options.hold) hosts = hold(file);
      if (options.local || (options.hold && !simulated)) {
        const { result, ok } = await locally(() =>
          restoreHost(config, authorOfRestore(author(), 'asked', process.env)),
        );
        hosts.push({
          host: 'local',
          result: `${result} (${placeOf(config)}; ${sourceOf(configPath(globals))})`,
          ok,
        });
      } else if (!options.hold) {
        const call = { service: services.hook, endpoint: 'restore', request: { author: author() } };
        const answers = await withBroker(config, async (broker) =>
          options.host === undefined
            ? callEveryInstance(broker, call)
            : new Map([[options.host, await callService(broker, { ...call, host: options.host })]]),
        );
        hosts = [...answers].map(([host, answer]) => ({ host, ...describe(answer) }));
      }
    }
    if (options.output === 'json')
      processScreen.write(
        json(
          outcome === null
            ? {
                held: options.hold === true && (options.host !== undefined || existsSync(file)),
                hosts,
              }
            : { held: options.hold === true, hosts, ...modeOutcomeJson(outcome) },
        ),
      );
    else
      processScreen.write(
        table<RestoredHost>(
          [
            { title: 'host', value: (row) => plainText(row.host) },
            { title: 'result', value: (row) => plainText(row.result) },
          ],
          hosts,
        ),
      );
    if (hosts.length === 0) reportNoAnswer('hook');
    const reported = outcome === null || reportModeOutcome(outcome);
    process.exitCode =
      reported && hosts.length > 0 && hosts.every((row) => row.ok) ? EXIT.ok : EXIT.failed;
  });
}

/** Sets the kill switch, a file that the hook watches. The caller restores in any case. */
function hold(file: string): RestoredHost[] {
  try {
    makeFolder(dirname(file));
    writeFileSync(file, `${new Date().toISOString()} gleaner restore --hold\n`, { mode: 0o600 });
    return [
      {
        host: 'local',
        result: `kill switch set (${file}): user limits apply until --release`,
        ok: true,
      },
    ];
  } catch (error) {
    return [
      { host: 'local', result: `cannot set the kill switch: ${messageOf(error)}`, ok: false },
    ];
  }
}

const sourceOf = (file: string | undefined): string =>
  file === undefined ? 'default configuration; for another use --config' : `configuration ${file}`;

async function locally(restore: () => Promise<unknown>): Promise<{ result: string; ok: boolean }> {
  try {
    return describe(await restore());
  } catch (error) {
    return describe(error);
  }
}
