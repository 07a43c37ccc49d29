import { checkpoints } from './checkpoints.js';
import { engine } from './engine.js';
import type { FuzzTarget } from './fuzz.js';
import { http } from './http.js';
import { keyValues, natsMessages } from './messages.js';
import { ServicesTarget } from './services.js';
import { TargetsTarget } from './targets.js';
import { csv, yaml } from './texts.js';

/** Every edge inside the process, by name; each call gives targets of their own. */
export const fuzzTargets = (): readonly FuzzTarget[] => [
  natsMessages,
  new TargetsTarget(),
  new ServicesTarget(),
  keyValues,
  http,
  engine,
  yaml,
  csv,
  checkpoints,
];
