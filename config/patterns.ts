import type { FunctionOverride } from './schema/functions.js';

const compiled = new Map<string, RegExp>();

/** `*` stands for anything within one part of the name, `**` for anything. */
export function matchesPattern(pattern: string, name: string): boolean {
  let expression = compiled.get(pattern);
  if (!expression) {
    const source = pattern
      .split('**')
      .map((part) =>
        part
          .split('*')
          .map((literal) => literal.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
          .join('[^/]*'),
      )
      .join('.*');
    expression = new RegExp(`^${source}$`, 's');
    compiled.set(pattern, expression);
  }
  return expression.test(name);
}

/** All matching entries apply; a later one wins, field by field. */
export function overrideFor(
  overrides: readonly FunctionOverride[],
  name: string,
): Omit<FunctionOverride, 'match'> {
  const result: Partial<FunctionOverride> = {};
  for (const entry of overrides)
    if (matchesPattern(entry.match, name)) Object.assign(result, entry);
  delete result.match;
  return result;
}

export function isExcluded(exclude: readonly string[], name: string): boolean {
  return exclude.some((pattern) => matchesPattern(pattern, name));
}
