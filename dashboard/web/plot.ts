import uPlot from '/vendor/uplot.js';
import { h, setAttribute, setText } from './dom.js';
import { clock, dayOf, NONE, otherDay } from './format.js';

export type Tone = 'green' | 'blue' | 'amber' | 'red' | 'violet' | 'faint' | 'text';

interface Line {
  readonly label: string;
  readonly tone: Tone;
  readonly width?: number;
  readonly dash?: boolean;
  readonly fill?: boolean;
  /** Steps instead of slopes: a limit stays until it changes. */
  readonly steps?: boolean;
  /** Separate points instead of a line. */
  readonly points?: boolean;
  /** Not in the legend: the edge of a band. */
  readonly quiet?: boolean;
}

export interface PlotOptions {
  readonly lines: readonly Line[];
  /** Bands between two lines, by their index. */
  readonly bands?: readonly {
    readonly upper: number;
    readonly lower: number;
    readonly tone: Tone;
  }[];
  readonly unit: (value: number) => string;
  readonly height?: number;
  /** Smallest upper end of the axis. */
  readonly top?: number;
  /** Plots with the same name share the cursor. */
  readonly sync?: string;
  /** The x axis shows numbers, not times. */
  readonly plainX?: boolean;
  readonly none?: string;
  /** Axis marks at powers of two, for bytes. */
  readonly binary?: boolean;
}

const NOTHING = 'nothing yet';

const styleOf = (): ((name: string) => string) => {
  const style = getComputedStyle(document.documentElement);
  return (name) => style.getPropertyValue(`--${name}`).trim();
};

/** 1 MiB to 1 TiB. */
const POWERS = Array.from({ length: 21 }, (_, i) => 2 ** (20 + i));

const translucent = (color: string, share: number): string => {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) =>
    Number.parseInt(color.slice(at, at + 2), 16),
  );
  return `rgb(${red} ${green} ${blue} / ${share})`;
};

/** A uPlot in the theme's colors, as wide as its parent. */
export class Plot {
  readonly element: HTMLDivElement;
  readonly legend: HTMLDivElement;
  /** What it shows, for those who do not see it. */
  title = '';
  readonly #options: PlotOptions;
  readonly #values: HTMLElement[] = [];
  readonly #none: HTMLDivElement;
  readonly #observer: ResizeObserver;
  #plot: uPlot | null = null;
  #data: uPlot.AlignedData = [[]];
  #theme = '';

  constructor(options: PlotOptions) {
    this.#options = options;
    this.#none = h('div.none', options.none ?? NOTHING);
    this.element = h('div.plot', { role: 'img' }, this.#none);
    // The text of the plot has the same values.
    this.legend = h('div.legend', { 'aria-hidden': 'true' });
    for (const line of options.lines) {
      const value = h('b');
      this.#values.push(value);
      if (!line.quiet)
        this.legend.append(
          h('span', { class: `tone-${line.tone}` }, h('i'), `${line.label} `, value),
        );
    }
    this.#observer = new ResizeObserver(() => this.#resize());
    this.#observer.observe(this.element);
  }

  /** `data`: the x column, then one per line. */
  set(data: readonly (readonly (number | null)[])[]): void {
    const known = data[0]?.length ?? 0;
    this.#none.hidden = known > 1;
    this.#data = data as uPlot.AlignedData;
    setAttribute(this.element, 'aria-label', this.#describe());
    if (known <= 1) {
      this.#plot?.destroy();
      this.#plot = null;
      return;
    }
    const theme = document.documentElement.dataset.theme ?? '';
    if (this.#plot === null || theme !== this.#theme) this.#make(theme);
    else this.#plot.setData(this.#data);
    this.#showValues(this.#plot?.cursor.idx ?? null);
  }

  destroy(): void {
    this.#observer.disconnect();
    this.#plot?.destroy();
    this.#plot = null;
  }

  #width(): number {
    return Math.max(120, this.element.clientWidth);
  }

  #resize(): void {
    const width = this.#width();
    if (this.#plot !== null && this.#plot.width !== width)
      this.#plot.setSize({ width, height: this.#options.height ?? 190 });
  }

  #make(theme: string): void {
    this.#plot?.destroy();
    this.#theme = theme;
    const color = styleOf();
    const { lines, bands = [], unit, height = 190, top = 0, sync, plainX, binary } = this.#options;
    const font = `11px ${color('sans')}`;
    const axis = {
      stroke: color('muted'),
      font,
      ticks: { show: false },
      grid: { stroke: color('grid'), width: 1 },
    };
    const stepped = uPlot.paths.stepped?.({ align: 1 });
    const series: uPlot.Series[] = lines.map((line) => {
      const stroke = color(line.tone);
      return {
        label: line.label,
        stroke,
        width: line.points ? 0 : (line.width ?? 1.8),
        spanGaps: true,
        points: { show: line.points === true, size: 6, fill: stroke },
        ...(line.dash ? { dash: [5, 4] } : {}),
        ...(line.fill ? { fill: translucent(stroke, 0.13) } : {}),
        ...(line.steps && stepped ? { paths: stepped } : {}),
      };
    });
    this.#plot = new uPlot(
      {
        width: this.#width(),
        height,
        padding: [8, 30, 0, 0],
        legend: { show: false },
        cursor: {
          y: false,
          points: { size: 7 },
          drag: { x: false, y: false },
          ...(sync === undefined ? {} : { sync: { key: sync } }),
        },
        scales: {
          x: { time: !plainX },
          y: {
            range: (_plot, low, high) => [Math.min(0, low), Math.max(top, high * 1.08, 1e-6)],
          },
        },
        series: [{}, ...series],
        bands: bands.map(({ upper, lower, tone }) => ({
          series: [upper + 1, lower + 1],
          fill: translucent(color(tone), 0.18),
        })),
        axes: [
          {
            ...axis,
            size: plainX ? 26 : (_plot, labels) => (labels?.[0]?.includes('\n') ? 40 : 26),
            space: 70,
            ...(plainX ? {} : { values: clockLabels }),
          },
          {
            ...axis,
            size: 58,
            space: 36,
            values: (_plot, splits) => splits.map(unit),
            ...(binary ? { incrs: POWERS } : {}),
          },
        ],
        hooks: { setCursor: [(plot) => this.#showValues(plot.cursor.idx ?? null)] },
      },
      this.#data,
      this.element,
    );
  }

  /** Axis, and newest, least and highest value of each line. */
  #describe(): string {
    const { lines, unit, plainX, none = NOTHING } = this.#options;
    const [x = [], ...columns] = this.#data;
    const [first, last] = [x[0], x.at(-1)];
    if (x.length <= 1 || first === undefined || last === undefined) return `${this.title}: ${none}`;
    const place = plainX ? String : clock;
    const described = lines.flatMap(({ label, quiet }, i) => {
      const values = (columns[i] ?? []).filter((value) => typeof value === 'number');
      if (quiet || values.length === 0) return [];
      const [least, most] = [Math.min(...values), Math.max(...values)];
      return [`${label} ${unit(values.at(-1)!)}, between ${unit(least)} and ${unit(most)}`];
    });
    if (described.length === 0) return `${this.title}: ${none}`;
    return `${this.title}: from ${place(first)} to ${place(last)}: ${described.join('; ')}`;
  }

  /** Shows the values at the cursor, otherwise the newest. */
  #showValues(index: number | null): void {
    for (const [i, element] of this.#values.entries()) {
      const column = this.#data[i + 1] ?? [];
      let value = index === null ? null : column[index];
      for (let at = column.length - 1; index === null && value == null && at >= 0; at--)
        value = column[at];
      const text = value == null ? NONE : this.#options.unit(value);
      setText(element, text);
    }
  }
}

/** The date stands below the time unless all of the axis is today. */
const clockLabels = (_plot: uPlot, splits: number[]): string[] => {
  const fine = (splits[1] ?? 0) - (splits[0] ?? 0) < 60;
  const isToday = splits.every((at) => otherDay(at) === '');
  return splits.map((at) => {
    const date = new Date(at * 1000);
    const time = date.toTimeString().slice(0, fine ? 8 : 5);
    return isToday ? time : `${time}\n${dayOf(date)}`;
  });
};
