import type { Columns, FunctionRow, OverviewColumn, Totals, Verdict } from '../../wire.js';
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
/** What to do about a line of what needs attention, by its mark. */
const NEXT_STEPS: Readonly<Record<string, string>> = {
  NATS: 'check the server, and nats.servers in the configuration',
  failed: 'its log on that host shows the fault; its supervisor starts it again',
  silent: '`gleaner doctor` on its host, and its log there, show the cause',
  tap: '`gleaner doctor` on the host shows the cause',
  modes: '`gleaner mode` names them; a release or `gleaner resume` replaces them',
  audit: 'check space and rights of the state folder on the host',
  config: '`gleaner config check` on the host names the wrong values',
  engine: 'check the container engine on the host',
  slower: '`gleaner explain` shows its decisions; `gleaner pause` keeps user limits',
  contended: 'the page Contention shows which function waits for which',
  objective: 'its page shows limits, waiting and reasons',
  paused: 'it stays so until it is resumed',
  errors: 'its log shows each of them',
};

export function overviewPage(): Page {
  const modes = h('div.chips', { id: 'modes' });
  const verdict = new VerdictCard();
  const figures = new Figures();
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
  const agents = new AgentsCard();
  const changes = new ChangedLists();
  const attention = h('ul.list');
  const events = h('ul.list');
  const element = h(
    'div',
    pageHead('Overview', modes),
    h(
      'div.grid',
      verdict.element,
      ...figures.elements,
      plotCard('w8', 'Cores', 'all hosts; used: mean since the last report, granted: now', plot),
      agents.element,
      ...changes.elements,
      card('w6', 'Needs attention', '', attention),
      card('w6', 'Latest events', '', events),
    ),
  );
  return {
    title: 'Overview',
    element,
    update(state) {
      const { totals, overview } = state;
      if (totals === null) return;
      const functions = [...state.functions.values()];
      setChildren(modes, ...modeChips(state));
      verdict.set(totals.verdict);
      figures.set(totals, overview);
      const { at, used, granted, harvested, lent, capacity } = overview;
      plot.set([at, used, granted, harvested, lent, capacity]);
      agents.set(totals, functions.length, state.hosts.length);
      changes.set(functions);
      setChildren(attention, ...attentionLines(state, functions));
      setChildren(events, ...eventLines(state));
    },
    destroy: () => plot.destroy(),
  };
}

/** A line of a list. `key`: the same when the line is made again. */
const line = (
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
const emptyLine = (text: string): HTMLElement => h('li', h('span.grow.dim', text));

/** The figures with their recent history. */
class Figures {
  readonly #harvested = new Kpi(
    'Harvested',
    'green',
    'CPU kept free below user limits while functions ran',
  );
  readonly #lent = new Kpi('Lent', 'blue', 'CPU used above user limits, from unused CPU of others');
  readonly #slo = new Kpi(
    'Within objective',
    'violet',
    'Share of the last five minutes’ warm activations within their function’s latency objective',
  );
  readonly #safeguard = new Kpi(
    'Safeguard',
    'amber',
    'Activations during which the user’s limit was restored',
  );
  readonly elements = [this.#harvested, this.#lent, this.#slo, this.#safeguard].map(
    ({ element }) => element,
  );

  set(totals: Totals, past: Columns<OverviewColumn>): void {
    this.#harvested.set(
      number(totals.harvestedCores),
      'cores',
      `${number(totals.harvestedTotal)} core-seconds so far`,
      past.harvested,
    );
    this.#lent.set(
      number(totals.lentCores),
      'cores',
      `${number(totals.lentTotal)} core-seconds so far`,
      past.lent,
    );
    this.#slo.set(
      percent(totals.sloKept, 1),
      '',
      totals.functionsJudged === 0 && totals.functionsLearning > 0
        ? `learning the objectives of ${counted(totals.functionsLearning, 'function')}`
        : `of ${number(totals.sloActivations)} activations; ` +
            `${totals.functionsKept} of ${totals.functionsJudged} functions by p99`,
      past.sloKept,
    );
    this.#safeguard.set(
      number(totals.safeguardRate),
      'per minute',
      `${number(totals.safeguardTotal)} so far`,
      past.safeguard,
    );
  }
}

/** Agents by life-cycle phase, and totals. */
class AgentsCard {
  readonly #phases = h('div');
  readonly #facts = h('dl.facts');
  readonly element = h(
    'section.card.w4',
    h('h2', 'Agents', h('small', 'by life-cycle phase')),
    this.#phases,
    h('h2.second', 'So far'),
    this.#facts,
  );

  set(totals: Totals, functions: number, hosts: number): void {
    const entries = Object.entries(totals.phases);
    setChildren(
      this.#phases,
      entries.length === 0
        ? h('p.note', 'no agent host: local policies and user limits')
        : stacked(
            entries.map(([name, value]) => ({ name, value, tone: PHASE_TONES[name] ?? 'muted' })),
          ),
    );
    const fact = (name: string, value: string): HTMLElement[] => [h('dt', name), h('dd', value)];
    setChildren(
      this.#facts,
      ...fact('Functions', `${functions}`),
      ...fact('Activations per second', number(totals.activationRate)),
      ...fact('Saved, an estimate', span(totals.savedTotal * 1000)),
      ...fact('Managers', Object.keys(totals.managers).join(', ') || '–'),
      ...fact('Hosts', `${hosts}`),
    );
  }
}

/** Functions whose response time changed most, in either direction. */
class ChangedLists {
  readonly #gained = h('ul.list');
  readonly #slowed = h('ul.list');
  readonly elements = [
    card('w6', 'Gained most', 'response time compared with the control arm', this.#gained),
    card('w6', 'Slowed most', 'response time compared with the control arm', this.#slowed),
  ];

  set(functions: readonly FunctionRow[]): void {
    const ratioOf = ({ comparison }: FunctionRow): number => comparison.ratio ?? 1;
    const sorted = functions
      .filter(({ comparison }) => comparison.ratio !== null)
      .sort((a, b) => ratioOf(a) - ratioOf(b));
    const lines = (rows: readonly FunctionRow[]): HTMLElement[] =>
      rows.length === 0
        ? [emptyLine(noneCompared(functions, sorted.length))]
        : rows
            .slice(0, SHOWN)
            .map(({ name, comparison }) =>
              line(name, '', functionLink(name), comparisonMark(comparison)),
            );
    setChildren(this.#gained, ...lines(sorted.filter((row) => ratioOf(row) < 1)));
    setChildren(this.#slowed, ...lines(sorted.filter((row) => ratioOf(row) > 1).reverse()));
  }
}

function eventLines({ events, now }: State): HTMLElement[] {
  if (events.length === 0) return [emptyLine('none yet')];
  return events
    .slice(0, SHOWN)
    .map(({ id, kind, function: name, reason, at }) =>
      line(
        String(id),
        chip(kind, EVENT_TONES[kind] ?? ''),
        name === null ? reason : functionLink(name),
        h('span.dim', { title: instant(at) }, ago(now - at)),
      ),
    );
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

function modeChips({ hosts, silentParts }: State): HTMLElement[] {
  const chips: HTMLElement[] = [];
  const counts = new Map<string, number>();
  const silent = new Set(
    silentParts.filter(({ service }) => service === 'gleaner-hook').map(({ host }) => host),
  );
  for (const { host, mode } of hosts) {
    const known = silent.has(host) ? 'unknown' : mode;
    counts.set(known, (counts.get(known) ?? 0) + 1);
  }
  for (const [mode, count] of counts) {
    chips.push(
      chip(
        hosts.length === 1 ? `mode ${mode}` : `${mode} on ${count} of ${hosts.length} hosts`,
        modeTone(mode),
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

function attentionLines(
  { hosts, nats, now, services, silentParts }: State,
  functions: readonly FunctionRow[],
): HTMLElement[] {
  const lines: HTMLElement[] = [];
  // `part` tells apart lines with the same mark and text.
  const add = (mark: string, tone: Tone | '', what: Node | string, why = '', part = ''): void => {
    if (lines.length === SHOWN) return;
    const key = `${mark} ${typeof what === 'string' ? what : what.textContent} ${part}`;
    lines.push(line(key, chip(mark, tone, NEXT_STEPS[mark]), what, why));
  };
  if (!nats.connected)
    add('NATS', 'red', 'disconnected: hosts keep user limits and local policies');
  // Without NATS no part can be heard.
  const silent = nats.connected ? silentParts : [];
  for (const { service, host, seen, stopped, failure } of silent)
    if (stopped === null)
      add('silent', 'red', `${service} on ${host}`, `no answer since ${span((now - seen) * 1000)}`);
    else if (failure !== null)
      add(
        'failed',
        'red',
        `${service} on ${host}: ${failure}`,
        `${span((now - stopped) * 1000)} ago`,
      );
  for (const host of hosts) {
    const link = (page = '#/hosts'): Node => h('a', { href: page }, host.host);
    for (const text of host.tapLost) add('tap', 'red', link(), text, text);
    if (host.modesProblem !== '') add('modes', 'red', link(), host.modesProblem);
    if (host.auditProblem !== '') add('audit', 'amber', link(), host.auditProblem);
    if (host.configProblem !== '') add('config', 'amber', link(), host.configProblem);
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
  for (const { service, host, started, failures, lastFailure, paused } of services) {
    if (paused) add('paused', 'amber', `${service} on ${host}`, 'publishes nothing', started);
    if (failures > 0) {
      const what = `${service} on ${host}: ${lastFailure}`;
      add('errors', 'amber', what, counted(failures, 'failure'), started);
    }
  }
  // It ended in order, which most often means that an operator stopped it.
  for (const { service, host, stopped, failure } of silent)
    if (stopped !== null && failure === null)
      add('stopped', '', `${service} on ${host}`, `${span((now - stopped) * 1000)} ago`);
  return lines.length === 0 ? [emptyLine('nothing')] : lines;
}
