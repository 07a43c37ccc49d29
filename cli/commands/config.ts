import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import type { Command } from 'commander';
import {
  ConfigError,
  type ConfigProblem,
  configWarnings,
  EXIT,
  formatProblem,
  isManagerModule,
  type LoadedConfig,
  maskUrlCredentials,
  messageOf,
  printConfig,
  unusedTargets,
} from '../../config/index.js';
import {
  checkCredentials,
  configFolder,
  configPath,
  json,
  loadSettings,
  processScreen,
} from '../../runtime/index.js';
import { addOutputOption, globalOptions, type OutputOptions } from './common.js';

export function addCommands(program: Command): void {
  const config = program.command('config').description('check or print the configuration');
  const check = config
    .command('check')
    .description('list every problem (exit code 2 if there is one); change nothing');
  addOutputOption(check).action(async (options: OutputOptions) => {
    const settings = globalOptions(check);
    const file = configPath(settings) ?? null;
    let problems: readonly ConfigProblem[] = [];
    let warnings: readonly string[] = [];
    try {
      const loaded = loadSettings(settings);
      const files = await checkFiles(loaded);
      warnings = [
        ...unusedTargets(loaded.config),
        ...configWarnings(loaded.config),
        ...(await hostWarnings(loaded)),
        ...files.warnings,
      ];
      problems = [
        ...checkCredentials(loaded.config.nats),
        ...files.problems,
        ...(await moduleProblems(loaded, configFolder(settings))),
      ];
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems = error.problems;
    }
    if (options.output === 'json')
      processScreen.write(json({ file, valid: problems.length === 0, problems, warnings }));
    else if (problems.length === 0)
      processScreen.write(`${file ?? 'defaults and environment'}: valid\n`);
    else for (const problem of problems) processScreen.write(`${formatProblem(problem)}\n`);
    if (options.output !== 'json')
      for (const warning of warnings) processScreen.write(`warning: ${warning}\n`);
    process.exitCode = problems.length === 0 ? EXIT.ok : EXIT.usage;
  });
  const print = config
    .command('print')
    .description('print the current configuration and the source of each key');
  addOutputOption(print).action((options: OutputOptions) => {
    const loaded = loadSettings(globalOptions(print));
    if (options.output === 'json') {
      // Hides what the text form hides.
      const config: unknown = JSON.parse(maskUrlCredentials(JSON.stringify(loaded.config)));
      processScreen.write(json({ config, sources: Object.fromEntries(loaded.sources) }));
    } else processScreen.write(printConfig(loaded));
  });
}

/**
 * Files beside those of NATS without which a part does not start, read as that part reads them. One
 * that this user cannot read here may be there for the part: one configuration may serve all hosts,
 * and keys belong only where they are used.
 */
async function checkFiles({ config, sources }: LoadedConfig): Promise<{
  readonly problems: ConfigProblem[];
  readonly warnings: string[];
}> {
  const { tokenFile } = config.dashboard;
  const { apiHost, keysFile, caFile } = config.openwhisk;
  const { workload } = config.simulator;
  const problems: ConfigProblem[] = [];
  const warnings: string[] = [];
  const read = async (path: string, value: string, open: (name: string) => unknown) => {
    try {
      await open(value);
    } catch (error) {
      const message = messageOf(error);
      problems.push({ path, message, value, source: sources.get(path) ?? path });
    }
  };
  const check = async (path: string, file: string | null, open: (file: string) => unknown) => {
    if (file === null) return;
    try {
      accessSync(file, constants.R_OK);
    } catch (error) {
      warnings.push(`${path}: this user cannot read it on this host: ${messageOf(error)}`);
      return;
    }
    await read(path, file, open);
  };
  // Their modules are loaded only if a file is named.
  await check('dashboard.tokenFile', tokenFile, async (file) =>
    (await import('../../dashboard/index.js')).Token.read(file),
  );
  if (apiHost !== null) {
    await check('openwhisk.keysFile', keysFile, async (file) =>
      (await import('../../openwhisk-plugin/openwhisk-api/index.js')).readKeys(file),
    );
    await check('openwhisk.caFile', caFile, (file) => readFileSync(file));
  }
  // A name of one that is shipped, or a file.
  if (workload !== null && !existsSync(workload))
    await read('simulator.workload', workload, async (name) =>
      (await import('../../simulator/workload/index.js')).openWorkload(name),
    );
  return { problems, warnings };
}

/** Values that are wrong on this host, and may be right on the one that the file is for. */
async function hostWarnings({ config, sources }: LoadedConfig): Promise<string[]> {
  const warnings: string[] = [];
  const { core, tcpdump } = config.hook;
  const cores = cpus().length;
  if (core !== null && core >= cores)
    warnings.push(`hook.core: ${core} is not a core of this host, which has 0 to ${cores - 1}`);
  for (const [path, program] of [
    ['hook.tcpdump', tcpdump],
    ['nats.embedded.binary', config.nats.embedded.binary],
  ] as const) {
    if (program === null || !sources.has(path)) continue;
    const { findProgram } = await import('../doctor/survey.js');
    if (findProgram(program) === null)
      warnings.push(`${path}: this host has no program ${program} that this user can run`);
  }
  return warnings;
}

/** Missing files of manager modules. The modules are not run, since a check changes nothing. */
async function moduleProblems(
  { config, sources }: LoadedConfig,
  folder: string,
): Promise<ConfigProblem[]> {
  const named = [
    { path: 'agents.manager', key: 'agents.manager', manager: config.agents.manager },
    ...config.functions.overrides.map(({ manager }, i) => ({
      path: `functions.overrides.${i}.manager`,
      key: 'functions.overrides',
      manager,
    })),
  ];
  const problems: ConfigProblem[] = [];
  for (const { path, key, manager } of named) {
    if (manager === undefined || !isManagerModule(manager)) continue;
    // The learners are loaded only if a module is named.
    const { managerFile } = await import('../../agents/managers/index.js');
    try {
      managerFile(manager, folder);
    } catch (error) {
      problems.push({
        path,
        message: messageOf(error),
        value: manager,
        source: sources.get(key) ?? key,
      });
    }
  }
  return problems;
}
