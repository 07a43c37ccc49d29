import type { ActivationView, AgentStep, FunctionDetail, FunctionRow } from '../../wire.js';
import { actionButton } from '../actions.js';
import { h, setStyle, setText } from '../dom.js';
import { ago, clock, cores, counted, memory, NONE, nameParts, number, percent, span, times, words } from '../format.js';
import type { Page } from '../page.js';
import { chip, functionChips, plotCard, rangeMark } from '../parts.js';
import { Plot, type PlotOptions } from '../plot.js';
import type { State } from '../state.js';

const ASK_MILLIS = 2000;
/** V8 and the JVM fix their heap when the process starts (design §3). */
const HEAP_NOTE =
  'A memory loan helps what grows after the start (buffers, native memory, page cache, Python); V8 and the JVM fix their heap when the process starts.';

/** What was granted, allowed and used of one resource. */
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
  const [space, last] = nameParts(name);
  const chips = h('div', { class: 'chips' });
  const buttons = h('div', { class: 'chips' });
  const facts = h('p', { class: 'note facts-line' });
  const sync = 'function';
  const cpu = new Plot({
    ...GRANTED,
    unit: cores,
    sync,
  });
  const mem = new Plot({
    ...GRANTED,
    unit: memory,
    binary: true,
    sync,
  });
  const latency = new Plot({
    lines: [
      { label: 'p99', tone: 'blue' },
      { label: 'mean', tone: 'violet' },
      { label: 'objective', tone: 'red', dash: true, width: 1.3, steps: true },
      { label: 'at user limits', tone: 'faint', points: true },
    ],
    unit: span,
    sync,
  });
  const slowdown = new Plot({
    lines: [
      { label: 'against the control arm', tone: 'blue' },
      { label: 'weight against its own', tone: 'amber', steps: true },
    ],
    unit: times,
    top: 1.2,
    sync,
    none: 'nothing to compare with yet: the control arm needs calls',
  });
  const learning = new Plot({
    lines: [{ label: 'reward per step', tone: 'green' }],
    unit: number,
    plainX: true,
    none: 'its manager does not learn',
  });
  const activations = h('tbody');
  const steps = h('tbody');
  const problems = h('p', { class: 'note' });
  const learningCard = plotCard('w6', 'Learning curve', '', learning);
  const cells = (titles: readonly string[]): HTMLElement =>
    h('thead', {}, h('tr', {}, ...titles.map((title) => h('th', {}, title))));
  const element = h(
    'div',
    {},
    h(
      'div',
      { class: 'head' },
      h('h1', {}, h('span', { class: 'dim' }, space), last),
      chips,
      h('span', { class: 'space' }),
      buttons,
    ),
    facts,
    h(
      'div',
      { class: 'grid' },
      plotCard('w6', 'CPU', 'cores per container', cpu),
      plotCard('w6', 'Memory', 'per container', mem),
      plotCard('w6', 'Latency', 'init and run', latency),
      plotCard('w6', 'Slowdown', '1 = as without Gleaner', slowdown),
      h(
        'section',
        { class: 'card flush' },
        h(
          'h2',
          {},
          'Decisions',
          h('small', {}, 'what each of the last activations was allowed, was granted, used, and what that brought'),
        ),
        h(
          'div',
          { class: 'scroll' },
          h(
            'table',
            { class: 'plain' },
            cells(['When', 'Took', 'CPU', 'Why', 'Memory', 'Why', 'Brought']),
            activations,
          ),
        ),
      ),
      h(
        'section',
        { class: 'card flush w6' },
        h('h2', {}, 'Agent', h('small', {}, 'its last decisions, and what each was made from')),
        h(
          'div',
          { class: 'scroll' },
          h('table', { class: 'plain' }, cells(['Step', 'When', 'Saw', 'Price', 'Wished', '']), steps),
        ),
      ),
      learningCard,
      problems,
    ),
    h('p', { class: 'note' }, HEAP_NOTE),
  );
  let row: FunctionRow | null = null;
  let featureNames: readonly string[] = [];
  let mode = '';

  const showDetail = (detail: FunctionDetail): void => {
    const { history } = detail;
    featureNames = detail.featureNames;
    const at = history.at as readonly (number | null)[];
    cpu.set([at, history.cpuMax, history.cpuMin, history.cpu, history.userCpu, history.usedCpu, history.peakCpu]);
    mem.set([
      at,
      history.memoryMax,
      history.memoryMin,
      history.memory,
      history.userMemory,
      history.usedMemory,
      history.peakMemory,
    ]);
    latency.set([at, history.p99, history.mean, history.slo, history.control]);
    slowdown.set([at, history.slowdown, row?.cpuMode === 'weight' ? history.weight : history.weight.map(() => null)]);
    learning.set([detail.learning.step, detail.learning.reward]);
    activations.replaceChildren(...detail.activations.map(activationRow));
    if (detail.activations.length === 0) activations.replaceChildren(emptyRow('no activation has ended yet', 7));
    steps.replaceChildren(...detail.steps.map((step) => stepRow(step, featureNames)));
    if (detail.steps.length === 0) steps.replaceChildren(emptyRow('no agent has decided for it yet', 6));
    setText(problems, detail.problems.join('; '));
  };
  let asking = false;
  const ask = async (): Promise<void> => {
    if (asking || document.hidden) return;
    asking = true;
    try {
      const response = await fetch(`/api/function?name=${encodeURIComponent(name)}`);
      if (response.ok) showDetail((await response.json()) as FunctionDetail);
      else setText(problems, `${name} is not known here`);
    } catch {
      // The banner says that the dashboard is away; asked again soon.
    } finally {
      asking = false;
    }
  };
  const timer = setInterval(() => void ask(), ASK_MILLIS);
  void ask();

  return {
    title: last,
    element,
    update(state: State) {
      row = state.functions.get(name) ?? null;
      if (row === null) return;
      const more: HTMLElement[] = [];
      if (row.phase !== '')
        more.push(chip(row.phase, row.phase === 'serving' ? 'green' : 'blue', 'life-cycle phase of its agent'));
      if (row.manager !== '') more.push(chip(`manager ${row.manager}`));
      chips.replaceChildren(...functionChips(row), ...more);
      setText(
        facts,
        `${number(row.calls)} calls, ${number(row.rate)} per second; ${counted(row.containers, 'container')} on ${counted(row.hosts, 'host')}; ` +
          `harvested ${number(row.harvested)} and lent ${number(row.lent)} core-seconds; saved ${span(row.saved * 1000)}; ` +
          `p99 ${span(row.p99)} of ${span(row.slo)}`,
      );
      if (!state.writable || mode === `${row.paused}`) return;
      mode = `${row.paused}`;
      const paused = row.paused;
      buttons.replaceChildren(
        actionButton(paused ? 'Resume' : 'Pause', () => ({ action: paused ? 'resume' : 'pause', function: name })),
        actionButton('Retrain', () => ({ action: 'retrain', function: name }), { sure: `Let ${name} learn anew?` }),
      );
    },
    destroy() {
      clearInterval(timer);
      for (const plot of [cpu, mem, latency, slowdown, learning]) plot.destroy();
    },
  };
}

const emptyRow = (text: string, width: number): HTMLElement =>
  h('tr', {}, h('td', { colspan: width, class: 'empty' }, text));

function activationRow(one: ActivationView): HTMLElement {
  const marks = h('span', { class: 'chips' });
  if (one.cold) marks.append(chip('cold', 'blue', `init ${span(one.init)}`));
  if (one.control) marks.append(chip('control arm', '', 'ran at user limits, to compare with'));
  if (one.tripped) marks.append(chip('tripped', 'amber', 'the user’s limit was given back while it ran'));
  if (one.ended !== 'answer') marks.append(chip(words(one.ended), 'red', 'how it ended'));
  const why = (grant: ActivationView['cpu']): string => `${words(grant.rangeReason)}, ${words(grant.choice)}`;
  const weighed = one.cpuMode === 'weight';
  const factor = (one.shares ?? 0) / (one.userShares || 1);
  return h(
    'tr',
    {},
    h('td', { title: `${one.activation}, by the clock of ${one.host}` }, clock(one.at)),
    h('td', {}, span(one.duration)),
    h(
      'td',
      {},
      weighed
        ? h('span', { class: factor > 1.01 ? 'lent' : factor < 0.99 ? 'good' : '' }, `weight ${times(factor)}`)
        : rangeMark(one.cpu, cores),
      weighed ? '' : ` ${cores(one.cpu.granted)}`,
    ),
    h('td', { class: 'wrap dim' }, weighed ? 'by its expected length' : why(one.cpu)),
    h('td', {}, rangeMark(one.memory, memory), ` ${memory(one.memory.granted)}`),
    h('td', { class: 'wrap dim' }, why(one.memory)),
    h('td', { class: 'wrap' }, marks, ` ${brought(one)}`),
  );
}

function brought(one: ActivationView): string {
  const parts: string[] = [];
  if (!one.enforced && !one.control) parts.push('not enforced');
  if (one.harvested > 0) parts.push(`kept ${span(one.harvested)} of CPU free`);
  if (one.accelerated > 0) parts.push(`used ${span(one.accelerated)} of CPU above the limit`);
  if (one.saved > 0) parts.push(`saved about ${span(one.saved)}`);
  if (one.loan > 0) parts.push(`memory loan ${memory(one.loan)}`);
  return parts.join('; ');
}

function stepRow(step: AgentStep, names: readonly string[]): HTMLElement {
  const said = step.features.map((value, i) => `${words(names[i] ?? `feature ${i + 1}`)} ${percent(value)}`).join(', ');
  const mini = h('span', { class: 'mini', role: 'img', 'aria-label': said, title: said });
  for (const value of step.features) {
    const bar = h('i');
    setStyle(bar, 'height', `${Math.round(value * 100)}%`);
    mini.append(bar);
  }
  const { cpu, memory: bytes, weight } = step.wish;
  const wishes = [
    cpu === null ? '' : `${cores(cpu)} cores`,
    weight === null ? '' : `weight ${times(weight)}`,
    bytes === null ? '' : memory(bytes),
  ].filter(Boolean);
  return h(
    'tr',
    {},
    h('td', {}, String(step.step)),
    h('td', {}, ago(Date.now() / 1000 - step.at)),
    h('td', {}, mini),
    h('td', { class: 'right' }, step.priceCpu === null ? NONE : step.priceCpu.toFixed(2)),
    h('td', { class: 'wrap' }, wishes.join(', ') || 'no wish'),
    h('td', {}, step.sent ? '' : chip('not sent', 'amber', 'paused, or not sound')),
  );
}
