import { button, focusPage, h, setAttribute, setOrder, setStyle, setText } from './dom.js';

export interface Column<Row> {
  readonly title: string;
  /** Below the title: the unit of all cells. */
  readonly unit?: string;
  readonly hint?: string;
  /** CSS width: `1fr`, `90px`. */
  readonly width: string;
  /** Least px of a width in `fr`, and the same on a narrow screen. */
  readonly minWidth?: number;
  readonly minWidthNarrow?: number;
  /** True: on narrow screens only; false: on wide screens only; otherwise on both. */
  readonly narrow?: boolean;
  readonly right?: boolean;
  /** Columns with the highest value are hidden first for lack of width; absent: never hidden. */
  readonly hidePriority?: number;
  /** Its cells hold the row's link. */
  readonly link?: boolean;
  /** Sort key. */
  readonly sort?: (row: Row) => number | string;
  /** Builds the cell once; the returned function fills it for a row. */
  readonly cell: (element: HTMLElement) => (row: Row) => void;
}

export interface TableOptions<Row> {
  /** For those who do not see what it shows. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly key: (row: Row) => string;
  /** Null: no page of its own. */
  readonly href: (row: Row) => string | null;
  readonly sortedBy: string;
  readonly empty: string;
  /** CSS height; the body scrolls inside. */
  readonly height: string;
}

/** Height of a row, px: two lines, and three on a narrow screen. */
const ROW = 42;
const NARROW_ROW = 64;
const OVERSCAN_ROWS = 6;
/** A table is narrow below this width, px. */
const NARROW = 560;
const GAP = 12;

interface RowSlot<Row> {
  readonly element: HTMLElement;
  readonly link: HTMLAnchorElement;
  readonly fill: readonly ((row: Row) => void)[];
  row: Row | null;
  index: number;
}

export const textCell =
  <Row>(text: (row: Row) => string, tone?: (row: Row) => string) =>
  (element: HTMLElement) => {
    const inner = h('span');
    element.append(inner);
    return (row: Row): void => {
      setText(inner, text(row));
      const name = tone?.(row) ?? '';
      if (inner.className !== name) inner.className = name;
    };
  };

function minColumnWidth<Row>(
  { width, minWidth = 100, minWidthNarrow = minWidth }: Column<Row>,
  narrow: boolean,
): number {
  if (width.endsWith('px')) return Number.parseInt(width, 10);
  return narrow ? minWidthNarrow : minWidth;
}

/**
 * A table of any length. Only visible rows have elements, and only changes are written. The element
 * of a row stays its own as long as it is visible or has the focus.
 */
export class Table<Row> {
  readonly element: HTMLElement;
  readonly #options: TableOptions<Row>;
  readonly #body: HTMLElement;
  readonly #head: HTMLElement;
  readonly #empty: HTMLElement;
  readonly #observer: ResizeObserver;
  #columns: readonly Column<Row>[];
  /** By the row's key, in their order. */
  #slots = new Map<string, RowSlot<Row>>();
  #rows: readonly Row[] = [];
  #sorted: readonly Row[] = [];
  #sort: string;
  #down = true;
  #row = ROW;
  #rest: string;

  constructor(options: TableOptions<Row>) {
    this.#options = options;
    this.#columns = options.columns.filter(({ narrow }) => narrow !== true);
    this.#rest = options.empty;
    this.#sort = options.sortedBy;
    this.#down = this.#sortsDown(options.sortedBy);
    this.#head = h('div', { role: 'row', class: 't-head' });
    this.#body = h('div.t-body', { role: 'rowgroup' });
    this.#empty = h('div.empty', options.empty);
    this.element = h(
      'div.table',
      { role: 'table', 'aria-label': options.label },
      this.#head,
      this.#body,
      this.#empty,
    );
    setStyle(this.element, 'max-height', options.height);
    this.element.addEventListener('scroll', () => this.#draw(), { passive: true });
    this.#observer = new ResizeObserver(() => this.#fit());
    this.#observer.observe(this.element);
    this.#build();
  }

  /** `empty`: text shown if there are no rows. */
  set(rows: readonly Row[], empty = this.#options.empty): void {
    this.#rows = rows;
    if (this.#rest !== empty) {
      this.#rest = empty;
      setText(this.#empty, empty);
    }
    this.#order();
  }

  /** Moves the focus to another row's link, from the first visible row if none has it. */
  move(by: number): void {
    const count = this.#sorted.length;
    if (count === 0) return;
    const from = this.#focused()?.index ?? Math.ceil(this.element.scrollTop / this.#row) - by;
    const to = Math.min(count - 1, Math.max(0, from + by));
    const top = to * this.#row;
    const { scrollTop, clientHeight } = this.element;
    if (top < scrollTop) this.element.scrollTop = top;
    else if (top + 3 * this.#row > scrollTop + clientHeight)
      this.element.scrollTop = top + 3 * this.#row - clientHeight;
    this.#draw();
    this.#slots.get(this.#options.key(this.#sorted[to]!))?.link.focus({ preventScroll: true });
  }

  /** Handles keys that work in every table; returns false for others. */
  key(key: string): boolean {
    if (key === 'j' || key === 'ArrowDown') this.move(1);
    else if (key === 'k' || key === 'ArrowUp') this.move(-1);
    else return false;
    return true;
  }

  #focused(): RowSlot<Row> | undefined {
    const active = document.activeElement;
    return [...this.#slots.values()].find(({ element }) => element.contains(active));
  }

  destroy(): void {
    this.#observer.disconnect();
  }

  #sortsDown(title: string): boolean {
    const column = this.#options.columns.find((one) => one.title === title);
    return column?.right === true;
  }

  /** Hides columns until the others fit. */
  #fit(): void {
    const width = this.element.clientWidth - 32;
    if (width <= 0) return;
    const isNarrow = width < NARROW;
    const columns = this.#options.columns.filter(
      ({ narrow }) => narrow === undefined || narrow === isNarrow,
    );
    const need = (kept: readonly Column<Row>[]): number =>
      kept.reduce((sum, column) => sum + minColumnWidth(column, isNarrow) + GAP, -GAP);
    let kept: readonly Column<Row>[] = columns;
    while (need(kept) > width) {
      const most = Math.max(...kept.map(({ hidePriority = 0 }) => hidePriority));
      if (most === 0) break;
      kept = kept.filter(({ hidePriority = 0 }) => hidePriority < most);
    }
    const row = isNarrow ? NARROW_ROW : ROW;
    if (
      row !== this.#row ||
      kept.some((column, i) => column !== this.#columns[i]) ||
      kept.length !== this.#columns.length
    ) {
      this.#columns = kept;
      this.#row = row;
      this.element.classList.toggle('narrow', isNarrow);
      setStyle(this.element, '--row', `${row}px`);
      this.#build();
    }
    this.#draw();
  }

  #build(): void {
    setStyle(
      this.element,
      '--columns',
      this.#columns
        .map((column) =>
          column.width.endsWith('fr')
            ? `minmax(${minColumnWidth(column, this.#row === NARROW_ROW)}px, ${column.width})`
            : column.width,
        )
        .join(' '),
    );
    this.#head.replaceChildren(
      ...this.#columns.map((column) => {
        const cell = h('span', {
          role: 'columnheader',
          class: column.right ? 'right' : null,
          title: column.hint ?? null,
        });
        const unit = column.unit === undefined ? null : h('small', column.unit);
        if (column.sort === undefined) cell.append(column.title);
        else {
          const sort = button(column.title, {}, () => {
            this.#down = this.#sort === column.title ? !this.#down : this.#sortsDown(column.title);
            this.#sort = column.title;
            this.#markSort();
            this.#order();
          });
          cell.append(sort);
        }
        if (unit !== null) cell.append(unit);
        return cell;
      }),
    );
    this.#markSort();
    const focused = this.#focused();
    this.#body.replaceChildren();
    this.#slots.clear();
    this.#draw();
    // Other columns, such as after a turn of the screen.
    if (focused?.row != null) this.#slots.get(this.#options.key(focused.row))?.link.focus();
  }

  #markSort(): void {
    for (const [i, cell] of [...this.#head.children].entries()) {
      if (this.#columns[i]?.title === this.#sort)
        cell.setAttribute('aria-sort', this.#down ? 'descending' : 'ascending');
      else cell.removeAttribute('aria-sort');
    }
  }

  #order(): void {
    const by = this.#options.columns.find(({ title }) => title === this.#sort)?.sort;
    const sign = this.#down ? -1 : 1;
    const { key } = this.#options;
    this.#sorted =
      by === undefined
        ? this.#rows
        : [...this.#rows].sort((a, b) => {
            const [left, right] = [by(a), by(b)];
            const order = left < right ? -1 : left > right ? 1 : 0;
            return order * sign || (key(a) < key(b) ? -1 : 1);
          });
    this.#draw();
  }

  #draw(): void {
    const { key, href } = this.#options;
    const count = this.#sorted.length;
    this.#empty.hidden = count > 0;
    const height = this.#row;
    setStyle(this.#body, 'height', `${count * height}px`);
    setAttribute(this.element, 'aria-rowcount', String(count + 1));
    const first = Math.max(0, Math.floor(this.element.scrollTop / height) - OVERSCAN_ROWS);
    const seen = Math.ceil((this.element.clientHeight || 600) / height) + 2 * OVERSCAN_ROWS;
    const last = Math.min(count, first + seen);
    const shown = new Map<string, number>();
    for (let index = first; index < last; index++) shown.set(key(this.#sorted[index]!), index);
    const focused = this.#focused()?.row;
    if (focused != null && !shown.has(key(focused))) {
      const index = this.#sorted.findIndex((row) => key(row) === key(focused));
      if (index >= 0) shown.set(key(focused), index);
      else focusPage();
    }
    const free: RowSlot<Row>[] = [];
    for (const [name, slot] of this.#slots) if (!shown.has(name)) free.push(slot);
    const slots = new Map<string, RowSlot<Row>>();
    for (const [name, index] of [...shown].sort(([, a], [, b]) => a - b)) {
      const slot = this.#slots.get(name) ?? free.pop() ?? this.#makeSlot();
      slots.set(name, slot);
      if (slot.index !== index) {
        setStyle(slot.element, 'transform', `translateY(${index * height}px)`);
        setAttribute(slot.element, 'aria-rowindex', String(index + 2));
        slot.index = index;
      }
      const row = this.#sorted[index]!;
      if (slot.row === row) continue;
      slot.row = row;
      const to = href(row);
      setAttribute(slot.link, 'href', to);
      // Without an address only the keys that go down and up reach it.
      setAttribute(slot.link, 'tabindex', to === null ? '-1' : null);
      for (const fill of slot.fill) fill(row);
    }
    for (const { element } of free) element.remove();
    this.#slots = slots;
    setOrder(
      this.#body,
      [...slots.values()].map(({ element }) => element),
    );
  }

  #makeSlot(): RowSlot<Row> {
    const link = h('a');
    const element = h('div', { role: 'row' });
    const fill = this.#columns.map((column) => {
      const cell = h('span', { role: 'cell', class: column.right ? 'right' : null });
      element.append(cell);
      if (!column.link) return column.cell(cell);
      cell.append(link);
      return column.cell(link);
    });
    // The whole row opens its page. The cells keep their titles and can be selected.
    element.addEventListener('click', (event) => {
      if (getSelection()?.type !== 'Range' && !link.contains(event.target as Node))
        link.dispatchEvent(new MouseEvent('click', event));
    });
    return { element, link, fill, row: null, index: -1 };
  }
}
