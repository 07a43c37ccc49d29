import type { FunctionRow, Verdict } from '../../wire.js';
import { h, setChildren, setClass, setText } from '../dom.js';
import {
  ago,
  change,
  comparisonBasis,
  cores,
  counted,
  instant,
  number,
  percent,
  span,
  times,
} from '../format.js';
import {
  card,
  chip,
  comparisonMark,
  comparisonTone,
  EVENT_TONES,
  functionLink,
  isMissingObjective,
  Kpi,
  modeTone,
  pageHead,
  plotCard,
  stacked,
} from '../parts.js';
import { Plot, type Tone } from '../plot.js';
import type { Page, State } from '../state.js';

const PHASE_TONES: Readonly<Record<string, Tone | 'muted'>> = {
  offline: 'amber',
  online: 'blue',
  serving: 'green',
  managing: 'violet',
};
const SHOWN = 7;

export function overviewPage(): Page {
  const harvested = new Kpi(
    'Harvested',
    'green',
    'CPU kept free below user limits while functions ran',
  );
  const lent = new Kpi('Lent', 'blue', 'CPU used above user limits, from unused CPU of others');
  const slo = new Kpi(
    'Within objective',
    'violet',
    'Share of the last five minutes’ warm activations within their function’s latency objective',
  );
  const safeguard = new Kpi(
    'Safeguard',
    'amber',
    'Activations during which the user’s limit was restored',
  );
  const verdict = new VerdictCard();
  const plot = new Plot({
    lines: [
      { label: 'used', tone: 'violet' },
      { label: 'granted', tone: 'text' },
      { label: 'harvested', tone: 'green', fill: true },
      { label: 'lent', tone: 'blue', fill: true },
      { label: 'capacity', tone: 'faint', dash: true, width: 1.2 },
    ],
    unit: (value) => number(value),
    height: 250,
  });
  const facts = h('dl.facts');
  const phases = h('div');
  const mostImproved = h('ul.list');
  const slowed = h('ul.list');
  const attention = h('ul.list');
  const events = h('ul.list');
  const modes = h('div.chips', { id: 'modes' });
  const element = h(
    'div',
    pageHead('Overview', modes),
    h(
      'div.grid',
      verdict.element,
      harvested.element,
      lent.element,
      slo.element,
      safeguard.element,
      plotCard('w8', 'Cores', 'all hosts; used: mean since the last report, granted: now', plot),
      h(
        'section.card.w4',
        h('h2', 'Agents', h('small', 'by life-cycle phase')),
        phases,
        h('h2.second', 'So far'),
        facts,
      ),
      card('w6', 'Gained most', 'response time compared with the control arm', mostImproved),
      card('w6', 'Slowed most', 'response time compared with the control arm', slowed),
      card('w6', 'Needs attention', '', attention),
      card('w6', 'Latest events', '', events),
    ),
  );

  const item = (
    key: string,
    left: Node | string,
    middle: Node | string,
    right: Node | string,
  ): HTMLElement =>
    h(
      'li',
      { 'data-key': key },
      left === '' ? null : h('span', left),
      h('span.grow', middle),
      h('span', right),
    );
  const empty = (text: string): HTMLElement => h('li', h('span.grow.dim', text));

  return {
    title: 'Overview',
    element,
    update(state) {
      const { totals, overview } = state;
      if (totals === null) return;
      const functions = [...state.functions.values()];
      setChildren(modes, ...modeChips(state));
      verdict.set(totals.verdict);
      harvested.set(
        number(totals.harvestedCores),
        'cores',
        `${number(totals.harvestedTotal)} core-seconds so far`,
        overview.harvested,
      );
      lent.set(
        number(totals.lentCores),
        'cores',
        `${number(totals.lentTotal)} core-seconds so far`,
        overview.lent,
      );
      slo.set(
        percent(totals.sloKept, 1),
        '',
        totals.functionsJudged === 0 && totals.functionsLearning > 0
          ? `learning the objectives of ${counted(totals.functionsLearning, 'function')}`
          : `of ${number(totals.sloActivations)} activations; ` +
              `${totals.functionsKept} of ${totals.functionsJudged} functions by p99`,
        overview.sloKept,
      );
      safeguard.set(
        number(totals.safeguardRate),
        'per minute',
        `${number(totals.safeguardTotal)} so far`,
        overview.safeguard,
      );
      const { at, used, granted, harvested: free, lent: borrowed, capacity } = overview;
      plot.set([at, used, granted, free, borrowed, capacity]);
      const entries = Object.entries(totals.phases);
      setChildren(
        phases,
        entries.length === 0
          ? h('p.note', 'no agent host: local policies and user limits')
          : stacked(
              entries.map(([name, value]) => ({ name, value, tone: PHASE_TONES[name] ?? 'muted' })),
            ),
      );
      const fact = (name: string, value: string): HTMLElement[] => [h('dt', name), h('dd', value)];
      setChildren(
        facts,
        ...fact('Functions', `${functions.length}`),
        ...fact('Activations per second', number(totals.activationRate)),
        ...fact('Saved, an estimate', span(totals.savedTotal * 1000)),
        ...fact('Managers', Object.keys(totals.managers).join(', ') || '–'),
        ...fact('Hosts', `${state.hosts.length}`),
      );
      const compared = functions.filter(({ comparison }) => comparison.ratio !== null);
      const ranked = (rows: readonly FunctionRow[]): HTMLElement[] =>
        rows
          .slice(0, SHOWN)
          .map((row) => item(row.name, '', functionLink(row.name), comparisonMark(row.comparison)));
      const ratioOf = ({ comparison }: FunctionRow): number => comparison.ratio ?? 1;
      const side = (rows: readonly FunctionRow[]): HTMLElement[] =>
        rows.length === 0 ? [empty(noneCompared(functions, compared.length))] : ranked(rows);
      const sorted = compared.sort((a, b) => ratioOf(a) - ratioOf(b));
      setChildren(mostImproved, ...side(sorted.filter((row) => ratioOf(row) < 1)));
      setChildren(slowed, ...side(sorted.filter((row) => ratioOf(row) > 1).reverse()));
      const problems = attentionItems(state, functions);
      setChildren(
        attention,
        ...(problems.length === 0
          ? [empty('nothing')]
          : problems.slice(0, SHOWN).map(([key, mark, what, why]) => item(key, mark, what, why))),
      );
      setChildren(
        events,
        ...(state.events.length === 0
          ? [empty('none yet')]
          : state.events
              .slice(0, SHOWN)
              .map((event) =>
                item(
                  String(event.id),
                  chip(event.kind, EVENT_TONES[event.kind] ?? ''),
                  event.function === null ? event.reason : functionLink(event.function),
                  h('span.dim', { title: instant(event.at) }, ago(state.now - event.at)),
                ),
              )),
      );
    },
    destroy: () => plot.destroy(),
  };
}

/** Reason of an empty side of the comparison. */
function noneCompared(functions: readonly FunctionRow[], compared: number): string {
  if (compared > 0) return 'none';
  const [most] = [...functions].sort(
    (a, b) => b.comparison.controlSamples - a.comparison.controlSamples,
  );
  return most === undefined
    ? 'no function yet'
    : `no function has enough control samples yet: ${comparisonBasis(most.comparison)}`;
}

/** The change of response time with interval and samples, or when to expect it. */
class VerdictCard {
  readonly element: HTMLElement;
  readonly #value = h('div.value');
  readonly #text = h('div.verdict-text');

  constructor() {
    this.element = h(
      'section.card.verdict',
      { id: 'verdict' },
      this.#value,
      h('div', h('h2', 'Response time with Gleaner'), this.#text),
    );
  }

  set(verdict: Verdict): void {
    setText(this.#value, change(verdict.ratio));
    setClass(this.#value, `value ${comparisonTone(verdict)}`);
    const { low, high } = verdict;
    const chance =
      low !== null && high !== null && low <= 1 && high >= 1
        ? '; the interval includes 0 %: not significant'
        : '';
    setText(this.#text, `${verdict.text}${chance}`);
  }
}

function modeChips({ hosts }: State): HTMLElement[] {
  const chips: HTMLElement[] = [];
  const counts = new Map<string, number>();
  for (const { mode, killed } of hosts) {
    const name = killed ? 'stopped' : mode;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  for (const [mode, count] of counts) {
    const tone = mode === 'stopped' ? 'red' : modeTone(mode);
    chips.push(
      chip(
        hosts.length === 1 ? `mode ${mode}` : `${mode} on ${count} of ${hosts.length} hosts`,
        tone,
      ),
    );
  }
  const fast = hosts.find(({ clockRate }) => clockRate !== 1);
  if (fast !== undefined)
    chips.push(
      chip(
        `simulated, time ${times(fast.clockRate)}`,
        'amber',
        'rates are per second of the simulated host',
      ),
    );
  return chips;
}

/** Key, mark, what, and why. */
type Item = readonly [string, Node | string, Node | string, Node | string];

function attentionItems(
  { hosts, nats, services }: State,
  functions: readonly FunctionRow[],
): Item[] {
  const items: Item[] = [];
  // `part` tells apart items with the same mark and text.
  const add = (mark: string, tone: Tone, what: Node | string, why = '', part = ''): void => {
    const key = `${mark} ${typeof what === 'string' ? what : what.textContent} ${part}`;
    items.push([key, chip(mark, tone), what, why]);
  };
  if (!nats.connected)
    add('NATS', 'red', 'disconnected: hosts keep user limits and local policies');
  for (const host of hosts) {
    const link = (page = '#/hosts'): Node => h('a', { href: page }, host.host);
    if (host.killed) add('stopped', 'red', link(), host.killedBy.join(', '));
    for (const text of host.tapLost) add('tap', 'red', link(), text, text);
    if (host.auditProblem !== '') add('audit', 'amber', link(), host.auditProblem);
    if (!host.isEngineReachable) add('engine', 'red', link(), 'is unreachable');
    if (host.alarm) add('slower', 'red', link(), 'than its control arm');
    if (host.isContended) {
      const share =
        `${percent(host.waitShare)} of the time waiting for a CPU, ` +
        `${cores(host.demandCpu)} of ${cores(host.allocatableCpu)} cores requested`;
      add('contended', 'amber', link('#/contention'), share);
    }
  }
  for (const row of functions) {
    if (row.alarm) add('slower', 'red', functionLink(row.name), change(row.comparison.ratio));
    else if (isMissingObjective(row))
      add('objective', 'red', functionLink(row.name), `${span(row.p99)} of ${span(row.slo)}`);
    if (row.paused) add('paused', 'amber', functionLink(row.name));
  }
  for (const { service, host, started, failures, lastFailure } of services)
    if (failures > 0) {
      const what = `${service} on ${host}: ${lastFailure}`;
      add('errors', 'amber', what, counted(failures, 'failure'), started);
    }
  return items;
}
