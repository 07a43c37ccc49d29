import type { ContentionView, FunctionRow } from '../../wire.js';
import { h, setChildren, setStyle } from '../dom.js';
import { cores, NONE, nameParts, percent, span, times } from '../format.js';
import {
  card,
  chip,
  comparisonMark,
  emptyNote,
  functionLink,
  PlainTable,
  pageHead,
  space,
  tableCard,
  td,
} from '../parts.js';
import type { Page, State } from '../state.js';

const SHOWN_MIN = 0.5;
const FULL_SHARE = 0.25;
/** Least share of a function's wait that is named, and what is said if none is. */
const NAMED_SHARE = 0.05;
const FOR_MANY = `for many functions, each less than ${percent(NAMED_SHARE)}`;

export function contentionPage(): Page {
  const select = h('select', { 'aria-label': 'Host' });
  const matrix = h('div.scroll');
  const functions = new PlainTable(
    [
      { title: 'Function' },
      {
        title: 'Weight',
        unit: '× its own',
        hint: 'its containers’ weight against their own',
        right: true,
      },
      { title: 'Waited', unit: '% of its time', hint: 'runnable without a CPU', right: true },
      { title: 'Throttled', hint: 'by its own quota', right: true },
      { title: 'Ran', unit: 'CPU time', right: true },
      {
        title: 'Change',
        unit: 'of response time',
        hint: 'compared with the control arm, with 95 % interval',
        right: true,
      },
    ],
    'nothing ran in the last minute',
  );
  const summary = h('div.chips');
  const element = h(
    'div',
    pageHead('Contention', summary, space(), select),
    h(
      'div.grid',
      card(
        '',
        'Which function waits for which',
        'last minute, ms: the row waited while the column ran',
        matrix,
        h(
          'p.note',
          'The kernel measures how long a function waited for a CPU, not for which other ' +
            'function. Its wait is attributed to the functions that ran meanwhile, in proportion ' +
            'to their CPU time: an estimate. A stronger color is a larger share of its time.',
        ),
      ),
      tableCard('', 'Functions', 'that waited or ran in the last minute', functions),
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
    setChildren(select, ...names.map((name) => h('option', { 'data-key': name }, name)));
    if (select.value !== chosen) select.value = chosen;
    select.hidden = names.length < 2;
    const waiting = state.waiting.find(({ host }) => host === chosen);
    const host = state.hosts.find((one) => one.host === chosen);
    setChildren(
      summary,
      ...(host === undefined
        ? []
        : [
            host.waitShare === null
              ? chip(
                  'CPU wait is not measured here',
                  '',
                  'the kernel does not measure it, or nothing ran in the last minute',
                )
              : chip(
                  `${percent(host.waitShare, 1)} of the time waiting for a CPU`,
                  host.isContended ? 'amber' : 'green',
                  'run-queue wait / (wait + CPU time) of all activations in the last minute',
                ),
            chip(
              [
                `${cores(host.usedCpu)} used, ${cores(host.grantedCpu)} granted`,
                `of ${cores(host.allocatableCpu)} cores`,
              ].join(' '),
            ),
            chip(`${host.running} running`),
          ]),
    );
    const text = JSON.stringify(waiting ?? null);
    if (text === shown) return;
    shown = text;
    const none = waiting === undefined || waiting.names.length === 0;
    setChildren(matrix, none ? emptyNote('nothing ran in the last minute') : matrixOf(waiting));
    functions.set(
      none
        ? []
        : waiting.names.map((name, i) => ({
            key: name,
            cells: cellsOf(name, i, waiting, state.functions.get(name)),
          })),
    );
  }
  return { title: 'Contention', element, update };
}

function matrixOf(waiting: ContentionView): HTMLElement {
  const waiters = waiting.names.flatMap((name, i) =>
    waiting.waited[i]! > SHOWN_MIN ? [{ name, i }] : [],
  );
  if (waiters.length === 0) return emptyNote('no function waited for a CPU');
  const runners = waiting.names.flatMap((name, j) =>
    waiting.ran[j]! > SHOWN_MIN ? [{ name, j }] : [],
  );
  const label = (name: string): HTMLElement => h('span', { title: name }, nameParts(name)[1]);
  const table = h(
    'table.matrix',
    h('caption.unseen', 'Which function waits for which'),
    h(
      'thead',
      h(
        'tr',
        h('th', h('span.dim', 'ran →')),
        ...runners.map(({ name }) => h('th', { scope: 'col', 'data-key': name }, label(name))),
      ),
    ),
    h(
      'tbody',
      ...waiters.map(({ name, i }) =>
        h(
          'tr',
          { 'data-key': name },
          h('th', { scope: 'row' }, functionLink(name)),
          ...runners.map(({ name: runner, j }) => {
            const value = waiting.matrix[i]![j]!;
            // Full color: a quarter of its time spent waiting for this one function.
            const own = waiting.waited[i]! + waiting.ran[i]!;
            const share = own > 0 ? Math.min(1, value / own / FULL_SHARE) : 0;
            const tooltip = `${name} waited ${span(value)} while ${runner} ran`;
            const cell = h(
              'td',
              {
                class: i === j && value === 0 ? 'self' : null,
                'data-key': runner,
                title: tooltip,
              },
              i === j && value === 0 ? '·' : value > SHOWN_MIN ? short(value) : '',
            );
            setStyle(cell, '--share', share.toFixed(3));
            return cell;
          }),
        ),
      ),
    ),
  );
  return h(
    'div',
    table,
    h('ul.list.matrix-list', ...waiters.map(({ name, i }) => waiterLine(name, i, waiting))),
  );
}

/** Replaces the matrix on a narrow screen: the functions that one function waited for most. */
function waiterLine(name: string, i: number, waiting: ContentionView): HTMLElement {
  const most = waiting.names
    .map((runner, j) => ({ runner, share: waiting.matrix[i]![j]! / waiting.waited[i]! }))
    .filter(({ share }) => share >= NAMED_SHARE)
    .sort((a, b) => b.share - a.share)
    .slice(0, 3)
    .map(({ runner, share }) => `${nameParts(runner)[1]} ${percent(share)}`);
  return h(
    'li',
    { 'data-key': name },
    h(
      'span.grow',
      functionLink(name),
      h('small.block', most.length > 0 ? `for ${most.join(', ')}` : FOR_MANY),
    ),
    h('span', span(waiting.waited[i]!)),
  );
}

const short = (millis: number): string =>
  millis < 1000 ? `${Math.round(millis)}` : `${(millis / 1000).toFixed(1)}s`;

function cellsOf(
  name: string,
  i: number,
  waiting: ContentionView,
  row: FunctionRow | undefined,
): HTMLElement[] {
  const waited = waiting.waited[i]!;
  const ran = waiting.ran[i]!;
  const throttled = waiting.throttled[i]!;
  const all = waited + ran;
  const quota = row?.cpuMode === 'quota';
  const factor = row === undefined || row.userShares === 0 ? null : row.shares / row.userShares;
  return [
    td(functionLink(name)),
    td(
      quota ? 'quota' : times(factor),
      quota || factor === null || Math.abs(factor - 1) < 0.01
        ? 'dim'
        : factor > 1
          ? 'lent'
          : 'warn',
    ),
    td(all > 0 ? percent(waited / all, 1) : NONE, '', span(waited)),
    td(throttled > 0 ? span(throttled) : NONE),
    td(span(ran)),
    td(row === undefined ? NONE : comparisonMark(row.comparison)),
  ];
}
