import type { Columns, MeanFieldColumn, MeanFieldRow } from '../../wire.js';
import { h, setChildren, setStyle } from '../dom.js';
import { ago, cores, counted, instant, memory, number, percent, words } from '../format.js';
import {
  card,
  chip,
  type Heading,
  Kpi,
  type PlainRow,
  PlainTable,
  pageHead,
  plotCard,
  tableCard,
  td,
} from '../parts.js';
import { Plot } from '../plot.js';
import type { Page } from '../state.js';

const HOSTS_SHOWN = 100;
const PRICE_HINT = 'demand above what is available, as a part of it, at most 1';
const HOST_COLUMNS: readonly Heading[] = [
  { title: 'Host' },
  { title: 'CPU demand', unit: '% of available', right: true },
  { title: 'CPU price', hint: PRICE_HINT, right: true },
  { title: 'Memory demand', unit: '% of available', right: true },
  { title: 'Memory price', hint: PRICE_HINT, right: true },
];

export function meanFieldPage(): Page {
  const chips = h('div.chips');
  const figures = new Figures();
  const occupancy = new Plot({
    lines: [
      { label: 'CPU', tone: 'amber' },
      { label: 'memory', tone: 'blue' },
    ],
    unit: (value) => percent(value),
    top: 1,
    sync: 'field',
  });
  const prices = new Plot({
    lines: [
      { label: 'CPU', tone: 'red', fill: true, steps: true },
      { label: 'memory', tone: 'blue', fill: true, steps: true },
    ],
    unit: number,
    top: 0.2,
    sync: 'field',
  });
  const hosts = new PlainTable(HOST_COLUMNS, 'no host reports');
  const features = h('div.list');
  const element = h(
    'div',
    pageHead('Mean field', chips),
    h(
      'div.grid',
      ...figures.elements,
      plotCard('w6', 'Demand', 'requested / available, on the host with the highest', occupancy),
      plotCard('w6', 'Price', 'of a request', prices),
      tableCard('w7', 'Invoker hosts', '', hosts),
      card('w5', 'Features', 'mean over all agents, ± one standard deviation', features),
    ),
    h(
      'p.note',
      'Each agent sees the others as one: these totals without its own part. Demand above 100 % ' +
        'raises the price that agents pay. Whether activations wait for a CPU is on the page ' +
        'Contention.',
    ),
  );
  return {
    title: 'Mean field',
    element,
    update({ meanField, field, now }) {
      if (meanField === null) {
        setChildren(chips, chip('none published yet', 'amber'));
        return;
      }
      setChildren(chips, ...publisherChips(meanField, now));
      figures.set(meanField, field);
      occupancy.set([field.at, field.occupancyCpu, field.occupancyMemory]);
      prices.set([field.at, field.priceCpu, field.priceMemory]);
      hosts.set(hostRows(meanField));
      setChildren(features, ...meanField.features.map(featureRow));
    },
    destroy() {
      occupancy.destroy();
      prices.destroy();
    },
  };
}

/** The figures with their recent history. */
class Figures {
  readonly #members = new Kpi('Agents in it', 'violet', 'Active agents in the totals');
  readonly #demand = new Kpi(
    'CPU demand',
    'amber',
    'Requested limit × time running, of all agents. An idle function requests nothing.',
  );
  readonly #price = new Kpi(
    'Highest CPU price',
    'red',
    'Price on the host with the highest demand: demand / available − 1, at most 1',
  );
  readonly #memoryPrice = new Kpi('Highest memory price', 'blue', 'The same for memory');
  readonly elements = [this.#members, this.#demand, this.#price, this.#memoryPrice].map(
    ({ element }) => element,
  );

  set(meanField: MeanFieldRow, past: Columns<MeanFieldColumn>): void {
    const { hosts } = meanField;
    const highest = (of: (host: (typeof hosts)[number]) => number): number =>
      Math.max(0, ...hosts.map(of));
    this.#members.set(
      number(meanField.members),
      '',
      `on ${counted(meanField.agentHosts, 'agent host')}`,
      past.members,
    );
    this.#demand.set(
      cores(meanField.demandCpu),
      `of ${cores(meanField.capacityCpu)} cores`,
      `${memory(meanField.demandMemory)} of ${memory(meanField.capacityMemory)}`,
      past.occupancyCpu,
    );
    this.#price.set(
      highest(({ priceCpu }) => priceCpu).toFixed(2),
      '',
      `${percent(highest(({ occupancyCpu }) => occupancyCpu))} requested`,
      past.priceCpu,
    );
    this.#memoryPrice.set(
      highest(({ priceMemory }) => priceMemory).toFixed(2),
      '',
      `${percent(highest(({ occupancyMemory }) => occupancyMemory))} requested`,
      past.priceMemory,
    );
  }
}

function publisherChips({ publisher, epoch, at }: MeanFieldRow, now: number): HTMLElement[] {
  const age = now - at;
  return [
    chip(`published by ${publisher}`, 'green'),
    chip(`epoch ${epoch}`),
    chip(ago(age), age > 30 ? 'amber' : '', instant(at)),
  ];
}

const hostRows = ({ hosts }: MeanFieldRow): PlainRow[] =>
  [...hosts]
    .sort((a, b) => b.occupancyCpu - a.occupancyCpu)
    .slice(0, HOSTS_SHOWN)
    .map((row) => ({
      key: row.host,
      cells: [
        td(row.host),
        td(percent(row.occupancyCpu)),
        td(row.priceCpu.toFixed(2), row.priceCpu > 0 ? '' : 'dim'),
        td(percent(row.occupancyMemory)),
        td(row.priceMemory.toFixed(2), row.priceMemory > 0 ? '' : 'dim'),
      ],
    }));

function featureRow({ name, mean, deviation }: MeanFieldRow['features'][number]): HTMLElement {
  const allowed = h('span.allowed');
  const low = Math.max(0, mean - deviation);
  const high = Math.min(1, mean + deviation);
  setStyle(allowed, 'left', `${(low * 100).toFixed(1)}%`);
  setStyle(allowed, 'width', `${((high - low) * 100).toFixed(1)}%`);
  const middle = h('span.granted');
  setStyle(middle, 'left', `${(mean * 100).toFixed(1)}%`);
  return h(
    'div.feature',
    h('span', words(name)),
    h('span.range.tone-violet', h('span.axis'), allowed, middle),
    h('span.right', `${mean.toFixed(2)} ± ${deviation.toFixed(2)}`),
  );
}
