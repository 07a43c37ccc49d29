import { InvalidArgumentError } from 'commander';
import { GleanerError, messageOf, policyNames, UsageError } from '../../config/index.js';
import {
  type Contender,
  contenderNames,
  trainedContender,
} from '../../experiments/compare/index.js';
import { loadTrainedPolicy, type TrainedPolicy } from '../../experiments/training/index.js';

const POLICY_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/;

/** Names of contenders that a policy cannot have. */
const isTaken = (name: string): boolean =>
  ['all', 'configured', ...contenderNames(), ...policyNames].includes(name);

/** The two sides of `NAME=FOLDER`; a folder may have more of `=` in its name. */
function nameAndFolder(text: string): [name: string, folder: string] {
  const at = text.indexOf('=');
  return [text.slice(0, at), text.slice(at + 1)];
}

/** Parses one `--policy` after others. */
export function policyOption(text: string, before: readonly string[] = []): string[] {
  const [name, folder] = nameAndFolder(text);
  if (!text.includes('=') || folder === '') throw new InvalidArgumentError('must be NAME=FOLDER');
  if (!POLICY_NAME.test(name))
    throw new InvalidArgumentError(
      'NAME has 1 to 40 letters, digits, - and _, a letter or digit first',
    );
  if (isTaken(name) || before.some((other) => nameAndFolder(other)[0] === name))
    throw new InvalidArgumentError(`a manager, a policy or another --policy is called '${name}'`);
  return [...before, text];
}

/** Parses the only `--policy`. */
export function onePolicyOption(text: string, before: readonly string[] = []): string[] {
  if (before.length > 0) throw new InvalidArgumentError('a run plays one policy');
  return policyOption(text);
}

/**
 * The contenders of `NAME=FOLDER` each. `option`: the one that names the modes.
 *
 * @throws UsageError for a policy that cannot be read, or whose mode is not played
 */
export async function trainedContenders(
  policies: readonly string[] = [],
  modes: readonly string[],
  option: '--mode' | '--modes' = '--modes',
): Promise<Contender[]> {
  const contenders: Contender[] = [];
  for (const [name, folder] of policies.map(nameAndFolder)) {
    const trained = await trainedPolicy(name, folder);
    if (!modes.includes(trained.mode))
      throw new UsageError(
        `--policy ${name}: it was trained in ${trained.mode} mode, which ${option} leaves out`,
        { hint: `name ${trained.mode} in ${option}, or leave the policy out` },
      );
    contenders.push(trainedContender(name, trained));
  }
  return contenders;
}

async function trainedPolicy(name: string, folder: string): Promise<TrainedPolicy> {
  try {
    return await loadTrainedPolicy(folder);
  } catch (error) {
    throw new UsageError(`--policy ${name}: ${messageOf(error)}`, {
      hint: error instanceof GleanerError ? error.hint : 'name a folder that `gleaner train` wrote',
      cause: error,
    });
  }
}
