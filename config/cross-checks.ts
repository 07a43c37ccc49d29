/** Rules between keys that no single key's range can say. */

interface Values {
  /** The value in force of a dotted key, its default where it is not set. */
  readonly read: (key: string) => unknown;
  readonly isSet: (key: string) => boolean;
}

export interface CrossProblem {
  readonly key: string;
  readonly message: string;
}

/** `[smaller, larger]`. */
const ORDERED: readonly [string, string][] = [
  ['decision.cpuFloorMillicores', 'decision.cpuCapMillicores'],
  ['decision.memoryFloorMiB', 'decision.memoryCapMiB'],
  ['agents.concurrency.least', 'agents.concurrency.most'],
];
const REQUIRED_TOGETHER: readonly [string, string][] = [['nats.certFile', 'nats.keyFile']];
const MUTUALLY_EXCLUSIVE: readonly [string, string][] = [
  ['nats.credentialsFile', 'nats.nkeySeedFile'],
];

const LISTENERS = ['dashboard.listen', 'metrics.hook', 'metrics.agents', 'metrics.aggregator'];

export function crossChecks(values: Values): CrossProblem[] {
  return [...pairProblems(values), ...gridProblems(values), ...portProblems(values)];
}

function pairProblems({ read, isSet }: Values): CrossProblem[] {
  const problems: CrossProblem[] = [];
  for (const [low, high] of ORDERED) {
    const [min, max] = [read(low), read(high)];
    if (typeof min !== 'number' || typeof max !== 'number' || min <= max) continue;
    // Name the key that is set, not a default.
    if (isSet(low)) problems.push({ key: low, message: `is above ${high}, which is ${max}` });
    else problems.push({ key: high, message: `is below ${low}, which is ${min}` });
  }
  for (const [one, other] of REQUIRED_TOGETHER) {
    const [a, b] = [read(one) ?? null, read(other) ?? null];
    if ((a === null) === (b === null)) continue;
    problems.push({
      key: a === null ? other : one,
      message: `needs ${a === null ? one : other} too`,
    });
  }
  for (const [one, other] of MUTUALLY_EXCLUSIVE)
    if ((read(one) ?? null) !== null && (read(other) ?? null) !== null)
      problems.push({ key: one, message: `cannot be used with ${other}` });
  return problems;
}

/** The tuner goes from the lowest limit to the highest in whole steps. */
function gridProblems({ read, isSet }: Values): CrossProblem[] {
  const [minKey, maxKey, stepKey] = ['least', 'most', 'step'].map(
    (key) => `agents.concurrency.${key}`,
  );
  const [min, max, step] = [read(minKey!), read(maxKey!), read(stepKey!)];
  if (typeof min !== 'number' || typeof max !== 'number' || typeof step !== 'number') return [];
  if (!(step > 0) || max < min || (max - min) % step === 0) return [];
  const key = [stepKey!, maxKey!, minKey!].find(isSet) ?? stepKey!;
  return [
    {
      key,
      message: `${max} - ${min} (${maxKey} - ${minKey}) is no multiple of step, which is ${step}`,
    },
  ];
}

interface Listener {
  readonly key: string;
  readonly address: string;
  readonly port: number;
}

/** Two parts with one address: the second to start would fail or listen elsewhere. */
function portProblems({ read, isSet }: Values): CrossProblem[] {
  const listeners: Listener[] = [];
  for (const key of LISTENERS) {
    const value = read(key);
    if (typeof value !== 'string') continue;
    const colon = value.lastIndexOf(':');
    listeners.push({ key, address: value.slice(0, colon), port: Number(value.slice(colon + 1)) });
  }
  const problems: CrossProblem[] = [];
  for (const [i, later] of listeners.entries()) {
    const earlier = listeners.slice(0, i).find((other) => overlap(other, later));
    if (earlier === undefined) continue;
    const [wrong, other] = isSet(later.key) ? [later, earlier] : [earlier, later];
    problems.push({
      key: wrong.key,
      message: `has the port of ${other.key}, ${other.address}:${other.port}`,
    });
  }
  return problems;
}

const isEveryAddress = (address: string): boolean => ['0.0.0.0', '[::]'].includes(address);

/** Port 0 is any free one. */
const overlap = (a: Listener, b: Listener): boolean =>
  a.port > 0 &&
  a.port === b.port &&
  (a.address === b.address || isEveryAddress(a.address) || isEveryAddress(b.address));
