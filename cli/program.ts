import { Command } from 'commander';
import { addActions } from './commands/actions.js';
import { addAudit } from './commands/audit.js';
import { addChanges } from './commands/changes.js';
import { addCompare } from './commands/compare.js';
import { addCompletion } from './commands/completion.js';
import { addConfig } from './commands/config.js';
import { addDashboard } from './commands/dashboard.js';
import { addDocs } from './commands/docs.js';
import { addDoctor } from './commands/doctor.js';
import { addEngines } from './commands/engines.js';
import { addEvents } from './commands/events.js';
import { addExplain } from './commands/explain.js';
import { addFunctions } from './commands/functions.js';
import { addCheck, addInstall, addRemove } from './commands/install.js';
import { addMeanField } from './commands/meanfield.js';
import { addMode } from './commands/mode.js';
import { addNatsConfig } from './commands/nats-config.js';
import { addParts } from './commands/parts.js';
import { addReproduce } from './commands/reproduce.js';
import { addRestore } from './commands/restore.js';
import { addSimulate } from './commands/simulate.js';
import { addStatus } from './commands/status.js';
import { addSupportBundle } from './commands/support-bundle.js';
import { addTop } from './commands/top.js';
import { addTrain } from './commands/train.js';
import { addUp } from './commands/up.js';
import { LEAST_API } from './doctor/findings.js';
import { packageVersion } from './version.js';

const collect = (value: string, all: string[] = []): string[] => [...all, value];

/** `gleaner` with all its commands. */
export function gleanerProgram(): Command {
  const program = new Command('gleaner')
    .description('A resource manager beside Apache OpenWhisk')
    .version(
      `gleaner ${packageVersion()} (Node ${process.versions.node}, Engine API ${LEAST_API} and newer)`,
      '-V, --version',
    )
    .option(
      '-c, --config <file>',
      'configuration file (else GLEANER_CONFIG, else /etc/gleaner/gleaner.yaml where it exists)',
    )
    .option('--set <key=value>', 'set one key of the configuration, as hook.sampleMs=50; may be repeated', collect)
    .option('--nats <urls>', 'NATS servers, comma-separated')
    .configureHelp({ showGlobalOptions: true })
    .showSuggestionAfterError()
    .exitOverride();
  for (const add of [
    addUp,
    addParts,
    addStatus,
    addTop,
    addDashboard,
    addFunctions,
    addExplain,
    addMeanField,
    addEvents,
    addAudit,
    addMode,
    addChanges,
    addRestore,
    addActions,
    addDoctor,
    addSupportBundle,
    addCompletion,
    addSimulate,
    addCompare,
    addReproduce,
    addTrain,
    addEngines,
    addConfig,
    addNatsConfig,
    addInstall,
    addCheck,
    addRemove,
    addDocs,
  ])
    add(program);
  inheritExit(program);
  return program;
}

/** Errors of sub-commands end as those of the program do: with exit code 2. */
function inheritExit(command: Command): void {
  for (const child of command.commands) {
    child.exitOverride();
    inheritExit(child);
  }
}
