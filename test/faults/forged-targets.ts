import type { Observation, Target } from '../../broker/messages/index.js';

/** A good target for what was observed, as an agent of ours would write it. */
export function targetFor(
  observation: Observation,
  cpu: number,
  epoch: number,
  sequence = 1,
): Target {
  return {
    v: 1,
    function: observation.function,
    cpu: cpu as NonNullable<Target['cpu']>,
    epoch,
    echo: { host: observation.host, boot: observation.boot, observedAt: observation.observedAt },
    author: { host: 'forger', boot: 'forged-boot', sequence, manager: 'forged' },
  };
}

export interface Forgery {
  /** The counter that it must raise. */
  readonly kind: string;
  readonly text: string;
}

/** Everything that a target must not be, for a hook that holds none of this epoch. */
export function badTargets(observation: Observation, staleMillis: number): Forgery[] {
  const good = targetFor(observation, 400, 1_000_000);
  const { echo } = good;
  const changed = (change: object): string => JSON.stringify({ ...good, ...change });
  const withCpu = (cpu: string): string =>
    JSON.stringify(good).replace('"cpu":400', `"cpu":${cpu}`);
  const at = (observedAt: number): object => ({ echo: { ...echo, observedAt } });
  return [
    { kind: 'malformed', text: 'no JSON at all' },
    { kind: 'malformed', text: withCpu('"0.5"') },
    { kind: 'malformed', text: withCpu('-400') },
    // JSON has no NaN: it comes as null, or as a number that no double can hold.
    { kind: 'malformed', text: withCpu('NaN') },
    { kind: 'not_finite', text: withCpu('null') },
    { kind: 'not_finite', text: withCpu('1e309') },
    { kind: 'too_large', text: changed({ padding: 'x'.repeat(100_000) }) },
    { kind: 'wrong_version', text: changed({ v: 2 }) },
    // A thousand cores.
    { kind: 'out_of_range', text: withCpu('1000000') },
    { kind: 'stale', text: changed(at(echo.observedAt - staleMillis)) },
    { kind: 'future', text: changed(at(echo.observedAt + 3_600_000)) },
    { kind: 'wrong_boot', text: changed({ echo: { ...echo, boot: 'another-boot' } }) },
    { kind: 'wrong_function', text: changed({ function: '/guest/another' }) },
  ];
}

/** What must not take the place of `held`, a target that the hook has taken. */
export function forgedSenders(held: Target): Forgery[] {
  const change = (more: object): string => JSON.stringify({ ...held, cpu: 150, ...more });
  return [
    { kind: 'replayed', text: JSON.stringify(held) },
    { kind: 'replayed', text: change({ author: { ...held.author, sequence: 0 } }) },
    { kind: 'old_epoch', text: change({ epoch: held.epoch - 1 }) },
    { kind: 'wrong_author', text: change({ author: { ...held.author, boot: 'impostor' } }) },
  ];
}
