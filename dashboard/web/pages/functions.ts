import type { FunctionRow } from '../../wire.js';
import { h, setText } from '../dom.js';
import { cores, memory, NONE, nameParts, number, span, times, words } from '../format.js';
import type { Page } from '../page.js';
import { functionChips, functionHref, LimitBar } from '../parts.js';
import { type Column, Table, textCell } from '../table.js';

const limitOf = (row: FunctionRow): string => (row.cpuMode === 'quota' ? cores(row.cpu) : times(weight(row)));
const weight = ({ shares, userShares }: FunctionRow): number => (userShares > 0 ? shares / userShares : 1);

const columns: readonly Column<FunctionRow>[] = [
  {
    title: 'Function',
    width: '2fr',
    spare: 0,
    sort: ({ name }) => name,
    cell: (element) => {
      const space = h('span', { class: 'ns' });
      const last = h('span');
      element.append(h('span', { class: 'name' }, space, last));
      return (row) => {
        const [before, after] = nameParts(row.name);
        setText(space, before);
        setText(last, after);
        element.title = row.name;
      };
    },
  },
  {
    title: 'State',
    width: '122px',
    spare: 6,
    cell: (element) => (row) => {
      const text = `${row.mode}${row.paused}${row.alarm}`;
      if (element.dataset.state === text) return;
      element.dataset.state = text;
      element.replaceChildren(
        ...functionChips(row)
          .slice(0, row.paused || row.alarm ? 2 : 1)
          .slice(-1),
      );
    },
  },
  {
    title: 'Calls/s',
    width: '66px',
    right: true,
    spare: 4,
    sort: ({ rate }) => rate,
    cell: textCell((row) => number(row.rate)),
  },
  {
    title: 'Running',
    width: '66px',
    right: true,
    spare: 7,
    sort: ({ running }) => running,
    cell: textCell((row) => (row.running > 0 ? String(row.running) : NONE)),
  },
  {
    title: 'CPU',
    hint: 'In force (bar) against what the user asked for (mark); cores, or the factor on its weight',
    width: '1fr',
    spare: 1,
    sort: ({ cpuMode, cpu, userCpu, shares, userShares }) =>
      cpuMode === 'quota' ? cpu / (userCpu || 1) : shares / (userShares || 1),
    cell: (element) => {
      const bar = new LimitBar();
      element.append(bar.element);
      return (row) => {
        const quota = row.cpuMode === 'quota';
        const used = quota ? row.usedCpu : null;
        const said = quota
          ? `${cores(row.cpu)} of the user’s ${cores(row.userCpu)} cores in force, ${cores(row.usedCpu)} used`
          : `weight ${number(row.shares)}, the user’s ${number(row.userShares)}`;
        bar.set(quota ? row.cpu : row.shares, quota ? row.userCpu : row.userShares, used, limitOf(row), said);
      };
    },
  },
  {
    title: 'Memory',
    hint: 'In force (bar) against what the user asked for (mark), and used (inner bar)',
    width: '1fr',
    spare: 5,
    sort: (row) => row.memory,
    cell: (element) => {
      const bar = new LimitBar();
      element.append(bar.element);
      return (row) => {
        const said = `${memory(row.memory)} of the user’s ${memory(row.userMemory)} in force, ${memory(row.usedMemory)} used`;
        bar.set(
          row.memory,
          row.userMemory,
          row.usedMemory,
          memory(row.memory).replace(' ', ' ').replace(/ MiB$/, ''),
          said,
        );
      };
    },
  },
  {
    title: 'Harvested',
    hint: 'core-seconds',
    width: '78px',
    right: true,
    spare: 3,
    sort: ({ harvested }) => harvested,
    cell: textCell(
      (row) => (row.harvested > 0 ? number(row.harvested) : NONE),
      (row) => (row.harvested > 0 ? 'good' : 'dim'),
    ),
  },
  {
    title: 'Lent',
    hint: 'core-seconds',
    width: '62px',
    right: true,
    spare: 3,
    sort: ({ lent }) => lent,
    cell: textCell(
      (row) => (row.lent > 0 ? number(row.lent) : NONE),
      (row) => (row.lent > 0 ? 'lent' : 'dim'),
    ),
  },
  {
    title: 'p99',
    hint: 'Init and run; red above the objective',
    width: '74px',
    right: true,
    spare: 2,
    sort: ({ p99 }) => p99 ?? -1,
    cell: textCell(
      (row) => span(row.p99),
      (row) => ({ learning: '', kept: 'good', missed: 'bad' })[row.objective],
    ),
  },
  {
    title: 'Objective',
    width: '74px',
    right: true,
    spare: 6,
    sort: ({ slo }) => slo ?? -1,
    cell: textCell((row) => span(row.slo)),
  },
  {
    title: 'Slowdown',
    hint: 'Mean duration against the control arm’s',
    width: '72px',
    right: true,
    spare: 7,
    sort: ({ slowdown }) => slowdown ?? -1,
    cell: textCell(
      (row) => times(row.slowdown),
      (row) => (row.alarm ? 'bad' : ''),
    ),
  },
  {
    title: 'Why',
    hint: 'Why the newest range is what it is',
    width: '126px',
    spare: 8,
    cell: textCell(
      (row) => words(row.safeguard),
      () => 'dim',
    ),
  },
];

export function functionsPage(): Page {
  const search = h('input', {
    class: 'search',
    type: 'search',
    placeholder: 'Filter by name  ( / )',
    'aria-label': 'Filter by name',
  });
  const count = h('span', { class: 'sub' });
  const table = new Table<FunctionRow>({
    columns,
    key: ({ name }) => name,
    href: ({ name }) => functionHref(name),
    sortedBy: 'Calls/s',
    empty: 'no function has been called yet',
    height: 'calc(100vh - 132px)',
  });
  const element = h(
    'div',
    {},
    h('div', { class: 'head' }, h('h1', {}, 'Functions'), count, h('span', { class: 'space' }), search),
    h('section', { class: 'card flush' }, table.element),
  );
  let rows: readonly FunctionRow[] = [];
  const show = (): void => {
    const text = search.value.trim().toLowerCase();
    const shown = text === '' ? rows : rows.filter(({ name }) => name.toLowerCase().includes(text));
    setText(count, shown.length === rows.length ? `${rows.length}` : `${shown.length} of ${rows.length}`);
    table.set(shown);
  };
  search.addEventListener('input', show);
  search.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') search.blur();
    else if (event.key === 'Enter' && table.marked === null) table.move(1);
    else if (event.key === 'ArrowDown') search.blur();
  });
  return {
    title: 'Functions',
    element,
    update(state) {
      rows = [...state.functions.values()];
      show();
    },
    key(key) {
      if (key === '/') search.focus();
      else return table.key(key);
      return true;
    },
    destroy: () => table.destroy(),
  };
}
