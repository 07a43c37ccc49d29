import { button, h, setStyle, setText } from './dom.js';

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
  /** Sort key. */
  readonly sort?: (row: Row) => number | string;
  /** Builds the cell once; the returned function fills it for a row. */
  readonly cell: (element: HTMLElement) => (row: Row) => void;
}

export interface TableOptions<Row> {
  readonly columns: readonly Column<Row>[];
  readonly key: (row: Row) => string;
  readonly href?: (row: Row) => string;
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
  readonly fill: readonly ((row: Row) => void)[];
  row: Row | null;
  top: number;
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

/** A table of any length. Only visible rows have elements, and only changes are written. */
export class Table<Row> {
  readonly element: HTMLElement;
  readonly #options: TableOptions<Row>;
  readonly #body: HTMLElement;
  readonly #head: HTMLElement;
  readonly #empty: HTMLElement;
  readonly #observer: ResizeObserver;
  #columns: readonly Column<Row>[];
  #rowSlots: RowSlot<Row>[] = [];
  #rows: readonly Row[] = [];
  #sorted: readonly Row[] = [];
  #sort: string;
  #down = true;
  #at = -1;
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
    this.element = h('div.table', { role: 'table' }, this.#head, this.#body, this.#empty);
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

  /** Moves the marked row. */
  move(by: number): void {
    if (this.#sorted.length === 0) return;
    this.#at = Math.min(this.#sorted.length - 1, Math.max(0, this.#at + by));
    const top = this.#at * this.#row;
    const { scrollTop, clientHeight } = this.element;
    if (top < scrollTop) this.element.scrollTop = top;
    else if (top + 3 * this.#row > scrollTop + clientHeight)
      this.element.scrollTop = top + 3 * this.#row - clientHeight;
    this.#draw();
  }

  /** Handles keys that work in every table; returns false for others. */
  key(key: string): boolean {
    if (key === 'j' || key === 'ArrowDown') this.move(1);
    else if (key === 'k' || key === 'ArrowUp') this.move(-1);
    else if (key === 'Enter' && this.marked !== null) location.hash = this.marked;
    else return false;
    return true;
  }

  /** The marked row's address. */
  get marked(): string | null {
    const row = this.#sorted[this.#at];
    return row === undefined ? null : (this.#options.href?.(row) ?? null);
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
    this.#body.replaceChildren();
    this.#rowSlots = [];
    this.#draw();
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
    const count = this.#sorted.length;
    this.#empty.hidden = count > 0;
    const row = this.#row;
    setStyle(this.#body, 'height', `${count * row}px`);
    const first = Math.max(0, Math.floor(this.element.scrollTop / row) - OVERSCAN_ROWS);
    const seen = Math.ceil((this.element.clientHeight || 600) / row) + 2 * OVERSCAN_ROWS;
    const last = Math.min(count, first + seen);
    while (this.#rowSlots.length < last - first) this.#rowSlots.push(this.#place());
    for (const [i, place] of this.#rowSlots.entries()) {
      const index = first + i;
      const shown = index < last ? this.#sorted[index]! : null;
      place.element.hidden = shown === null;
      if (shown === null) continue;
      const top = index * row;
      if (place.top !== top) {
        setStyle(place.element, 'transform', `translateY(${top}px)`);
        place.top = top;
      }
      place.element.classList.toggle('at', index === this.#at);
      if (place.row === shown) continue;
      place.row = shown;
      if (this.#options.href !== undefined)
        place.element.setAttribute('href', this.#options.href(shown));
      for (const fill of place.fill) fill(shown);
    }
  }

  #place(): RowSlot<Row> {
    const element =
      this.#options.href === undefined ? h('div', { role: 'row' }) : h('a', { role: 'row' });
    const fill = this.#columns.map((column) => {
      const cell = h('span', { role: 'cell', class: column.right ? 'right' : null });
      element.append(cell);
      return column.cell(cell);
    });
    this.#body.append(element);
    return { element, fill, row: null, top: -1 };
  }
}
