import { CONTAINER_PREFIX, errorClass } from '../../../config/index.js';

/** A prefix with which no container's name can begin. */
export class ContainerPrefixError extends errorClass('GLN_ENGINE_PREFIX') {}

/** Tells by its name, without the leading slash, whether a container is an invoker's. */
export interface ManagedFilter {
  (name: string): boolean;
  /** With which each of these names begins. */
  readonly prefix?: string;
}

/** What a container was created for; a prewarmed one keeps its name when it gets a function. */
export type ContainerRole = 'action' | 'prewarmed' | 'system';

/**
 * An invoker names its containers `<prefix>_<n>_<namespace>_<action>`. The prefix is "wsk", the
 * invoker's unique name and its number; the name may contain `_`, so that only a digit, `_`, `<n>`,
 * `_` ends the prefix [OpenWhisk ContainerFactory.scala `containerNamePrefix`, ContainerProxy.scala
 * `containerName`].
 */
const COUNT = '_\\d+_';
const NAMESPACE_AND_ACTION = '[A-Za-z0-9_]*_[A-Za-z0-9_]*$';

/**
 * A prefix that ends in a digit is one invoker's (`wsk1` is not `wsk10`); any other covers each
 * invoker whose prefix begins with it. Throws {@link ContainerPrefixError}.
 */
export function managedByPrefix(prefix: string): ManagedFilter {
  if (!CONTAINER_PREFIX.test(prefix)) {
    throw new ContainerPrefixError(prefix);
  }
  const literal = prefix.replaceAll('.', '\\.');
  const rest = /\d$/.test(prefix) ? '' : '[A-Za-z0-9_.-]*\\d';
  const pattern = new RegExp(`^${literal}${rest}${COUNT}${NAMESPACE_AND_ACTION}`);
  return Object.assign((name: string) => pattern.test(name), { prefix });
}

/** The invoker's part of a container's name, the shortest possible; without one, the whole name. */
export function invokerOf(name: string): string {
  return /^(.*?\d)_\d+_/.exec(name)?.[1] ?? name;
}

/** What follows the invoker's part and the container's number; pods have `-` for `_`. */
const ROLE = { container: /\d_\d+_(whisksystem|prewarm)_/, pod: /\d-\d+-(whisksystem|prewarm)-/ };

/**
 * By name, until a `/run` names the function. A user whose names look like another role loses only
 * a boost.
 */
export function roleOf(name: string, kind: keyof typeof ROLE = 'container'): ContainerRole {
  const match = ROLE[kind].exec(name);
  if (match === null) return 'action';
  return match[1] === 'prewarm' ? 'prewarmed' : 'system';
}
