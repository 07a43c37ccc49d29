import type { Comparison } from './comparison.js';

/** Every run's figures, a line each, for those who want to count for themselves. */
export function runsCsv({ sections, seeds, metrics }: Comparison): string {
  const header = [
    'section',
    'workload',
    'mode',
    'load',
    'userMemoryMiB',
    'contender',
    'seed',
    ...metrics.map(({ key }) => key),
  ];
  const lines = [header.join(',')];
  for (const { setting, rows } of sections) {
    for (const { name, values } of rows) {
      seeds.forEach((seed, i) => {
        const cells = [setting.name, setting.workload, setting.mode, setting.load, setting.userMemoryMiB, name, seed];
        lines.push([...cells.map(quoted), ...metrics.map(({ key }) => values[key]![i]!)].join(','));
      });
    }
  }
  return `${lines.join('\n')}\n`;
}

/** RFC 4180. */
function quoted(value: string | number): string {
  const text = String(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
