import type { ComparisonView, FunctionRow, GrantView } from '../wire.js';
import { h, setChildren, setClass, setStyle, setText, svg } from './dom.js';
import { ago, change, comparisonBasis, instant, nameParts } from './format.js';
import type { Tone } from './plot.js';

/** A figure with its recent history. */
export class Kpi {
  readonly element: HTMLElement;
  readonly #value = h('span');
  readonly #unit = h('small');
  readonly #note = h('div.note');
  readonly #line = svg('path', { class: 'spark-line' });
  readonly #fill = svg('path', { class: 'spark-fill' });

  constructor(label: string, tone: Tone, title: string) {
    this.element = h(
      'section',
      { class: `card kpi w3 tone-${tone}`, title },
      h('div.label', label),
      h('div.value', this.#value, ' ', this.#unit),
      this.#note,
      svg(
        'svg',
        { viewBox: '0 0 100 30', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
        this.#fill,
        this.#line,
      ),
    );
  }

  set(value: string, unit: string, note: string, past: readonly (number | null)[]): void {
    setText(this.#value, value);
    setText(this.#unit, unit);
    setText(this.#note, note);
    const line = sparkPath(past.slice(-180));
    this.#line.setAttribute('d', line);
    this.#fill.setAttribute(
      'd',
      line === '' ? '' : `${line}V30H${line.slice(1, line.indexOf(' '))}Z`,
    );
  }
}

function sparkPath(values: readonly (number | null)[]): string {
  const known = values.filter((value): value is number => value !== null);
  if (known.length < 2) return '';
  const high = Math.max(...known);
  const low = Math.min(0, ...known);
  const height = high - low || 1;
  let path = '';
  for (const [i, value] of values.entries()) {
    if (value === null) continue;
    const x = (100 * i) / (values.length - 1);
    const y = 29 - (27 * (value - low)) / height;
    path += `${path === '' ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`;
  }
  return path;
}

export const chip = (text: string, tone: Tone | '' = '', title = ''): HTMLElement =>
  h('span', { class: tone ? `chip tone-${tone}` : 'chip', title: title || null }, text);

const MODE_TONES: Readonly<Record<string, Tone>> = {
  enforce: 'green',
  recommend: 'blue',
  paused: 'amber',
  stopped: 'red',
};

export const modeTone = (mode: string): Tone | '' => MODE_TONES[mode] ?? '';

const MODE_TITLES: Readonly<Record<string, string>> = {
  paused: 'user limits until it is resumed',
  stopped: 'user limits until the kill switch is released',
};

/** Whether user limits apply on every host, whatever its mode. */
export const isStopped = ({ mode }: FunctionRow): boolean => MODE_TITLES[mode] !== undefined;

/** Mode of a function, and what needs attention. */
export function functionChips(row: FunctionRow): HTMLElement[] {
  const chips = [chip(row.mode, modeTone(row.mode), MODE_TITLES[row.mode])];
  if (row.paused && !isStopped(row)) chips.push(chip('paused', 'amber', 'on some hosts'));
  if (row.alarm)
    chips.push(chip('slower than control', 'red', 'significantly slower than its own control arm'));
  if (isMissingObjective(row)) chips.push(chip('misses its objective', 'red'));
  return chips;
}

export const isMissingObjective = ({ objective }: FunctionRow): boolean => objective === 'missed';

export const functionHref = (name: string): string => `#/function${encodeURI(name)}`;

export function functionLink(name: string): HTMLAnchorElement {
  const [space, last] = nameParts(name);
  return h(
    'a.name',
    { href: functionHref(name), title: name },
    h('span.ns', space),
    h('wbr'),
    last,
  );
}

/** Current limit, user limit, and use. */
export class LimitBar {
  readonly element: HTMLElement;
  readonly #fill = h('i');
  readonly #user = h('b');
  readonly #used = h('u');
  readonly #text = h('span');

  constructor() {
    this.element = h(
      'div.limit',
      { role: 'img' },
      h('div.bar', this.#fill, this.#user, this.#used),
      this.#text,
    );
  }

  /** `used`: null if its unit differs from that of the limit. */
  set(limit: number, user: number, used: number | null, text: string, title: string): void {
    const scale = 100 / (Math.max(limit, user, used ?? 0) || 1);
    const at = (value: number): string => `${Math.min(100, value * scale).toFixed(1)}%`;
    setStyle(this.#fill, 'width', at(limit));
    setStyle(this.#user, 'left', `calc(${at(user)} - 1px)`);
    setStyle(this.#used, 'width', used === null ? '0' : at(used));
    const near = Math.abs(limit - user) <= user * 0.005;
    setClass(
      this.element,
      `limit ${near ? 'tone-muted' : limit < user ? 'tone-green' : 'tone-blue'}`,
    );
    setText(this.#text, text);
    if (this.element.title === title) return;
    this.element.title = title;
    this.element.setAttribute('aria-label', title);
  }
}

/** Draws a decision: allowed range, grant, user limit and peak. */
export function rangeMark(grant: GrantView, unit: (value: number) => string): HTMLElement {
  const { lower, upper, granted, user, peak } = grant;
  const most = Math.max(upper ?? 0, granted ?? 0, user ?? 0, peak ?? 0) * 1.05 || 1;
  const at = (value: number): string => `${((100 * value) / most).toFixed(1)}%`;
  const place = (name: string, styles: Readonly<Record<string, string>>): HTMLElement => {
    const element = h('span', { class: name });
    for (const [property, value] of Object.entries(styles)) setStyle(element, property, value);
    return element;
  };
  const tone =
    granted === null || user === null || granted === user
      ? 'muted'
      : granted < user
        ? 'green'
        : 'blue';
  const tooltip = [
    `allowed ${unit(lower ?? Number.NaN)} to ${unit(upper ?? Number.NaN)}`,
    `granted ${unit(granted ?? Number.NaN)} (${grant.why})`,
    `user ${unit(user ?? Number.NaN)}`,
    ...(peak === null ? [] : [`peak ${unit(peak)}`]),
  ].join(', ');
  const marks = [place('axis', {})];
  if (lower !== null && upper !== null)
    marks.push(
      place('allowed', { left: at(lower), width: `max(4px, ${at(Math.max(0, upper - lower))})` }),
    );
  if (user !== null) marks.push(place('user', { left: at(user) }));
  if (peak !== null) marks.push(place('peak', { left: at(peak) }));
  if (granted !== null) marks.push(place('granted', { left: at(granted) }));
  return h(
    'span',
    { class: `range tone-${tone}`, role: 'img', 'aria-label': tooltip, title: tooltip },
    ...marks,
  );
}

/** Amounts as one stacked bar with a legend. */
export function stacked(
  parts: readonly {
    readonly name: string;
    readonly value: number;
    readonly tone: Tone | 'muted';
  }[],
): HTMLElement {
  const bar = h('div.stack', { 'aria-hidden': 'true' });
  const legend = h('div.legend');
  for (const { name, value, tone } of parts) {
    const piece = h('i', { class: `tone-${tone}` });
    setStyle(piece, 'flex', String(value));
    bar.append(piece);
    legend.append(h('span', { class: `tone-${tone}` }, h('i'), `${name} `, h('b', String(value))));
  }
  return h('div', bar, legend);
}

export const EVENT_TONES: Readonly<Record<string, Tone | ''>> = {
  safeguard: 'amber',
  harvest: 'green',
  loan: 'blue',
  release: '',
  oom: 'red',
  drift: 'red',
  lifecycle: 'blue',
  concurrency: 'amber',
  mode: 'amber',
};

/** The first line of a page. */
export const pageHead = (title: string, ...rest: readonly (Node | null)[]): HTMLElement =>
  h('div.head', h('h1', title), ...rest);

/** Pushes what follows it to the right end of a page's head. */
export const space = (): HTMLElement => h('span.space');

export const td = (content: Node | string, tone = '', title = ''): HTMLElement =>
  h('td', { class: tone || null, title: title || null }, content);

/** How long ago, s since 1970; its title is the time. */
export const agoCell = (now: number, at: number): HTMLElement => td(ago(now - at), '', instant(at));

/** A card with a table, which scrolls inside of it. */
export function tableCard(
  wide: string,
  title: string,
  note: string,
  table: PlainTable,
  ...after: readonly Node[]
): HTMLElement {
  const scroll = h('div.scroll', table.element);
  table.element.prepend(h('caption.unseen', title));
  return card(`flush ${wide}`, title, note, scroll, ...after);
}

export const emptyNote = (text: string): HTMLElement => h('div.empty', text);

/** A card with a heading. */
export function card(
  wide: string,
  title: string,
  note: string,
  ...children: readonly (Node | null)[]
): HTMLElement {
  return h(
    'section',
    { class: `card ${wide}` },
    h('h2', title, note === '' ? null : h('small', note)),
    ...children,
  );
}

export function plotCard(
  wide: string,
  title: string,
  note: string,
  plot: { element: HTMLElement; legend: HTMLElement; title: string },
): HTMLElement {
  const made = card(wide, title, note, plot.element);
  made.querySelector('h2')?.append(plot.legend);
  plot.title = note === '' ? title : `${title}, ${note}`;
  return made;
}

/** Green if significantly faster, red if significantly slower. */
export const comparisonTone = ({ low, high }: ComparisonView): string =>
  high !== null && high < 1 ? 'good' : low !== null && low > 1 ? 'bad' : '';

export function comparisonMark(comparison: ComparisonView): HTMLElement {
  return h(
    'span.two-lines',
    {
      title: 'response time compared with the control arm, 95 % interval; n: activations / control',
    },
    h('b', { class: comparisonTone(comparison) }, change(comparison.ratio)),
    h('small', comparisonBasis(comparison)),
  );
}

export interface Heading {
  readonly title: string;
  /** Below the title. */
  readonly unit?: string;
  readonly hint?: string;
  readonly right?: boolean;
}

export interface PlainRow {
  /** Unique; the same when the row is set again. */
  readonly key: string;
  readonly cells: readonly HTMLElement[];
}

/** A table without sorting. On a narrow screen each row becomes a block of headings and values. */
export class PlainTable {
  readonly element: HTMLElement;
  readonly #headings: readonly Heading[];
  readonly #body = h('tbody');
  readonly #empty: string;

  constructor(headings: readonly Heading[], empty: string) {
    this.#headings = headings;
    this.#empty = empty;
    this.element = h(
      'table.plain',
      h(
        'thead',
        h(
          'tr',
          ...headings.map(({ title, unit, hint, right }) =>
            h(
              'th',
              { scope: 'col', class: right ? 'right' : null, title: hint ?? null },
              title,
              unit === undefined ? null : h('small', unit),
            ),
          ),
        ),
      ),
      this.#body,
    );
  }

  set(rows: readonly PlainRow[]): void {
    const made = rows.map(({ key, cells }) => {
      for (const [i, cell] of cells.entries()) {
        const { title, unit, right } = this.#headings[i]!;
        cell.dataset.label = unit === undefined ? title : `${title}, ${unit}`;
        if (right) cell.classList.add('right');
      }
      return h('tr', { 'data-key': key }, ...cells);
    });
    const none = (): HTMLElement =>
      h('tr.none', h('td', { colspan: this.#headings.length, class: 'empty' }, this.#empty));
    setChildren(this.#body, ...(made.length === 0 ? [none()] : made));
  }
}
