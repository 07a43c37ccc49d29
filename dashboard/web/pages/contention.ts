import type { ContentionView, FunctionRow, HostRow } from '../../wire.js';
import { h, setChildren, setStyle } from '../dom.js';
import { cores, NONE, nameParts, percent, span, times } from '../format.js';
import {
  card,
  chip,
  comparisonMark,
  emptyNote,
  functionLink,
  type Heading,
  type PlainRow,
  PlainTable,
  pageHead,
  space,
  tableCard,
  td,
} from '../parts.js';
import type { Page, State } from '../state.js';

const SHOWN_MIN = 0.5;
const FULL_SHARE = 0.25;
/** Least share of a function's wait that is named, and the text if none is. */
const NAMED_SHARE = 0.05;
const FOR_MANY = `for many functions, each less than ${percent(NAMED_SHARE)}`;

const NOTHING_RAN = 'nothing ran in the last minute';
const COLUMNS: readonly Heading[] = [
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
];

export function contentionPage(): Page {
  const select = h('select', { 'aria-label': 'Host' });
  const summary = h('div.chips');
  const matrix = h('div.scroll');
  const functions = new PlainTable(COLUMNS, NOTHING_RAN);
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
    chosen = offerHosts(select, state.waiting, chosen);
    const waiting = state.waiting.find(({ host }) => host === chosen);
    const host = state.hosts.find((one) => one.host === chosen);
    setChildren(summary, ...(host === undefined ? [] : hostChips(host)));
    const text = JSON.stringify(waiting ?? null);
    if (text === shown) return;
    shown = text;
    const none = waiting === undefined || waiting.names.length === 0;
    setChildren(matrix, none ? emptyNote(NOTHING_RAN) : matrixOf(waiting));
    functions.set(none ? [] : functionRows(waiting, state.functions));
  }
  return { title: 'Contention', element, update };
}

/** Offers the hosts, if there are several. Returns the host to show: `chosen` if it is known. */
function offerHosts(
  select: HTMLSelectElement,
  waiting: readonly ContentionView[],
  chosen: string,
): string {
  const names = waiting.map(({ host }) => host);
  const shown = names.includes(chosen) ? chosen : (names[0] ?? '');
  setChildren(select, ...names.map((name) => h('option', { 'data-key': name }, name)));
  if (select.value !== shown) select.value = shown;
  select.hidden = names.length < 2;
  return shown;
}

function hostChips(host: HostRow): HTMLElement[] {
  const wait =
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
        );
  const amounts =
    `${cores(host.usedCpu)} used, ${cores(host.grantedCpu)} granted ` +
    `of ${cores(host.allocatableCpu)} cores`;
  return [wait, chip(amounts), chip(`${host.running} running`)];
}

/** A function of the matrix, and its place in the view. */
interface Entry {
  readonly name: string;
  readonly at: number;
}

function matrixOf(waiting: ContentionView): HTMLElement {
  const above = (millis: readonly number[]): Entry[] =>
    waiting.names.flatMap((name, at) => (millis[at]! > SHOWN_MIN ? [{ name, at }] : []));
  const waiters = above(waiting.waited);
  if (waiters.length === 0) return emptyNote('no function waited for a CPU');
  const runners = above(waiting.ran);
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
      ...waiters.map((waiter) =>
        h(
          'tr',
          { 'data-key': waiter.name },
          h('th', { scope: 'row' }, functionLink(waiter.name)),
          ...runners.map((runner) => matrixCell(waiting, waiter, runner)),
        ),
      ),
    ),
  );
  return h(
    'div',
    table,
    h('ul.list.matrix-list', ...waiters.map(({ name, at }) => waiterLine(name, at, waiting))),
  );
}

function matrixCell(waiting: ContentionView, waiter: Entry, runner: Entry): HTMLElement {
  const value = waiting.matrix[waiter.at]![runner.at]!;
  // Full color: a quarter of its time spent waiting for this one function.
  const own = waiting.waited[waiter.at]! + waiting.ran[waiter.at]!;
  const share = own > 0 ? Math.min(1, value / own / FULL_SHARE) : 0;
  const isSelf = waiter.at === runner.at && value === 0;
  const cell = h(
    'td',
    {
      class: isSelf ? 'self' : null,
      'data-key': runner.name,
      title: `${waiter.name} waited ${span(value)} while ${runner.name} ran`,
    },
    isSelf ? '·' : value > SHOWN_MIN ? short(value) : '',
  );
  setStyle(cell, '--share', share.toFixed(3));
  return cell;
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

const functionRows = (
  waiting: ContentionView,
  functions: ReadonlyMap<string, FunctionRow>,
): PlainRow[] =>
  waiting.names.map((name, i) => ({
    key: name,
    cells: cellsOf(name, i, waiting, functions.get(name)),
  }));

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
