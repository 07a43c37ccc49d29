/**
 * Takes one out of a list, the order kept: `splice` without the array it returns, for what happens
 * at every activation.
 */
export function removeAt<T>(list: T[], place: number): void {
  for (let i = place + 1; i < list.length; i++) list[i - 1] = list[i] as T;
  list.pop();
}
