/**
 * CPU quota of a container, and its name, by the invoker's own arithmetic. Sources:
 * ContainerPoolConfig (common/…/containerpool/ContainerFactory.scala @ 2.0.0, 1fae641a2),
 * ContainerFactory.containerNamePrefix (there), ContainerProxy.containerName
 * (ContainerProxy.scala @ 1.0.0, 2.0.0, 1fae641a2).
 */

/** How many containers of this size fit the invoker: an integer division, as there. */
const containersThatFit = (userMemoryMb: number, memoryMb: number): number =>
  Math.floor(userMemoryMb / memoryMb);

/**
 * `--cpus` in cores: user-cpus over the number that fit, five decimals, never below 0.01; null
 * without user-cpus.
 */
export function cpuLimit(
  userCpus: number | null,
  userMemoryMb: number,
  memoryMb: number,
): number | null {
  if (userCpus === null) return null;
  const cores = userCpus / containersThatFit(userMemoryMb, memoryMb);
  return Math.max(Math.round(cores * 100_000) / 100_000, 0.01);
}

/** `wsk0_5_guest_hello`. Lossy: `a_b-c` becomes `a_bc`. [OpenWhisk ContainerProxy.scala] */
export function containerName(
  prefix: string,
  count: number,
  first: string,
  second: string,
): string {
  const clean = (text: string): string => text.replace(/[^\p{L}\p{Nd}_]/gu, '');
  return `${prefix}_${count}_${clean(first)}_${clean(second)}`;
}
