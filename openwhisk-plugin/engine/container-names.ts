import { ContainerPrefixError } from './engine-errors.js';

/** Which containers are an invoker's; by name, without the leading slash. */
export type ManagedFilter = (name: string) => boolean;

/**
 * The names an invoker gives: `<prefix><unique><id>_<n>_…`. A prefix that ends in a digit is one invoker's (`wsk1` is not
 * `wsk10`); one that ends in a letter covers every invoker of this host. Anchored at the start (field-notes A1-14).
 * Throws {@link ContainerPrefixError} for a prefix that could not be anchored.
 */
export function managedByPrefix(prefix: string): ManagedFilter {
  if (!/^[A-Za-z0-9]{1,64}$/.test(prefix)) {
    throw new ContainerPrefixError(`'${prefix}' cannot be the prefix of an invoker's containers`, {
      hint: 'Use letters and digits only, as in wsk (all invokers of this host) or wsk0 (invoker 0).',
    });
  }
  const rest = /\d$/.test(prefix) ? '' : '[A-Za-z0-9]*';
  const pattern = new RegExp(`^${prefix}${rest}_\\d+_`);
  return (name) => pattern.test(name);
}
