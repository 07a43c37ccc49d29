import type {
  ActivationView,
  AgentStep,
  FunctionColumn,
  FunctionDetail,
  FunctionRow,
} from '../../wire.js';
import { actionButton } from '../actions.js';
import { h, setChildren, setStyle, setText } from '../dom.js';
import {
  change,
  clock,
  comparisonBasis,
  cores,
  counted,
  instant,
  memory,
  NONE,
  nameParts,
  number,
  percent,
  span,
  times,
  words,
} from '../format.js';
import {
  agoCell,
  chip,
  functionChips,
  PlainTable,
  plotCard,
  rangeMark,
  space,
  tableCard,
  td,
} from '../parts.js';
import { Plot, type PlotOptions } from '../plot.js';
import type { Page, State } from '../state.js';

const POLL_MILLIS = 2000;
const HEAP_NOTE =
  'A memory loan helps memory that grows after the start (buffers, native memory, page cache, ' +
  'Python). V8 and the JVM fix their heap size when the process starts.';

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

export function functionPage(name: string): Page {
  const [namespace, last] = nameParts(name);
  const chips = h('div.chips');
  let row: FunctionRow | null = null;
  const pause = actionButton('Pause', () => ({
    action: row?.paused ? 'resume' : 'pause',
    function: name,
  }));
  const retrain = actionButton('Retrain', () => ({ action: 'retrain', function: name }), {
    confirmed: () => `Retrain the agent of ${name}?`,
  });
  const buttons = h('div.chips', { hidden: true }, pause, retrain);
  const facts = h('p.note.facts-line');
  const sync = 'function';
  const cpu = new Plot({ ...GRANTED, unit: cores, sync });
  const mem = new Plot({ ...GRANTED, unit: memory, binary: true, sync });
  const latency = new Plot({
    lines: [
      { label: 'p99', tone: 'blue' },
      { label: 'mean', tone: 'violet' },
      { label: 'objective', tone: 'red', dash: true, width: 1.3, steps: true },
      { label: 'control arm', tone: 'faint', points: true },
      { label: 'cold starts', tone: 'amber', points: true },
    ],
    unit: span,
    sync,
  });
  const slowdown = new Plot({
    lines: [
      { label: 'against the control arm', tone: 'blue' },
      { label: 'weight × its own', tone: 'amber', steps: true },
    ],
    unit: times,
    top: 1.2,
    sync,
    none: 'not enough control samples yet',
  });
  const learning = new Plot({
    lines: [
      { label: 'per step', tone: 'faint', points: true },
      { label: 'mean of the last 20 steps', tone: 'green' },
    ],
    unit: number,
    plainX: true,
    none: 'its manager has no rewards',
  });
  const activations = new PlainTable(
    [
      { title: 'When' },
      { title: 'Took' },
      { title: 'CPU', unit: 'cores' },
      { title: 'Why this CPU' },
      { title: 'Memory' },
      { title: 'Why this memory' },
      { title: 'Result' },
    ],
    'no activation has ended yet',
  );
  const steps = new PlainTable(
    [
      { title: 'Step' },
      { title: 'When' },
      { title: 'Features', hint: 'inputs of the decision, each from 0 to 1' },
      { title: 'CPU price' },
      { title: 'Requested' },
      { title: 'Sent' },
    ],
    'no decision of an agent yet',
  );
  const features = h('p.note.feature-names');
  const problems = h('p.note');
  const note = h('p.note', HEAP_NOTE);
  const learningCard = plotCard(
    '',
    'Reward of its agent',
    'per control step, at most 1.8',
    learning,
  );
  const element = h(
    'div',
    h('div.head', h('h1', h('span.dim', namespace), h('wbr'), last), chips, space(), buttons),
    facts,
    h(
      'div.grid',
      plotCard('w6', 'CPU', 'cores per container', cpu),
      plotCard('w6', 'Memory', 'per container', mem),
      plotCard('w6', 'Latency', 'of warm activations', latency),
      plotCard('w6', 'Slowdown', 'below 1: faster than the control arm', slowdown),
      tableCard('', 'Decisions', 'range, grant and use of the last activations', activations),
      tableCard('', 'Agent', 'its last decisions with their inputs', steps, features),
      learningCard,
      problems,
    ),
    note,
  );
  let featureNames: readonly string[] = [];

  const showDetail = (detail: FunctionDetail): void => {
    const { history } = detail;
    featureNames = detail.featureNames;
    const columns = (...names: FunctionColumn[]) => names.map((name) => history[name]);
    cpu.set(columns('at', 'cpuMax', 'cpuMin', 'cpu', 'userCpu', 'usedCpu', 'peakCpu'));
    mem.set(
      columns('at', 'memoryMax', 'memoryMin', 'memory', 'userMemory', 'usedMemory', 'peakMemory'),
    );
    latency.set(columns('at', 'p99', 'mean', 'slo', 'control', 'cold'));
    slowdown.set([
      history.at,
      history.slowdown,
      row?.cpuMode === 'weight' ? history.weight : history.weight.map(() => null),
    ]);
    const { step, reward } = detail.learning;
    learning.set([step, reward, runningMean(reward, 20)]);
    activations.set(
      detail.activations.map((one) => ({
        key: `${one.host} ${one.activation}`,
        cells: activationCells(one),
      })),
    );
    steps.set(
      detail.steps.map((one) => ({
        key: `${one.step} ${one.at}`,
        cells: stepCells(one, featureNames),
      })),
    );
    setText(
      features,
      featureNames.length === 0
        ? ''
        : `Features, from left to right: ${featureNames.map(words).join(', ')}.`,
    );
    setText(problems, detail.problems.join('; '));
  };
  const body = element.querySelector<HTMLElement>('.grid')!;
  const unknown = h('div.card.empty', { hidden: true }, `No host has seen ${name}.`);
  element.append(unknown);
  const known = (is: boolean): void => {
    body.hidden = !is;
    facts.hidden = !is;
    note.hidden = !is;
    unknown.hidden = is;
  };
  let asking = false;
  const loadDetail = async (): Promise<void> => {
    if (asking || document.hidden) return;
    asking = true;
    try {
      const response = await fetch(`/api/function?name=${encodeURIComponent(name)}`);
      if (response.ok) showDetail((await response.json()) as FunctionDetail);
      known(response.ok);
    } catch {
      // The banner shows that the dashboard is away; the next poll tries again.
    } finally {
      asking = false;
    }
  };
  const timer = setInterval(() => void loadDetail(), POLL_MILLIS);
  void loadDetail();

  return {
    title: last,
    element,
    update(state: State) {
      row = state.functions.get(name) ?? null;
      if (row === null) return;
      const more: HTMLElement[] = [];
      if (row.phase !== '')
        more.push(
          chip(
            row.phase,
            row.phase === 'serving' ? 'green' : 'blue',
            'life-cycle phase of its agent',
          ),
        );
      if (row.manager !== '') more.push(chip(`manager ${row.manager}`));
      setChildren(chips, ...functionChips(row), ...more);
      setText(
        facts,
        [
          `${number(row.activations)} activations, ${number(row.rate)} per second`,
          `${counted(row.containers, 'container')} on ${counted(row.hosts, 'host')}`,
          counted(row.coldStarts, 'cold start') +
            (row.initTime === null ? '' : ` of ${span(row.initTime)} on average`),
          `harvested ${number(row.harvested)} and lent ${number(row.lent)} core-seconds`,
          `response time ${change(row.comparison.ratio)} compared with the control arm ` +
            `(${comparisonBasis(row.comparison)})`,
          objectiveText(row),
        ].join('; '),
      );
      setText(pause, row.paused ? 'Resume' : 'Pause');
      buttons.hidden = !state.writable;
    },
    destroy() {
      clearInterval(timer);
      for (const plot of [cpu, mem, latency, slowdown, learning]) plot.destroy();
    },
  };
}

/** p99 of warm activations and objective, or how many samples are missing. */
function objectiveText({ p99, slo, learning }: FunctionRow): string {
  const { activations, activationsNeeded, controlSamples, controlSamplesNeeded } = learning;
  const tail =
    p99 === null
      ? `p99 after ${activationsNeeded} warm activations (${activations} so far)`
      : `p99 ${span(p99)}`;
  if (slo !== null) return `${tail} of an objective of ${span(slo)}`;
  const samples = `${controlSamplesNeeded} control samples (${controlSamples} so far)`;
  return `${tail}, objective learned from ${samples}`;
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

function activationCells(one: ActivationView): HTMLElement[] {
  const marks = h('span.chips');
  if (one.cold) marks.append(chip('cold start', 'blue', `init ${span(one.init)}`));
  if (one.control) marks.append(chip('control arm', '', 'ran at user limits, for comparison'));
  if (one.tripped)
    marks.append(chip('safeguard', 'amber', 'the user’s limit was restored while it ran'));
  if (one.endedBy !== '') marks.append(chip(one.endedBy, 'red', 'how it ended'));
  const usesWeights = one.cpuMode === 'weight';
  const factor = (one.shares ?? 0) / (one.userShares || 1);
  return [
    td(clock(one.at), 'wrap', `${instant(one.at)}, ${one.activation} on ${one.host}`),
    td(span(one.duration)),
    h(
      'td',
      usesWeights
        ? h(
            'span',
            { class: factor > 1.01 ? 'lent' : factor < 0.99 ? 'good' : '' },
            `weight ${times(factor)}`,
          )
        : rangeMark(one.cpu, cores),
      usesWeights ? '' : ` ${cores(one.cpu.granted)}`,
    ),
    td(usesWeights ? 'no quota: weight by its expected length' : one.cpu.why, 'wrap dim'),
    h('td', rangeMark(one.memory, memory), ` ${memory(one.memory.granted)}`),
    td(one.memory.why, 'wrap dim'),
    h('td.wrap', marks, ` ${resultText(one)}`),
  ];
}

function resultText(one: ActivationView): string {
  const parts: string[] = [];
  if (!one.enforced && !one.control) parts.push('not enforced');
  if (one.harvested > 0) parts.push(`kept ${span(one.harvested)} of CPU free`);
  if (one.accelerated > 0) parts.push(`used ${span(one.accelerated)} of CPU above the limit`);
  if (one.saved > 0) parts.push(`saved about ${span(one.saved)}`);
  if (one.loan > 0) parts.push(`memory loan ${memory(one.loan)}`);
  return parts.join('; ');
}

function stepCells(step: AgentStep, names: readonly string[]): HTMLElement[] {
  const tooltip = step.features
    .map((value, i) => `${words(names[i] ?? `feature ${i + 1}`)} ${percent(value)}`)
    .join(', ');
  const mini = h('span.mini', { role: 'img', 'aria-label': tooltip, title: tooltip });
  for (const value of step.features) {
    const bar = h('i');
    setStyle(bar, 'height', `${Math.round(value * 100)}%`);
    mini.append(bar);
  }
  const { cpu, memory: bytes, weight } = step.requested;
  const requested = [
    cpu ?? '',
    weight === null ? '' : `weight ${times(weight)}`,
    bytes === null ? '' : memory(bytes),
  ].filter(Boolean);
  return [
    td(String(step.step)),
    agoCell(Date.now() / 1000, step.at),
    td(mini),
    td(step.priceCpu === null ? NONE : step.priceCpu.toFixed(2)),
    td(requested.join(', ') || 'nothing', 'wrap'),
    td(step.sent ? 'yes' : chip('no', 'amber', 'paused, or not a valid target')),
  ];
}
