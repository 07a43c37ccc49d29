import { significant } from '../../config/index.js';
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
    ...metrics.map(columnName),
  ];
  const lines = [header.join(',')];
  for (const { setting, rows } of sections) {
    for (const { name, values } of rows) {
      seeds.forEach((seed, i) => {
        const cells = [
          setting.name,
          setting.workload,
          setting.mode,
          setting.load,
          setting.userMemoryMiB,
          name,
          seed,
        ];
        lines.push(
          [...cells.map(csvCell), ...metrics.map(({ key }) => significant(values[key]![i]!))].join(
            ',',
          ),
        );
      });
    }
  }
  return `${lines.join('\n')}\n`;
}

/**
 * The key with its unit, unless it says it already: `response.mean_ms`, `cold.share`,
 * `saved.seconds`.
 */
export function columnName({ key, unit }: Comparison['metrics'][number]): string {
  if (unit === '' || /(share|[sS]econds)$/.test(key)) return key;
  return `${key}_${unit}`;
}

/** A cell by RFC 4180. */
export function csvCell(value: string | number): string {
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
