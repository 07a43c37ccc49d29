import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { median } from '../../experiments/statistics.js';
import { atLeast, type BenchRow, row } from '../report.js';
import { type Answer, type Order, SUBJECTS, type Subject } from './subject.js';

interface EnginesBench {
  readonly rounds: number;
  /** For each figure of each engine and round. */
  readonly millis: number;
  readonly log: (line: string) => void;
}

/**
 * Every engine in turn, round by round, each in a process of its own. Without one of the
 * TensorFlow.js backends its rows are missing, and said to be.
 */
export async function benchEngines({ rounds, millis, log }: EnginesBench): Promise<BenchRow[]> {
  const children = new Map<Subject, ChildProcess>();
  const answers = new Map<Subject, Answer[]>();
  try {
    for (const subject of SUBJECTS) {
      const child = fork(fileURLToPath(new URL('subject.js', import.meta.url)), [subject], {
        stdio: 'inherit',
      });
      const [said] = (await once(child, 'message')) as [unknown];
      if (said === 'ready') {
        children.set(subject, child);
        answers.set(subject, []);
      } else log(`${subject} does not run here: ${String(said)}`);
    }
    // Round 0 warms up: TensorFlow.js' decisions take twice as long until V8 has compiled them.
    for (let i = 0; i <= rounds; i++) {
      for (const [subject, child] of children) {
        const order: Order = { millis };
        child.send(order);
        const [answer] = (await once(child, 'message')) as [Answer];
        if (i > 0) answers.get(subject)!.push(answer);
        log(
          `round ${i} of ${rounds}, ${subject}: ` +
            `forward ${answer.forwardMicros.toPrecision(3)} us, ` +
            `PPO step ${answer.ppoMillis.toPrecision(3)} ms`,
        );
      }
    }
  } finally {
    for (const child of children.values()) child.kill();
  }
  return rowsOf(answers);
}

const GOALS = {
  forward: { most: 1, faster: { 'tfjs-wasm': 30 } },
  ppo: { most: 1, faster: { 'tfjs-wasm': 10, 'tfjs-cpu': 40, 'tfjs-node': 8 } },
} as const;

/** Medians over rounds, lowest and highest beside them; ratios are of the same run. */
function rowsOf(answers: ReadonlyMap<Subject, readonly Answer[]>): BenchRow[] {
  const of = (
    subject: Subject,
    key: 'forwardMicros' | 'ppoMillis' | 'thousandMicros',
  ): readonly number[] => (answers.get(subject) ?? []).map((answer) => answer[key]!);
  const range = (values: readonly number[]): string =>
    `${Math.min(...values).toPrecision(3)} to ${Math.max(...values).toPrecision(3)}`;
  const rows: BenchRow[] = [];
  const figures = [
    ['forward', 'forwardMicros', 'us'],
    ['ppo', 'ppoMillis', 'ms'],
  ] as const;
  for (const [name, key, unit] of figures) {
    const own = median(of('simd', key));
    const wasm = of('tfjs-wasm', key);
    rows.push(
      row(`engines.simd.${name}`, own, unit, {
        ...(wasm.length > 0 ? { baseline: median(wasm) } : {}),
        goal: `<= ${GOALS[name].most} ${unit}`,
        note: `${range(of('simd', key))}; baseline tfjs-wasm`,
      }),
    );
    for (const subject of SUBJECTS.slice(1)) {
      const values = of(subject, key);
      if (values.length === 0) continue;
      const faster = (GOALS[name].faster as Partial<Record<Subject, number>>)[subject];
      rows.push(
        row(`engines.${subject}.${name}`, median(values), unit, {
          baseline: own,
          ...(faster ? { goal: `>= ${faster}x` } : {}),
          note: `${range(values)}; baseline simd; ${answers.get(subject)![0]!.detail}`,
        }),
      );
    }
  }
  const thousand = of('simd', 'thousandMicros');
  const fewest = Math.min(
    ...(['simd', 'js'] as const).map((subject) => of(subject, 'forwardMicros').length),
  );
  rows.push(
    atLeast(
      'engines.rounds',
      fewest,
      1,
      'rounds of both own engines',
      'one of them has not answered',
    ),
  );
  rows.push(
    row('engines.thousand.decision', median(thousand), 'us', {
      baseline: median(of('js', 'thousandMicros')),
      goal: '<= 5 us',
      note: `${range(thousand)}; 1000 agents with weights of their own, random order; baseline js`,
    }),
  );
  return rows;
}
