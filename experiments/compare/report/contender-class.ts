/** Class of a contender's marks in every chart. */
export const contenderClass = (name: string): string => `c-${name.replace(/[^a-z0-9-]+/gi, '_')}`;
