import type { Command } from 'commander';
import { programWith } from './bare-program.js';
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
import { addTrainMeta } from './commands/train-meta.js';
import { addUp } from './commands/up.js';

/** `gleaner` with all its commands. */
export const gleanerProgram = (): Command =>
  programWith([
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
    addTrainMeta,
    addEngines,
    addConfig,
    addNatsConfig,
    addInstall,
    addCheck,
    addRemove,
    addDocs,
  ]);
