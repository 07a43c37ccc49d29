import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { EXIT } from '../../config/index.js';
import { Journal, openChanges } from '../../openwhisk-plugin/openwhisk-api/index.js';
import {
  ACTIONS_JOURNAL,
  colorsFor,
  type GlobalOptions,
  json,
  left,
  plainText,
  processScreen,
  styled,
  table,
} from '../../runtime/index.js';
import { settingsForRestore } from '../../runtime/wiring/index.js';
import {
  checkInstallation,
  configCheck,
  install,
  type Layout,
  layoutOf,
  programFolder,
  type RemoveOptions,
  remove,
  restoreWhereEnginesAre,
  rollback,
  SERVICE_PARTS,
  type ServicePart,
  serviceManagerOf,
} from '../install/index.js';
import {
  addOutputOption,
  author,
  globalOptions,
  noteRestoreSettings,
  type OutputOptions,
} from './common.js';

interface RootOptions extends OutputOptions {
  readonly root: string;
}

const ROOT: [string, string, string] = [
  '--root <folder>',
  'installation below this folder, for images: no service or container is touched',
  '/',
];

export function addCommands(program: Command): void {
  addInstall(program);
  addCheck(program);
  addRemove(program);
}

function addInstall(program: Command): void {
  const command = program
    .command('install')
    .description('install this version on this host as systemd services, or upgrade an older one')
    .addOption(
      new Option('--part <name...>', 'service to install, repeatable (default: hook)').choices(
        SERVICE_PARTS,
      ),
    )
    .option('--node <path>', 'node of the services (default: the node that runs this)')
    .option('--rollback', 'return to the previous release')
    .option(...ROOT);
  addOutputOption(command).action(
    (options: RootOptions & { part?: ServicePart[]; node?: string; rollback?: boolean }) => {
      const layout = layoutOf(resolve(options.root));
      const services = serviceManagerOf(layout.root);
      const parts = options.part ?? ['hook'];
      // Services that are not root read the configuration and the program.
      process.umask(0o022);
      const node = options.node ?? process.execPath;
      const host = { layout, services, checkConfig: services === null ? null : configCheck };
      const done = options.rollback
        ? rollback(host)
        : install({ ...host, parts, node, from: programFolder() });
      if (options.output === 'json') processScreen.write(json(done));
      else {
        for (const path of done.changed) processScreen.write(`changed ${plainText(path)}\n`);
        for (const unit of done.restarted) processScreen.write(`started ${unit}\n`);
        const what = done.changed.length === 0 ? 'was installed already' : 'is installed';
        processScreen.write(`release ${done.release} ${what}; configuration: ${layout.config}\n`);
        if (services === null)
          processScreen.write('no systemd on this root: no service was started\n');
      }
    },
  );
}

function addCheck(program: Command): void {
  const command = program
    .command('check')
    .description('compare this host with its installation (exit code 1 if they differ)')
    .option(...ROOT);
  addOutputOption(command).action((options: RootOptions) => {
    const layout = layoutOf(resolve(options.root));
    const rows = checkInstallation(layout, serviceManagerOf(layout.root));
    const ok = rows.every((row) => row.ok);
    if (options.output === 'json') processScreen.write(json({ ok, checks: rows }));
    else {
      const colors = colorsFor(processScreen, process.env);
      processScreen.write(
        table(rows, [
          styled('result', (row) => (row.ok ? colors.green('ok') : colors.red('fail'))),
          left('check', (row) => row.check),
          left('found', (row) => row.found),
        ]),
      );
    }
    process.exitCode = ok ? EXIT.ok : EXIT.failed;
  });
}

function addRemove(program: Command): void {
  const command = program
    .command('remove')
    .description(
      'remove Gleaner from this host: stop services, restore user limits, delete its files',
    )
    .option('--keep-config', 'leave /etc/gleaner with configuration, seeds and certificates')
    .option(
      '--leave-actions',
      'remove even if OpenWhisk has limits changed by Gleaner (`gleaner actions undo`)',
    )
    .option(...ROOT);
  addOutputOption(command).action(
    async (options: RootOptions & { keepConfig?: boolean; leaveActions?: boolean }) => {
      const layout = layoutOf(resolve(options.root));
      const removed = await remove({
        layout,
        services: serviceManagerOf(layout.root),
        keepConfig: options.keepConfig === true,
        changedActions:
          options.leaveActions === true
            ? null
            : () => [
                ...openChanges(Journal.read(layout.at(join(layout.state, ACTIONS_JOURNAL)))).keys(),
              ],
        restore: restorerOf(layout, globalOptions(command)),
      });
      if (options.output === 'json') processScreen.write(json({ removed }));
      else for (const path of removed) processScreen.write(`removed ${plainText(path)}\n`);
    },
  );
}

/**
 * Restores with the settings of now: a hook that stops removes its record. Problems of the
 * configuration are reported and do not prevent it; throws a ConfigError for flags only.
 */
export function restorerOf(layout: Layout, global: GlobalOptions): RemoveOptions['restore'] {
  // An engine that is named below another root is that of this host, which it does not manage.
  if (layout.root !== '/') return async () => ({ notRestored: [] });
  const own = layout.config;
  const settings = settingsForRestore(existsSync(own) ? { config: own, ...global } : global);
  noteRestoreSettings(settings);
  return () => restoreWhereEnginesAre(settings, author());
}
