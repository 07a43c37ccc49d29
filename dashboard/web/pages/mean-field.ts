import { h, setChildren, setStyle } from '../dom.js';
import { ago, cores, counted, instant, memory, number, percent, words } from '../format.js';
import { card, chip, Kpi, PlainTable, pageHead, plotCard, tableCard, td } from '../parts.js';
import { Plot } from '../plot.js';
import type { Page } from '../state.js';

export function meanFieldPage(): Page {
  const members = new Kpi('Agents in it', 'violet', 'Active agents in the totals');
  const demand = new Kpi(
    'CPU demand',
    'amber',
    'Requested limit × time running, of all agents. An idle function requests nothing.',
  );
  const price = new Kpi(
    'Highest CPU price',
    'red',
    'Price on the host with the highest demand: demand / available − 1, at most 1',
  );
  const memoryPrice = new Kpi('Highest memory price', 'blue', 'The same for memory');
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
  const hosts = new PlainTable(
    [
      { title: 'Host' },
      { title: 'CPU demand', unit: '% of available', right: true },
      { title: 'CPU price', right: true },
      { title: 'Memory demand', unit: '% of available', right: true },
      { title: 'Memory price', right: true },
    ],
    'no host reports',
  );
  const features = h('div.list');
  const chips = h('div.chips');
  const element = h(
    'div',
    pageHead('Mean field', chips),
    h(
      'div.grid',
      members.element,
      demand.element,
      price.element,
      memoryPrice.element,
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
      const { hosts: rows } = meanField;
      const highest = (of: (row: (typeof rows)[number]) => number): number =>
        Math.max(0, ...rows.map(of));
      setChildren(
        chips,
        chip(`published by ${meanField.publisher}`, 'green'),
        chip(`epoch ${meanField.epoch}`),
        chip(
          ago(now - meanField.at),
          now - meanField.at > 30 ? 'amber' : '',
          instant(meanField.at),
        ),
      );
      members.set(
        number(meanField.members),
        '',
        `on ${counted(meanField.agentHosts, 'agent host')}`,
        field.members,
      );
      demand.set(
        cores(meanField.demandCpu),
        `of ${cores(meanField.capacityCpu)} cores`,
        `${memory(meanField.demandMemory)} of ${memory(meanField.capacityMemory)}`,
        field.occupancyCpu,
      );
      price.set(
        highest(({ priceCpu }) => priceCpu).toFixed(2),
        '',
        `${percent(highest(({ occupancyCpu }) => occupancyCpu))} requested`,
        field.priceCpu,
      );
      memoryPrice.set(
        highest(({ priceMemory }) => priceMemory).toFixed(2),
        '',
        `${percent(highest(({ occupancyMemory }) => occupancyMemory))} requested`,
        field.priceMemory,
      );
      occupancy.set([field.at, field.occupancyCpu, field.occupancyMemory]);
      prices.set([field.at, field.priceCpu, field.priceMemory]);
      hosts.set(
        [...rows]
          .sort((a, b) => b.occupancyCpu - a.occupancyCpu)
          .slice(0, 100)
          .map((row) => ({
            key: row.host,
            cells: [
              td(row.host),
              td(percent(row.occupancyCpu)),
              td(row.priceCpu.toFixed(2), row.priceCpu > 0 ? '' : 'dim'),
              td(percent(row.occupancyMemory)),
              td(row.priceMemory.toFixed(2), row.priceMemory > 0 ? '' : 'dim'),
            ],
          })),
      );
      setChildren(features, ...meanField.features.map(featureRow));
    },
    destroy() {
      occupancy.destroy();
      prices.destroy();
    },
  };
}

function featureRow({
  name,
  mean,
  deviation,
}: {
  name: string;
  mean: number;
  deviation: number;
}): HTMLElement {
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
