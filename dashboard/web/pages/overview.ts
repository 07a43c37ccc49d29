import type { FunctionRow } from '../../wire.js';
import { h } from '../dom.js';
import { ago, cores, counted, number, percent, span, times, words } from '../format.js';
import type { Page } from '../page.js';
import { card, chip, EVENT_TONES, functionLink, Kpi, missesObjective, plotCard, stacked } from '../parts.js';
import { Plot, type Tone } from '../plot.js';
import type { State } from '../state.js';

const PHASE_TONES: Readonly<Record<string, Tone | 'muted'>> = {
  offline: 'amber',
  online: 'blue',
  serving: 'green',
  managing: 'violet',
};
const SHOWN = 7;

export function overviewPage(): Page {
  const harvested = new Kpi('Harvested', 'green', 'CPU kept free below user limits while functions ran');
  const lent = new Kpi('Lent', 'blue', 'CPU used above user limits, from what others left free');
  const slo = new Kpi(
    'Within objective',
    'violet',
    'Share of calls of the last five minutes within their function’s latency objective',
  );
  const safeguard = new Kpi('Safeguard', 'amber', 'Activations in the middle of which the user’s limit was given back');
  const plot = new Plot({
    lines: [
      { label: 'wanted', tone: 'amber' },
      { label: 'granted', tone: 'text' },
      { label: 'harvested', tone: 'green', fill: true },
      { label: 'lent', tone: 'blue', fill: true },
      { label: 'capacity', tone: 'faint', dash: true, width: 1.2 },
    ],
    unit: (value) => number(value),
    height: 250,
  });
  const facts = h('dl', { class: 'facts' });
  const phases = h('div');
  const gains = h('ul', { class: 'list' });
  const attention = h('ul', { class: 'list' });
  const events = h('ul', { class: 'list' });
  const head = h('div', { class: 'head' }, h('h1', {}, 'Overview'), h('div', { class: 'chips', id: 'modes' }));
  const element = h(
    'div',
    {},
    head,
    h(
      'div',
      { class: 'grid' },
      harvested.element,
      lent.element,
      slo.element,
      safeguard.element,
      plotCard('w8', 'Cores', 'all hosts together', plot),
      h(
        'section',
        { class: 'card w4' },
        h('h2', {}, 'Agents', h('small', {}, 'by life-cycle phase')),
        phases,
        h('h2', { class: 'second' }, 'So far'),
        facts,
      ),
      card('w4', 'Gain most', 'seconds saved, an estimate', gains),
      card('w4', 'Needs a look', '', attention),
      card('w4', 'Latest events', '', events),
    ),
  );

  const item = (left: Node | string, middle: Node | string, right: Node | string): HTMLElement =>
    h('li', {}, h('span', {}, left), h('span', {}, middle), h('span', {}, right));
  const empty = (text: string): HTMLElement => h('li', {}, h('span'), h('span', { class: 'dim' }, text), h('span'));

  return {
    title: 'Overview',
    element,
    update(state) {
      const { totals, overview } = state;
      if (totals === null) return;
      const functions = [...state.functions.values()];
      head.querySelector('#modes')!.replaceChildren(...modeChips(state));
      harvested.set(
        number(totals.harvestedCores),
        'cores',
        `${number(totals.harvestedTotal)} core-seconds so far`,
        overview.harvested,
      );
      lent.set(number(totals.lentCores), 'cores', `${number(totals.lentTotal)} core-seconds so far`, overview.lent);
      slo.set(
        percent(totals.sloKept, 1),
        totals.sloCalls > 0 ? `of ${number(totals.sloCalls)} calls` : '',
        totals.functionsJudged === 0 && totals.functionsLearning > 0
          ? `learning the objectives of ${counted(totals.functionsLearning, 'function')}`
          : `${totals.functionsKept} of ${totals.functionsJudged} functions by p99`,
        overview.sloKept,
      );
      safeguard.set(
        number(totals.safeguardRate),
        'per minute',
        `${number(totals.safeguardTotal)} so far`,
        overview.safeguard,
      );
      plot.set([
        overview.at,
        overview.wanted,
        overview.granted,
        overview.harvested,
        overview.lent,
        overview.capacity,
      ] as (number | null)[][]);
      const entries = Object.entries(totals.phases);
      phases.replaceChildren(
        entries.length === 0
          ? h('p', { class: 'note' }, 'no agent host answers: local policies and user limits')
          : stacked(entries.map(([name, value]) => ({ name, value, tone: PHASE_TONES[name] ?? 'muted' }))),
      );
      const fact = (name: string, value: string): HTMLElement[] => [h('dt', {}, name), h('dd', {}, value)];
      facts.replaceChildren(
        ...fact('Functions', `${functions.length}`),
        ...fact('Calls per second', number(totals.callRate)),
        ...fact('Saved for callers', span(totals.savedTotal * 1000)),
        ...fact('Managers', Object.keys(totals.managers).join(', ') || '–'),
        ...fact('Hosts', `${state.hosts.length}`),
      );
      const gaining = functions.filter(({ saved }) => saved > 0).sort((a, b) => b.saved - a.saved);
      gains.replaceChildren(
        ...(gaining.length === 0
          ? [empty('nothing yet')]
          : gaining
              .slice(0, SHOWN)
              .map((row) => item('', functionLink(row.name), h('b', { class: 'good' }, span(row.saved * 1000))))),
      );
      const problems = attentionItems(state, functions);
      attention.replaceChildren(
        ...(problems.length === 0
          ? [empty('all is well')]
          : problems.slice(0, SHOWN).map(([mark, what, why]) => item(mark, what, why))),
      );
      events.replaceChildren(
        ...(state.events.length === 0
          ? [empty('none yet')]
          : state.events
              .slice(0, SHOWN)
              .map((event) =>
                item(
                  chip(event.kind, EVENT_TONES[event.kind] ?? ''),
                  event.function === null ? event.reason : functionLink(event.function),
                  h('span', { class: 'dim' }, ago(state.now - event.at)),
                ),
              )),
      );
    },
    destroy: () => plot.destroy(),
  };
}

function modeChips({ hosts }: State): HTMLElement[] {
  const chips: HTMLElement[] = [];
  const counts = new Map<string, number>();
  for (const { mode, killed } of hosts) {
    const name = killed ? 'stopped' : mode;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  for (const [mode, count] of counts) {
    const tone = mode === 'stopped' ? 'red' : mode === 'enforce' ? 'green' : mode === 'recommend' ? 'blue' : '';
    chips.push(chip(hosts.length === 1 ? `mode ${mode}` : `${mode} on ${count} of ${hosts.length} hosts`, tone));
  }
  const fast = hosts.find(({ clockRate }) => clockRate !== 1);
  if (fast !== undefined)
    chips.push(chip(`simulated, time ${times(fast.clockRate)}`, 'amber', 'rates are per second of the simulated host'));
  return chips;
}

type Item = readonly [Node | string, Node | string, Node | string];

function attentionItems({ hosts, nats, services }: State, functions: readonly FunctionRow[]): Item[] {
  const items: Item[] = [];
  if (!nats.connected) items.push([chip('NATS', 'red'), 'away: user limits and local policies stand', '']);
  for (const host of hosts) {
    if (host.killed)
      items.push([chip('stopped', 'red'), h('a', { href: '#/hosts' }, host.host), host.killedBy.join(', ')]);
    for (const text of host.tapLost) items.push([chip('tap', 'red'), h('a', { href: '#/hosts' }, host.host), text]);
    if (!host.engineAnswers)
      items.push([chip('engine', 'red'), h('a', { href: '#/hosts' }, host.host), 'does not answer']);
    if (host.alarm) items.push([chip('slower', 'red'), h('a', { href: '#/hosts' }, host.host), 'than its control arm']);
    if (host.allocatableCpu > 0 && host.wantedCpu > 1.25 * host.allocatableCpu)
      items.push([
        chip('crowded', 'amber'),
        h('a', { href: '#/contention' }, host.host),
        `${cores(host.wantedCpu)} of ${cores(host.allocatableCpu)} cores wanted`,
      ]);
  }
  for (const row of functions) {
    if (row.alarm) items.push([chip('slower', 'red'), functionLink(row.name), times(row.slowdown)]);
    else if (missesObjective(row))
      items.push([chip('objective', 'red'), functionLink(row.name), `${span(row.p99)} of ${span(row.slo)}`]);
    if (row.paused) items.push([chip('paused', 'amber'), functionLink(row.name), '']);
  }
  for (const { service, host, errors, lastError } of services)
    if (errors > 0)
      items.push([chip('errors', ''), `${service} on ${host}`, `${errors}: ${words(lastError).slice(0, 24)}`]);
  return items;
}
