import type { FunctionRow } from '../../wire.js';
import { h, setClass, setText } from '../dom.js';
import {
  change,
  comparisonBasis,
  cores,
  mebibytes,
  memory,
  NONE,
  nameParts,
  number,
  span,
  times,
} from '../format.js';
import {
  comparisonTone,
  functionChips,
  functionHref,
  isStopped,
  LimitBar,
  pageHead,
  space,
} from '../parts.js';
import type { Page } from '../state.js';
import { type Column, Table, textCell } from '../table.js';

const limitOf = (row: FunctionRow): string =>
  row.cpuMode === 'quota' ? cores(row.cpu) : times(weight(row));
const weight = ({ shares, userShares }: FunctionRow): number =>
  userShares > 0 ? shares / userShares : 1;

const titledCell =
  (parts: (row: FunctionRow) => readonly [text: string, tone: string, title: string | false]) =>
  (element: HTMLElement) => {
    const inner = h('span');
    element.append(inner);
    return (row: FunctionRow): void => {
      const [text, tone, title] = parts(row);
      setText(inner, text);
      setClass(inner, tone);
      element.title = title || '';
    };
  };

const columns: readonly Column<FunctionRow>[] = [
  {
    title: 'Function',
    hint: 'Opens its page: each decision with its reasons, as in `gleaner explain`',
    width: '1.6fr',
    minWidth: 170,
    minWidthNarrow: 96,
    link: true,
    sort: ({ name }) => name,
    cell: (element) => {
      const space = h('span.ns');
      const last = h('span');
      element.append(h('span.name', space, h('wbr'), last));
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
    hint: 'Mode in force: paused and stopped mean user limits, as does observe',
    width: '122px',
    hidePriority: 7,
    cell: (element) => (row) => {
      const text = `${row.mode}${row.paused}${row.alarm}`;
      if (element.dataset.state === text) return;
      element.dataset.state = text;
      element.replaceChildren(
        ...functionChips(row)
          .slice(0, isStopped(row) || !(row.paused || row.alarm) ? 1 : 2)
          .slice(-1),
      );
    },
  },
  {
    title: 'Rate',
    unit: 'per s',
    hint: 'Activations per second',
    width: '52px',
    right: true,
    hidePriority: 4,
    sort: ({ rate }) => rate ?? -1,
    cell: textCell((row) => number(row.rate)),
  },
  {
    title: 'Running',
    hint: 'Activations now',
    width: '62px',
    right: true,
    hidePriority: 8,
    sort: ({ running }) => running,
    cell: textCell((row) => (row.running > 0 ? String(row.running) : NONE)),
  },
  {
    title: 'CPU',
    unit: 'cores, or × weight',
    hint: 'Current limit (bar) and user limit (mark), in cores; or the factor on its weight',
    width: '1fr',
    minWidth: 118,
    minWidthNarrow: 96,
    hidePriority: 1,
    sort: ({ cpuMode, cpu, userCpu, shares, userShares }) =>
      cpuMode === 'quota' ? cpu / (userCpu || 1) : shares / (userShares || 1),
    cell: (element) => {
      const bar = new LimitBar();
      element.append(bar.element);
      return (row) => {
        const quota = row.cpuMode === 'quota';
        const used = quota ? row.usedCpu : null;
        const tooltip = quota
          ? `limit ${cores(row.cpu)}, user ${cores(row.userCpu)}, used ${cores(row.usedCpu)} cores`
          : `weight ${number(row.shares)}, user ${number(row.userShares)}`;
        bar.set(
          quota ? row.cpu : row.shares,
          quota ? row.userCpu : row.userShares,
          used,
          limitOf(row),
          tooltip,
        );
      };
    },
  },
  {
    title: 'Memory',
    unit: 'MiB',
    hint: 'Current limit (bar), user limit (mark) and use (inner bar)',
    width: '1fr',
    minWidth: 118,
    hidePriority: 5,
    sort: (row) => row.memory,
    cell: (element) => {
      const bar = new LimitBar();
      element.append(bar.element);
      return (row) => {
        const user = memory(row.userMemory);
        const tooltip = `limit ${memory(row.memory)}, user ${user}, used ${memory(row.usedMemory)}`;
        bar.set(row.memory, row.userMemory, row.usedMemory, mebibytes(row.memory), tooltip);
      };
    },
  },
  {
    title: 'Harvested',
    unit: 'core-s',
    hint: 'CPU kept free below the user’s limit',
    width: '72px',
    right: true,
    hidePriority: 4,
    sort: ({ harvested }) => harvested,
    cell: textCell(
      (row) => (row.harvested > 0 ? number(row.harvested) : NONE),
      (row) => (row.harvested > 0 ? 'good' : 'dim'),
    ),
  },
  {
    title: 'Lent',
    unit: 'core-s',
    hint: 'CPU used above the user’s limit',
    width: '54px',
    right: true,
    hidePriority: 4,
    sort: ({ lent }) => lent,
    cell: textCell(
      (row) => (row.lent > 0 ? number(row.lent) : NONE),
      (row) => (row.lent > 0 ? 'lent' : 'dim'),
    ),
  },
  {
    title: 'p99',
    unit: 'warm',
    hint: 'Of warm activations since the hook’s start; red above the objective',
    width: '68px',
    right: true,
    hidePriority: 3,
    sort: ({ p99 }) => p99 ?? -1,
    cell: titledCell((row) => [
      span(row.p99),
      { learning: '', kept: 'good', missed: 'bad' }[row.objective],
      row.p99 === null &&
        `${row.learning.activations} of ${row.learning.activationsNeeded} warm activations`,
    ]),
  },
  {
    title: 'Objective',
    hint: 'Configured, or from the p99 of the control arm’s warm activations',
    width: '76px',
    right: true,
    hidePriority: 6,
    sort: ({ slo }) => slo ?? -1,
    cell: titledCell((row) => [
      row.slo === null ? 'learning' : span(row.slo),
      row.slo === null ? 'dim' : '',
      row.slo === null &&
        `${row.learning.controlSamples} of ${row.learning.controlSamplesNeeded} control samples`,
    ]),
  },
  {
    title: 'Change',
    unit: 'of response time',
    hint: 'Compared with the control arm: 95 % interval; n: activations / control samples',
    width: '1fr',
    minWidth: 184,
    minWidthNarrow: 112,
    right: true,
    hidePriority: 2,
    sort: ({ comparison }) => comparison.ratio ?? 1,
    cell: (element) => {
      const value = h('b');
      const basis = h('small');
      element.append(h('span.two-lines', value, basis));
      return (row) => {
        setText(value, change(row.comparison.ratio));
        setClass(value, comparisonTone(row.comparison));
        setText(basis, comparisonBasis(row.comparison));
      };
    },
  },
  {
    title: 'Why',
    hint: 'Reason of the newest allowed range',
    width: '1.2fr',
    minWidth: 190,
    hidePriority: 9,
    cell: textCell(
      (row) => row.safeguard,
      () => 'dim',
    ),
  },
];

export function functionsPage(): Page {
  const search = h('input.search', {
    type: 'search',
    placeholder: 'Filter by name  ( / )',
    'aria-label': 'Filter by name',
  });
  const count = h('span.sub');
  /** Read out after each change of the filter; the count itself changes with every new function. */
  const found = h('span.unseen', { role: 'status' });
  const table = new Table<FunctionRow>({
    label: 'Functions',
    columns,
    key: ({ name }) => name,
    href: ({ name }) => functionHref(name),
    sortedBy: 'Rate',
    empty: 'no activation has been seen yet',
    height: 'calc(100vh - 132px)',
  });
  const element = h(
    'div',
    pageHead('Functions', count, found, space(), search),
    h('section.card.flush', table.element),
  );
  let rows: readonly FunctionRow[] = [];
  const show = (): void => {
    const text = search.value.trim().toLowerCase();
    const shown = text === '' ? rows : rows.filter(({ name }) => name.toLowerCase().includes(text));
    setText(
      count,
      shown.length === rows.length ? `${rows.length}` : `${shown.length} of ${rows.length}`,
    );
    table.set(shown, rows.length > 0 ? `no function matches “${search.value.trim()}”` : undefined);
  };
  search.addEventListener('input', () => {
    show();
    setText(found, `${count.textContent} functions`);
  });
  search.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') search.blur();
    else if (event.key === 'Enter' || event.key === 'ArrowDown') table.move(1);
    else return;
    event.preventDefault();
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
