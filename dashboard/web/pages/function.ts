import type { FunctionColumn, FunctionDetail, FunctionRow } from '../../wire.js';
import { actionButton } from '../actions.js';
import { h, setChildren, setText } from '../dom.js';
import {
  change,
  comparisonBasis,
  cores,
  counted,
  memory,
  nameParts,
  number,
  span,
  times,
} from '../format.js';
import { chip, functionChips, plotCard, space } from '../parts.js';
import { Plot, type PlotOptions } from '../plot.js';
import type { Page, State } from '../state.js';
import { FunctionTables } from './function-tables.js';

const POLL_MILLIS = 2000;
const SYNC = 'function';
/** Rewards in a running mean. */
const REWARDS = 20;
const HEAP_NOTE =
  'A memory loan helps memory that grows after the start (buffers, native memory, page cache, ' +
  'Python). V8 and the JVM fix their heap size when the process starts.';

export function functionPage(name: string): Page {
  const [namespace, last] = nameParts(name);
  const chips = h('div.chips');
  const buttons = new Buttons(name);
  const facts = h('p.note.facts-line');
  const plots = new FunctionPlots();
  const tables = new FunctionTables();
  const reward = new RewardPlot();
  const problems = h('p.note');
  const grid = h('div.grid', ...plots.cards, ...tables.cards, reward.card, problems);
  const note = h('p.note', HEAP_NOTE);
  const unknown = h('div.card.empty', { hidden: true }, `No host has seen ${name}.`);
  const element = h(
    'div',
    h(
      'div.head',
      h('h1', h('span.dim', namespace), h('wbr'), last),
      chips,
      space(),
      buttons.element,
    ),
    facts,
    grid,
    note,
    unknown,
  );
  let row: FunctionRow | null = null;
  const stopPolling = pollDetail(name, (detail) => {
    if (detail !== null) {
      plots.set(detail, row?.cpuMode === 'weight');
      tables.set(detail);
      reward.set(detail);
      setText(problems, detail.problems.join('; '));
    }
    for (const part of [facts, grid, note]) part.hidden = detail === null;
    unknown.hidden = detail !== null;
  });
  return {
    title: last,
    element,
    update(state: State) {
      row = state.functions.get(name) ?? null;
      if (row === null) return;
      setChildren(chips, ...functionChips(row), ...agentChips(row));
      setText(facts, factsText(row));
      buttons.set(row, state.writable);
    },
    destroy() {
      stopPolling();
      plots.destroy();
      reward.destroy();
    },
  };
}

/** Asks for the details now and then; null: no host knows the function. Returns how to stop. */
function pollDetail(name: string, take: (detail: FunctionDetail | null) => void): () => void {
  let asking = false;
  const ask = async (): Promise<void> => {
    if (asking || document.hidden) return;
    asking = true;
    try {
      const response = await fetch(`/api/function?name=${encodeURIComponent(name)}`);
      take(response.ok ? ((await response.json()) as FunctionDetail) : null);
    } catch {
      // The banner shows that the dashboard is away; the next poll tries again.
    } finally {
      asking = false;
    }
  };
  const timer = setInterval(() => void ask(), POLL_MILLIS);
  void ask();
  return () => clearInterval(timer);
}

/** Changes of the function, if they are allowed. */
class Buttons {
  readonly #pause: HTMLButtonElement;
  readonly element: HTMLElement;
  #isPaused = false;

  constructor(name: string) {
    this.#pause = actionButton('Pause', () => ({
      action: this.#isPaused ? 'resume' : 'pause',
      function: name,
    }));
    const retrain = actionButton('Retrain', () => ({ action: 'retrain', function: name }), {
      confirmed: () => `Retrain the agent of ${name}?`,
    });
    this.element = h('div.chips', { hidden: true }, this.#pause, retrain);
  }

  set({ paused }: FunctionRow, isWritable: boolean): void {
    this.#isPaused = paused;
    setText(this.#pause, paused ? 'Resume' : 'Pause');
    this.element.hidden = !isWritable;
  }
}

function agentChips({ phase, manager }: FunctionRow): HTMLElement[] {
  const chips: HTMLElement[] = [];
  if (phase !== '')
    chips.push(
      chip(phase, phase === 'serving' ? 'green' : 'blue', 'life-cycle phase of its agent'),
    );
  if (manager !== '') chips.push(chip(`manager ${manager}`));
  return chips;
}

const factsText = (row: FunctionRow): string =>
  [
    `${number(row.activations)} activations, ${number(row.rate)} per second`,
    `${counted(row.containers, 'container')} on ${counted(row.hosts, 'host')}`,
    counted(row.coldStarts, 'cold start') +
      (row.initTime === null ? '' : ` of ${span(row.initTime)} on average`),
    `harvested ${number(row.harvested)} and lent ${number(row.lent)} core-seconds`,
    `response time ${change(row.comparison.ratio)} compared with the control arm ` +
      `(${comparisonBasis(row.comparison)})`,
    objectiveText(row),
  ].join('; ');

/** p99 of all warm activations and objective, or how many samples are missing. */
function objectiveText({ p99, slo, learning }: FunctionRow): string {
  const { activations, activationsNeeded, controlSamples, controlSamplesNeeded } = learning;
  const tail =
    p99 === null
      ? `p99 after ${activationsNeeded} warm activations (${activations} so far)`
      : `p99 ${span(p99)} since the hook's start`;
  if (slo !== null) return `${tail} of an objective of ${span(slo)}`;
  const samples = `${controlSamplesNeeded} control samples (${controlSamples} so far)`;
  return `${tail}, objective learned from ${samples}`;
}

/** Lines of one resource; the band is the range of the grants in a step. */
const GRANTED: Pick<PlotOptions, 'lines' | 'bands'> = {
  lines: [
    { label: 'most granted', tone: 'green', width: 0, quiet: true, steps: true },
    { label: 'least granted', tone: 'green', width: 0, quiet: true, steps: true },
    { label: 'granted', tone: 'green', steps: true },
    { label: 'user', tone: 'text', dash: true, width: 1.3, steps: true },
    { label: 'used', tone: 'violet' },
    { label: 'peak', tone: 'amber', width: 1.2 },
  ],
  bands: [{ upper: 0, lower: 1, tone: 'green' }],
};

/** Histories, which share the cursor. */
class FunctionPlots {
  readonly #cpu = new Plot({ ...GRANTED, unit: cores, sync: SYNC });
  readonly #memory = new Plot({ ...GRANTED, unit: memory, binary: true, sync: SYNC });
  readonly #latency = new Plot({
    lines: [
      { label: 'p99', tone: 'blue' },
      { label: 'mean', tone: 'violet' },
      { label: 'objective', tone: 'red', dash: true, width: 1.3, steps: true },
      { label: 'control arm', tone: 'faint', points: true },
      { label: 'cold starts', tone: 'amber', points: true },
    ],
    unit: span,
    sync: SYNC,
  });
  readonly #slowdown = new Plot({
    lines: [
      { label: 'against the control arm', tone: 'blue' },
      { label: 'weight × its own', tone: 'amber', steps: true },
    ],
    unit: times,
    top: 1.2,
    sync: SYNC,
    none: 'not enough control samples yet',
  });
  readonly cards = [
    plotCard('w6', 'CPU', 'cores per container', this.#cpu),
    plotCard('w6', 'Memory', 'per container', this.#memory),
    plotCard('w6', 'Latency', 'of the warm activations of each control step', this.#latency),
    plotCard('w6', 'Slowdown', 'below 1: faster than the control arm', this.#slowdown),
  ];

  /** `usesWeights`: its CPU is limited by weights. */
  set({ history }: FunctionDetail, usesWeights: boolean): void {
    const columns = (...names: FunctionColumn[]) => names.map((name) => history[name]);
    this.#cpu.set(columns('at', 'cpuMax', 'cpuMin', 'cpu', 'userCpu', 'usedCpu', 'peakCpu'));
    this.#memory.set(
      columns('at', 'memoryMax', 'memoryMin', 'memory', 'userMemory', 'usedMemory', 'peakMemory'),
    );
    this.#latency.set(columns('at', 'p99', 'mean', 'slo', 'control', 'cold'));
    this.#slowdown.set([
      history.at,
      history.slowdown,
      usesWeights ? history.weight : history.weight.map(() => null),
    ]);
  }

  destroy(): void {
    for (const plot of [this.#cpu, this.#memory, this.#latency, this.#slowdown]) plot.destroy();
  }
}

class RewardPlot {
  readonly #plot = new Plot({
    lines: [
      { label: 'per step', tone: 'faint', points: true },
      { label: `mean of the last ${REWARDS} steps`, tone: 'green' },
    ],
    unit: number,
    plainX: true,
    none: 'its manager has no rewards',
  });
  readonly card = plotCard('', 'Reward of its agent', 'per control step, at most 1.8', this.#plot);

  set({ learning: { step, reward } }: FunctionDetail): void {
    this.#plot.set([step, reward, runningMean(reward, REWARDS)]);
  }

  destroy(): void {
    this.#plot.destroy();
  }
}

/** Rewards follow the load from step to step, so single steps say little. */
function runningMean(values: readonly number[], most: number): number[] {
  const means: number[] = [];
  let sum = 0;
  for (const [i, value] of values.entries()) {
    sum += value - (i >= most ? values[i - most]! : 0);
    means.push(sum / Math.min(i + 1, most));
  }
  return means;
}
