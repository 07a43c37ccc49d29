import { h, setStyle, setText } from './dom.js';

export interface Column<Row> {
  readonly title: string;
  readonly hint?: string;
  /** CSS width: `1fr`, `90px`. */
  readonly width: string;
  readonly right?: boolean;
  /** What goes first where there is no room: the highest; 0 stays. */
  readonly spare: number;
  /** Sorted by it; a text ascending first, a number descending. */
  readonly sort?: (row: Row) => number | string;
  /** Makes the cell's content once; the function it returns fills it for a row. */
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

const ROW = 38;
const AHEAD = 6;
/** Below this width, px, a column that shares the rest may become narrower before another goes. */
const NARROW = 560;

interface Place<Row> {
  readonly element: HTMLElement;
  readonly fill: readonly ((row: Row) => void)[];
  row: Row | null;
  top: number;
}

/** Text in a cell. */
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

/** A table of any length: only rows in sight exist, and only what has changed is written. */
export class Table<Row> {
  readonly element: HTMLElement;
  readonly #options: TableOptions<Row>;
  readonly #body: HTMLElement;
  readonly #head: HTMLElement;
  readonly #empty: HTMLElement;
  readonly #observer: ResizeObserver;
  #columns: readonly Column<Row>[];
  #places: Place<Row>[] = [];
  #rows: readonly Row[] = [];
  #sorted: readonly Row[] = [];
  #sort: string;
  #down = true;
  #at = -1;

  constructor(options: TableOptions<Row>) {
    this.#options = options;
    this.#columns = options.columns;
    this.#sort = options.sortedBy;
    this.#down = this.#sortsDown(options.sortedBy);
    this.#head = h('div', { role: 'row', class: 't-head' });
    this.#body = h('div', { class: 't-body', role: 'rowgroup' });
    this.#empty = h('div', { class: 'empty' }, options.empty);
    this.element = h('div', { class: 'table', role: 'table' }, this.#head, this.#body, this.#empty);
    setStyle(this.element, 'max-height', options.height);
    this.element.addEventListener('scroll', () => this.#draw(), { passive: true });
    this.#observer = new ResizeObserver(() => this.#fit());
    this.#observer.observe(this.element);
    this.#build();
  }

  set(rows: readonly Row[]): void {
    this.#rows = rows;
    this.#order();
  }

  /** Moves the mark; for the keyboard. */
  move(by: number): void {
    if (this.#sorted.length === 0) return;
    this.#at = Math.min(this.#sorted.length - 1, Math.max(0, this.#at + by));
    const top = this.#at * ROW;
    const { scrollTop, clientHeight } = this.element;
    if (top < scrollTop) this.element.scrollTop = top;
    else if (top + 2 * ROW + ROW > scrollTop + clientHeight) this.element.scrollTop = top + 3 * ROW - clientHeight;
    this.#draw();
  }

  /** What keys do in every table; false: nothing. */
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

  /** Takes columns away until the rest has room. */
  #fit(): void {
    const { columns } = this.#options;
    const width = this.element.clientWidth - 32;
    const least = width < NARROW ? 90 : 170;
    const need = (kept: readonly Column<Row>[]): number =>
      kept.reduce(
        (sum, column) => sum + (column.width.endsWith('px') ? Number.parseInt(column.width, 10) : least) + 14,
        0,
      );
    let kept = columns;
    while (need(kept) > width && kept.some(({ spare }) => spare > 0)) {
      const most = Math.max(...kept.map(({ spare }) => spare));
      kept = kept.filter(({ spare }) => spare < most);
    }
    if (kept.length !== this.#columns.length) {
      this.#columns = kept;
      this.#build();
    }
    this.#draw();
  }

  #build(): void {
    setStyle(
      this.element,
      '--columns',
      this.#columns.map(({ width }) => (width.endsWith('fr') ? `minmax(0, ${width})` : width)).join(' '),
    );
    this.#head.replaceChildren(
      ...this.#columns.map((column) => {
        const cell = h('span', {
          role: 'columnheader',
          class: column.right ? 'right' : null,
          title: column.hint ?? null,
        });
        if (column.sort === undefined) cell.append(column.title);
        else {
          const button = h('button', { type: 'button' }, column.title);
          button.addEventListener('click', () => {
            this.#down = this.#sort === column.title ? !this.#down : this.#sortsDown(column.title);
            this.#sort = column.title;
            this.#markSort();
            this.#order();
          });
          cell.append(button);
        }
        return cell;
      }),
    );
    this.#markSort();
    this.#body.replaceChildren();
    this.#places = [];
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
    setStyle(this.#body, 'height', `${count * ROW}px`);
    const first = Math.max(0, Math.floor(this.element.scrollTop / ROW) - AHEAD);
    const seen = Math.ceil((this.element.clientHeight || 600) / ROW) + 2 * AHEAD;
    const last = Math.min(count, first + seen);
    while (this.#places.length < last - first) this.#places.push(this.#place());
    for (const [i, place] of this.#places.entries()) {
      const index = first + i;
      const row = index < last ? this.#sorted[index]! : null;
      place.element.hidden = row === null;
      if (row === null) continue;
      const top = index * ROW;
      if (place.top !== top) {
        setStyle(place.element, 'transform', `translateY(${top}px)`);
        place.top = top;
      }
      place.element.classList.toggle('at', index === this.#at);
      if (place.row === row) continue;
      place.row = row;
      if (this.#options.href !== undefined) place.element.setAttribute('href', this.#options.href(row));
      for (const fill of place.fill) fill(row);
    }
  }

  #place(): Place<Row> {
    const element = this.#options.href === undefined ? h('div', { role: 'row' }) : h('a', { role: 'row' });
    const fill = this.#columns.map((column) => {
      const cell = h('span', { role: 'cell', class: column.right ? 'right' : null });
      element.append(cell);
      return column.cell(cell);
    });
    this.#body.append(element);
    return { element, fill, row: null, top: -1 };
  }
}
