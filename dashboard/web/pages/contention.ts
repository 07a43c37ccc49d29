import type { FunctionRow, Waiting } from '../../wire.js';
import { h, setStyle } from '../dom.js';
import { cores, NONE, nameParts, percent, span, times } from '../format.js';
import type { Page } from '../page.js';
import { card, chip, functionLink } from '../parts.js';
import type { State } from '../state.js';

const LEAST_SHOWN = 0.5;
const FULL_SHARE = 0.25;

export function contentionPage(): Page {
  const select = h('select', { 'aria-label': 'Host' });
  const matrix = h('div', { class: 'scroll' });
  const payers = h('tbody');
  const summary = h('div', { class: 'chips' });
  const head = (titles: readonly (readonly [string, string])[]): HTMLElement =>
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        ...titles.map(([title, hint], i) => h('th', { class: i > 0 ? 'right' : null, title: hint || null }, title)),
      ),
    );
  const element = h(
    'div',
    {},
    h('div', { class: 'head' }, h('h1', {}, 'Contention'), summary, h('span', { class: 'space' }), select),
    h(
      'div',
      { class: 'grid' },
      card(
        'w6',
        'Who waits for whom',
        'the last minute, ms: the row waited while the column ran',
        matrix,
        h(
          'p',
          { class: 'note' },
          'The kernel tells how long a function waited for a core, not for whom. Its wait is charged to those that ran meanwhile, by the CPU each used: an estimate. The stronger the colour, the more of its time.',
        ),
      ),
      h(
        'section',
        { class: 'card flush w6' },
        h('h2', {}, 'Who pays', h('small', {}, 'and who goes first')),
        h(
          'div',
          { class: 'scroll' },
          h(
            'table',
            { class: 'plain' },
            head([
              ['Function', ''],
              ['Weight', 'its containers’ weight against their own'],
              ['Waited', 'for a core, share of its time'],
              ['Held back', 'by its own quota'],
              ['Ran', 'CPU time'],
              ['Slowdown', 'against its control arm'],
            ]),
            payers,
          ),
        ),
      ),
    ),
  );
  let chosen = '';
  let shown = '';
  let latest: State | null = null;
  select.addEventListener('change', () => {
    chosen = select.value;
    shown = '';
    if (latest !== null) update(latest);
  });

  function update(state: State): void {
    latest = state;
    const names = state.waiting.map(({ host }) => host);
    if (!names.includes(chosen)) chosen = names[0] ?? '';
    if (select.childElementCount !== names.length)
      select.replaceChildren(...names.map((name) => h('option', { value: name, selected: name === chosen }, name)));
    select.hidden = names.length < 2;
    const waiting = state.waiting.find(({ host }) => host === chosen);
    const host = state.hosts.find((one) => one.host === chosen);
    summary.replaceChildren(
      ...(host === undefined
        ? []
        : [
            chip(
              `${cores(host.wantedCpu)} of ${cores(host.allocatableCpu)} cores wanted`,
              host.wantedCpu > host.allocatableCpu ? 'amber' : 'green',
            ),
            chip(`${host.running} running`),
          ]),
    );
    const text = JSON.stringify(waiting ?? null);
    if (text === shown) return;
    shown = text;
    const none = waiting === undefined || waiting.names.length === 0;
    matrix.replaceChildren(none ? h('div', { class: 'empty' }, 'nothing ran in the last minute') : matrixOf(waiting));
    payers.replaceChildren(
      ...(none ? [] : waiting.names.map((name, i) => payerRow(name, i, waiting, state.functions.get(name)))),
    );
  }
  return { title: 'Contention', element, update, destroy: () => undefined };
}

function matrixOf(waiting: Waiting): HTMLElement {
  const waiters = waiting.names.flatMap((name, i) => (waiting.waited[i]! > LEAST_SHOWN ? [{ name, i }] : []));
  if (waiters.length === 0) return h('div', { class: 'empty' }, 'nobody waits: there are cores for everybody who runs');
  const runners = waiting.names.flatMap((name, j) => (waiting.ran[j]! > LEAST_SHOWN ? [{ name, j }] : []));
  const label = (name: string): HTMLElement => h('span', { title: name }, nameParts(name)[1]);
  return h(
    'table',
    { class: 'matrix' },
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        h('th', {}, h('span', { class: 'dim' }, 'ran →')),
        ...runners.map(({ name }) => h('th', {}, label(name))),
      ),
    ),
    h(
      'tbody',
      {},
      ...waiters.map(({ name, i }) =>
        h(
          'tr',
          {},
          h('th', {}, functionLink(name)),
          ...runners.map(({ name: runner, j }) => {
            const value = waiting.matrix[i]![j]!;
            // Coloured by the share of its time: a quarter of it spent waiting for one other is as bad as it gets.
            const own = waiting.waited[i]! + waiting.ran[i]!;
            const share = own > 0 ? Math.min(1, value / own / FULL_SHARE) : 0;
            const said = `${name} waited ${span(value)} while ${runner} ran`;
            const cell = h(
              'td',
              { class: i === j && value === 0 ? 'self' : share > 0.6 ? 'strong' : null, title: said },
              i === j && value === 0 ? '·' : value > LEAST_SHOWN ? short(value) : '',
            );
            setStyle(cell, '--share', share.toFixed(3));
            return cell;
          }),
        ),
      ),
    ),
  );
}

const short = (millis: number): string => (millis < 1000 ? `${Math.round(millis)}` : `${(millis / 1000).toFixed(1)}s`);

function payerRow(name: string, i: number, waiting: Waiting, row: FunctionRow | undefined): HTMLElement {
  const waited = waiting.waited[i]!;
  const ran = waiting.ran[i]!;
  const throttled = waiting.throttled[i]!;
  const all = waited + ran;
  const factor = row === undefined || row.userShares === 0 ? null : row.shares / row.userShares;
  return h(
    'tr',
    {},
    h('td', {}, functionLink(name)),
    h(
      'td',
      { class: `right ${factor === null || Math.abs(factor - 1) < 0.01 ? 'dim' : factor > 1 ? 'lent' : 'warn'}` },
      row?.cpuMode === 'quota' ? 'quota' : times(factor),
    ),
    h('td', { class: 'right', title: span(waited) }, all > 0 ? percent(waited / all) : NONE),
    h('td', { class: 'right' }, throttled > 0 ? span(throttled) : NONE),
    h('td', { class: 'right' }, span(ran)),
    h('td', { class: `right ${row?.alarm ? 'bad' : ''}` }, times(row?.slowdown)),
  );
}
