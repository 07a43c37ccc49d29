import type { EventRow } from '../../wire.js';
import { button, h, setChildren, setText } from '../dom.js';
import { clock, cores, instant, memory, NONE, number } from '../format.js';
import { chip, EVENT_TONES, functionHref, pageHead, space } from '../parts.js';
import type { Page, State } from '../state.js';
import { type Column, Table, textCell } from '../table.js';

const amount = (row: EventRow, value: number | null): string =>
  value === null
    ? ''
    : row.resource === 'cpu'
      ? cores(value)
      : row.resource === 'memory'
        ? memory(value)
        : number(value);

/** Old and new limit; only the new one if both read the same. */
function changed(row: EventRow): string {
  const [before, after] = [amount(row, row.before), amount(row, row.after)];
  const unit = row.resource !== 'cpu' || after === '' ? '' : after === '1' ? ' core' : ' cores';
  if (after === '' && before === '') return '';
  return before === after || before === '' ? `${after}${unit}` : `${before} → ${after}${unit}`;
}

const columns: readonly Column<EventRow>[] = [
  {
    title: 'Time',
    width: '76px',
    narrow: false,
    cell: (element) => {
      const time = h('span.dim');
      element.append(time);
      return ({ at }) => {
        setText(time, clock(at));
        element.title = instant(at);
      };
    },
  },
  {
    title: 'Kind',
    width: '92px',
    narrow: false,
    cell: (element) => (row) => setChildren(element, chip(row.kind, EVENT_TONES[row.kind] ?? '')),
  },
  {
    title: 'Time and kind',
    width: '88px',
    narrow: true,
    cell: (element) => {
      const time = h('small');
      const kind = h('span');
      element.append(h('span.two-lines', time, kind));
      return (row) => {
        setText(time, clock(row.at));
        time.title = instant(row.at);
        setChildren(kind, chip(row.kind, EVENT_TONES[row.kind] ?? ''));
      };
    },
  },
  {
    title: 'Function',
    width: '1.3fr',
    minWidth: 170,
    minWidthNarrow: 120,
    narrow: false,
    link: true,
    cell: textCell(
      (row) => row.function ?? NONE,
      (row) => (row.function === null ? 'dim' : 'name'),
    ),
  },
  {
    title: 'Function and reason',
    width: '1fr',
    minWidthNarrow: 120,
    narrow: true,
    link: true,
    cell: (element) => {
      const name = h('b.name');
      const why = h('small');
      element.append(h('span.two-lines', name, why));
      return (row) => {
        setText(name, row.function === null ? row.host : row.function);
        setText(why, [row.reason, changed(row)].filter(Boolean).join(', '));
        element.title = `${row.function ?? row.host}: ${row.reason}`;
      };
    },
  },
  {
    title: 'Host',
    width: '110px',
    narrow: false,
    hidePriority: 3,
    cell: textCell(({ host }) => host),
  },
  {
    title: 'What',
    width: '70px',
    narrow: false,
    hidePriority: 2,
    cell: textCell(({ resource }) => resource ?? ''),
  },
  { title: 'Change', width: '150px', narrow: false, hidePriority: 1, cell: textCell(changed) },
  {
    title: 'Reason',
    width: '1.2fr',
    minWidth: 190,
    narrow: false,
    cell: textCell(({ reason }) => reason),
  },
];

export function eventsPage(): Page {
  const off = new Set<string>();
  const search = h('input.search', {
    type: 'search',
    placeholder: 'Filter  ( / )',
    'aria-label': 'Filter by function or reason',
  });
  const table = new Table<EventRow>({
    columns,
    label: 'Events, newest first',
    key: ({ id }) => String(id),
    href: (row) => (row.function === null ? null : functionHref(row.function)),
    sortedBy: '',
    empty: 'no event yet',
    height: 'calc(100vh - 178px)',
  });
  const chips = h('div.chips');
  let rows: readonly EventRow[] = [];
  let held = false;
  const show = (): void => {
    const text = search.value.trim().toLowerCase();
    table.set(
      rows.filter(
        (row) =>
          !off.has(row.kind) &&
          (text === '' ||
            `${row.function ?? ''} ${row.reason} ${row.host}`.toLowerCase().includes(text)),
      ),
      rows.length > 0 ? 'no event matches' : undefined,
    );
  };
  for (const [kind, tone] of Object.entries(EVENT_TONES)) {
    const filter = button(
      kind,
      { class: tone ? `chip tone-${tone}` : 'chip', 'aria-pressed': 'true' },
      () => {
        if (!off.delete(kind)) off.add(kind);
        filter.setAttribute('aria-pressed', String(!off.has(kind)));
        show();
      },
    );
    chips.append(filter);
  }
  const toggle = (): void => {
    held = !held;
    hold.textContent = held ? 'Resume' : 'Hold';
  };
  const hold = button('Hold', { title: 'Stop updating the list (space)' }, toggle);
  search.addEventListener('input', show);
  const element = h(
    'div',
    pageHead('Events', space(), hold, search),
    h('div.head', chips),
    h('section.card.flush', table.element),
  );
  return {
    title: 'Events',
    element,
    update(state: State) {
      if (held || rows === state.events) return;
      rows = state.events;
      show();
    },
    key(key) {
      if (key === '/') search.focus();
      else if (key === ' ') toggle();
      else return table.key(key);
      return true;
    },
    destroy: () => table.destroy(),
  };
}
