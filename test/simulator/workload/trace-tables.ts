import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';

export const MEMORY =
  'SampleCount,AverageAllocatedMb,AverageAllocatedMb_pct1,AverageAllocatedMb_pct5,' +
  'AverageAllocatedMb_pct25,AverageAllocatedMb_pct50,AverageAllocatedMb_pct75,' +
  'AverageAllocatedMb_pct95,AverageAllocatedMb_pct99,AverageAllocatedMb_pct100';
export const DURATION =
  'Average,Count,Minimum,Maximum,percentile_Average_0,percentile_Average_1,' +
  'percentile_Average_25,percentile_Average_50,percentile_Average_75,percentile_Average_99,' +
  'percentile_Average_100';
export const MEMORY_ROW = '9,100,90,95,100,100,100,110,115,120';
export const DURATION_ROW = '50,9,10,90,10,12,40,50,60,80,90';

const MINUTES = Array.from({ length: 1440 }, (_, i) => i + 1).join(',');

/**
 * A day of the full trace: for each function its application and the activations of minutes by
 * number.
 */
export function fullDay(
  day: number,
  functions: readonly { app: string; fn: string; activations: Readonly<Record<number, number>> }[],
): Record<string, string> {
  const number = String(day).padStart(2, '0');
  const rows = functions.map(({ app, fn, activations }) => {
    const counts = Array.from({ length: 1440 }, (_, i) => activations[i + 1] ?? 0).join(',');
    return `owner,${app},${fn},http,${counts}\n`;
  });
  const apps = [...new Set(functions.map(({ app }) => app))];
  return {
    [`invocations_per_function_md.anon.d${number}.csv`]: [
      'HashOwner,HashApp,HashFunction,Trigger,',
      MINUTES,
      '\n',
      ...rows,
    ].join(''),
    [`app_memory_percentiles.anon.d${number}.csv`]:
      `HashOwner,HashApp,` +
      `${MEMORY}\n${apps.map((app) => `owner,${app},${MEMORY_ROW}\n`).join('')}`,
    [`function_durations_percentiles.anon.d${number}.csv`]:
      `HashOwner,HashApp,HashFunction,` +
      `${DURATION}\n${functions
        .map(({ app, fn }) => `owner,${app},${fn},${DURATION_ROW}\n`)
        .join('')}`,
  };
}

/** A folder with these files, gone after the test. */
export function folderOf(
  t: ExecutionContext,
  files: Readonly<Record<string, string | Uint8Array>>,
): string {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-traces-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return folder;
}
