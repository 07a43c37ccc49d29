import { h, setStyle } from '../dom.js';
import { ago, cores, counted, memory, number, percent, words } from '../format.js';
import type { Page } from '../page.js';
import { card, chip, Kpi, plotCard } from '../parts.js';
import { Plot } from '../plot.js';

export function meanFieldPage(): Page {
  const members = new Kpi('Agents in it', 'violet', 'Active agents whose sums are in the totals');
  const wanted = new Kpi('Wanted CPU', 'amber', 'Sum of what all agents wish for, against the capacity of all hosts');
  const price = new Kpi(
    'Highest CPU price',
    'red',
    'What a core costs where most is wanted: the excess of occupancy over 1, at most 1',
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
  const hosts = h('tbody');
  const features = h('div', { class: 'list' });
  const chips = h('div', { class: 'chips' });
  const heads = (titles: readonly string[]): HTMLElement =>
    h('thead', {}, h('tr', {}, ...titles.map((title, i) => h('th', { class: i > 0 ? 'right' : null }, title))));
  const element = h(
    'div',
    {},
    h('div', { class: 'head' }, h('h1', {}, 'Mean field'), chips),
    h(
      'div',
      { class: 'grid' },
      members.element,
      wanted.element,
      price.element,
      memoryPrice.element,
      plotCard('w6', 'Occupancy', 'wanted / available, of the host where it is highest', occupancy),
      plotCard('w6', 'Price', 'what a wish is charged', prices),
      h(
        'section',
        { class: 'card flush w7' },
        h('h2', {}, 'Invoker hosts'),
        h(
          'div',
          { class: 'scroll' },
          h('table', { class: 'plain' }, heads(['Host', 'CPU occupied', 'Price', 'Memory occupied', 'Price']), hosts),
        ),
      ),
      card('w5', 'Features', 'mean over all agents, ± one standard deviation', features),
    ),
    h(
      'p',
      { class: 'note' },
      'Each agent sees the others as one: these totals less its own part. So what goes over NATS grows with hosts, not with functions.',
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
      const highest = (of: (row: (typeof rows)[number]) => number): number => Math.max(0, ...rows.map(of));
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
      wanted.set(
        cores(meanField.wantedCpu),
        `of ${cores(meanField.capacityCpu)} cores`,
        `${memory(meanField.wantedMemory)} of ${memory(meanField.capacityMemory)}`,
        field.occupancyCpu,
      );
      price.set(
        highest(({ priceCpu }) => priceCpu).toFixed(2),
        '',
        `${percent(highest(({ occupancyCpu }) => occupancyCpu))} occupied`,
        field.priceCpu,
      );
      memoryPrice.set(
        highest(({ priceMemory }) => priceMemory).toFixed(2),
        '',
        `${percent(highest(({ occupancyMemory }) => occupancyMemory))} occupied`,
        field.priceMemory,
      );
      occupancy.set([field.at, field.occupancyCpu, field.occupancyMemory]);
      prices.set([field.at, field.priceCpu, field.priceMemory]);
      hosts.replaceChildren(
        ...[...rows]
          .sort((a, b) => b.occupancyCpu - a.occupancyCpu)
          .slice(0, 100)
          .map((row) =>
            h(
              'tr',
              {},
              h('td', {}, row.host),
              h('td', { class: 'right' }, percent(row.occupancyCpu)),
              h('td', { class: `right ${row.priceCpu > 0 ? 'bad' : 'dim'}` }, row.priceCpu.toFixed(2)),
              h('td', { class: 'right' }, percent(row.occupancyMemory)),
              h('td', { class: `right ${row.priceMemory > 0 ? 'bad' : 'dim'}` }, row.priceMemory.toFixed(2)),
            ),
          ),
      );
      features.replaceChildren(...meanField.features.map(featureRow));
    },
    destroy() {
      occupancy.destroy();
      prices.destroy();
    },
  };
}

function featureRow({ name, mean, deviation }: { name: string; mean: number; deviation: number }): HTMLElement {
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
