import { fileURLToPath } from 'node:url';
import { suggest } from '../../config/index.js';
import type { ImportSummary } from './anomalies.js';
import { awareApps, awareWorkload } from './aware.js';
import { importAzure2019 } from './azure-2019.js';
import { CHANGE_SCENARIOS, type ChangeScenario, scenarioPhases } from './scenarios.js';
import { recognizeFolder } from './trace-files.js';
import { loadWorkload, type Workload, WorkloadError } from './workload.js';

/** What a named workload is before anything is taken from it; `phases` where its demand changes. */
export interface NamedWorkload {
  readonly workload: Workload;
  readonly phases?: readonly Workload[];
  readonly summary?: ImportSummary;
}

interface BuiltinOptions {
  readonly seed?: number;
  /** Only the first functions are needed; the argument is how many. */
  readonly functions?: number;
  /** All are needed, whatever the name asks for: a part is taken of them. */
  readonly whole?: boolean;
}

interface Builtin {
  readonly name: string;
  /** It is made for the hosts that it names. */
  readonly hosted?: boolean;
  /** What may stand after a colon. */
  readonly argument?: 'functions' | 'id' | 'scenario';
  readonly description: string;
  make(argument: string | undefined, options: BuiltinOptions): NamedWorkload;
}

/** The data lies beside the sources and is not compiled: the same folder seen from dist/. */
const SHIPPED = new URL('../../../simulator/workload/shipped/', import.meta.url);
const SAMPLE = fileURLToPath(new URL('azure-sample/', SHIPPED));

/** Ten functions of Azure's trace, as scripts/make-workload.mjs has made them. */
export const azureTen = (): Workload => loadWorkload(new URL('azure-ten.json', SHIPPED));

const profiles12Slos = (): Workload => loadWorkload(new URL('profiles-12.yaml', SHIPPED));

/** The twelve profiles without their users' objectives. */
export function profiles12(): Workload {
  const workload = profiles12Slos();
  const functions = workload.functions.map(({ sloMs: _, ...fn }) => fn);
  return { ...workload, name: 'profiles-12', functions };
}

/** Workloads with a name. */
export const builtinWorkloads: readonly Builtin[] = [
  {
    name: 'azure-ten',
    hosted: true,
    argument: 'functions',
    description: 'ten functions of the Azure trace of 2019, an hour in six minutes',
    make: () => ({ workload: azureTen() }),
  },
  {
    name: 'azure-sample',
    argument: 'functions',
    description:
      '1000 functions of the Azure trace of 2019, an hour; azure-sample:50 has the first 50',
    make: (_, options) => sample(options),
  },
  {
    name: 'profiles-12',
    hosted: true,
    argument: 'functions',
    description: 'twelve serverless benchmarks with demand that follows the payload, an hour',
    make: () => ({ workload: profiles12() }),
  },
  {
    name: 'profiles-12-slos',
    hosted: true,
    argument: 'functions',
    description: 'the same with objectives set by their users: six urgent, six patient',
    make: () => ({ workload: profiles12Slos() }),
  },
  {
    name: 'aware',
    argument: 'functions',
    description:
      '1000 synthetic applications of one to three segments, an hour; aware:20 has the first 20',
    make: () => ({ workload: awareWorkload(awareApps(), 'aware') }),
  },
  {
    name: 'aware-app',
    argument: 'id',
    description: 'one of those applications: aware-app:0 to aware-app:999',
    make: (argument) => {
      const app = argument === undefined ? undefined : awareApps()[Number(argument)];
      if (app === undefined)
        throw new WorkloadError(`aware-app:${argument ?? ''}`, ['ids run from 0 to 999']);
      return { workload: awareWorkload([app], `aware-app:${app.id}`) };
    },
  },
  {
    name: 'change',
    argument: 'scenario',
    description: `a change in the middle of the run: ${Object.keys(CHANGE_SCENARIOS)
      .map((scenario) => `change:${scenario}`)
      .join(', ')}`,
    make: (argument) => {
      if (argument === undefined || !Object.hasOwn(CHANGE_SCENARIOS, argument)) {
        const names = Object.keys(CHANGE_SCENARIOS).join(', ');
        throw new WorkloadError(`change:${argument ?? ''}`, [
          `there is no such scenario; there are ${names}`,
        ]);
      }
      const phases = scenarioPhases(argument as ChangeScenario);
      return { workload: phases[0]!, phases };
    },
  },
];

/**
 * The workload of a name as `builtinWorkloads` has it, with how many functions the name itself asks
 * for. @throws WorkloadError
 */
export function findBuiltin(
  nameAndArgument: string,
  options: BuiltinOptions = {},
): NamedWorkload & { readonly base: string; readonly functions?: number } {
  const [base = '', argument] = nameAndArgument.split(':');
  const found = builtinWorkloads.find(({ name }) => name === base);
  if (found === undefined)
    throw new WorkloadError(nameAndArgument, [`is no workload${meant(base)}`]);
  const counted = found.argument === 'functions' && argument !== undefined;
  if ((counted || (found.argument === 'id' && argument !== undefined)) && !/^\d+$/.test(argument)) {
    throw new WorkloadError(nameAndArgument, [`'${argument}' is no number`]);
  }
  const functions = counted ? Number(argument) : undefined;
  return {
    ...found.make(argument, {
      ...options,
      functions: options.whole === true ? undefined : (options.functions ?? functions),
    }),
    base,
    functions,
  };
}

/** A builtin workload that names the hosts that it is made for. */
export const hostedBuiltin = (name: string): Workload | undefined =>
  builtinWorkloads.find((one) => one.name === name.split(':')[0])?.hosted === true
    ? findBuiltin(name, { whole: true }).workload
    : undefined;

export function isBuiltin(nameAndArgument: string): boolean {
  return builtinWorkloads.some(({ name }) => name === nameAndArgument.split(':')[0]);
}

/** What a wrong name may have been meant for, and what there is. */
export function meant(word: string): string {
  const names = builtinWorkloads.map(({ name }) => name);
  const likely = suggest(word, names);
  const hint = likely === undefined ? '' : `; did you mean ${likely}?`;
  return `${hint} (there are ${names.join(', ')})`;
}

function sample({ seed, functions }: BuiltinOptions): NamedWorkload {
  const recognized = recognizeFolder(SAMPLE);
  if (recognized.kind !== '2019') throw new WorkloadError(SAMPLE, ['is not the sample']);
  return importAzure2019(recognized.files, { name: 'azure-sample', seed, functions });
}
