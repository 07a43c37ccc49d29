import { h, setStyle } from '../dom.js';
import { ago, cores, counted, memory, number, percent, words } from '../format.js';
import type { Page } from '../page.js';
import { card, chip, Kpi, PlainTable, plotCard } from '../parts.js';
import { Plot } from '../plot.js';

export function meanFieldPage(): Page {
  const members = new Kpi('Agents in it', 'violet', 'Active agents whose sums are in the totals');
  const demand = new Kpi(
    'CPU demand',
    'amber',
    'What the agents request for all functions together; more than the capacity is not contention: that is measured by CPU wait',
  );
  const price = new Kpi(
    'Highest CPU price',
    'red',
    'What a core costs where demand is highest: demand / available, less 1, at most 1',
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
  const features = h('div', { class: 'list' });
  const chips = h('div', { class: 'chips' });
  const element = h(
    'div',
    {},
    h('div', { class: 'head' }, h('h1', {}, 'Mean field'), chips),
    h(
      'div',
      { class: 'grid' },
      members.element,
      demand.element,
      price.element,
      memoryPrice.element,
      plotCard('w6', 'Demand', 'requested / available, of the host where it is highest', occupancy),
      plotCard('w6', 'Price', 'what a request is charged', prices),
      h(
        'section',
        { class: 'card flush w7' },
        h('h2', {}, 'Invoker hosts'),
        h('div', { class: 'scroll' }, hosts.element),
      ),
      card('w5', 'Features', 'mean over all agents, ± one standard deviation', features),
    ),
    h(
      'p',
      { class: 'note' },
      'Each agent sees the others as one: these totals less its own part. Demand above 100 % raises the price that agents are charged; whether activations wait for a CPU is on the page Contention.',
    ),
  );
  return {
    title: 'Mean field',
    element,
    update({ meanField, field, now }) {
      if (meanField === null) {
        chips.replaceChildren(chip('none published yet', 'amber'));
        return;
      }
      const { hosts: rows } = meanField;
      const highest = (of: (row: (typeof rows)[number]) => number): number =>
        Math.max(0, ...rows.map(of));
      chips.replaceChildren(
        chip(`published by ${meanField.publisher}`, 'green'),
        chip(`epoch ${meanField.epoch}`),
        chip(ago(now - meanField.at), now - meanField.at > 30 ? 'amber' : ''),
      );
      members.set(
        number(meanField.members),
        '',
        `on ${counted(meanField.agentHosts.length, 'agent host')}`,
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
          .map((row) => [
            h('td', {}, row.host),
            h('td', {}, percent(row.occupancyCpu)),
            h('td', { class: row.priceCpu > 0 ? '' : 'dim' }, row.priceCpu.toFixed(2)),
            h('td', {}, percent(row.occupancyMemory)),
            h('td', { class: row.priceMemory > 0 ? '' : 'dim' }, row.priceMemory.toFixed(2)),
          ]),
      );
      features.replaceChildren(...meanField.features.map(featureRow));
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
  const allowed = h('span', { class: 'allowed' });
  const low = Math.max(0, mean - deviation);
  const high = Math.min(1, mean + deviation);
  setStyle(allowed, 'left', `${(low * 100).toFixed(1)}%`);
  setStyle(allowed, 'width', `${((high - low) * 100).toFixed(1)}%`);
  const middle = h('span', { class: 'granted' });
  setStyle(middle, 'left', `${(mean * 100).toFixed(1)}%`);
  return h(
    'div',
    { class: 'feature' },
    h('span', {}, words(name)),
    h('span', { class: 'range tone-violet' }, h('span', { class: 'axis' }), allowed, middle),
    h('span', { class: 'right' }, `${mean.toFixed(2)} ± ${deviation.toFixed(2)}`),
  );
}
