import type { HostRow } from '../../wire.js';
import { actionButton } from '../actions.js';
import { h } from '../dom.js';
import { ago, cores, memory, number, span, times } from '../format.js';
import type { Page } from '../page.js';
import { chip, modeTone } from '../parts.js';

const SHOWN = 200;

export function hostsPage(): Page {
  const hosts = h('div', { class: 'grid' });
  const services = h('tbody');
  const pages = h('small', { class: 'legend', title: 'of this dashboard, since its start' });
  const buttons = h('div', { class: 'chips' });
  const count = h('span', { class: 'sub' });
  const heads = ['Service', 'Host', 'Version', 'Started', 'Requests', 'Errors', 'Takes'];
  const element = h(
    'div',
    {},
    h('div', { class: 'head' }, h('h1', {}, 'Hosts'), count, h('span', { class: 'space' }), buttons),
    hosts,
    h(
      'section',
      { class: 'card flush after' },
      h('h2', {}, 'Parts', h('small', {}, 'as they answer on NATS'), pages),
      h(
        'div',
        { class: 'scroll' },
        h(
          'table',
          { class: 'plain' },
          h('thead', {}, h('tr', {}, ...heads.map((title, i) => h('th', { class: i > 3 ? 'right' : null }, title)))),
          services,
        ),
      ),
    ),
  );
  let made = false;
  return {
    title: 'Hosts',
    element,
    update(state) {
      if (state.writable && !made) {
        made = true;
        const mode = h('select', { 'aria-label': 'Mode of all functions' }, h('option', { value: '' }, 'Mode…'));
        for (const name of ['observe', 'recommend', 'enforce', 'default'])
          mode.append(h('option', { value: name }, name));
        const set = actionButton('Set', () => ({ action: 'mode', mode: mode.value || 'default' }), {
          sure: 'Change the mode of all functions on all hosts?',
        });
        const restore = actionButton('Restore all limits', () => ({ action: 'restore' }), {
          danger: true,
          sure: 'Give every container its user limits back now?',
        });
        buttons.replaceChildren(mode, set, restore);
      }
      count.textContent = state.hosts.length > SHOWN ? `${SHOWN} of ${state.hosts.length}` : `${state.hosts.length}`;
      hosts.replaceChildren(
        ...(state.hosts.length === 0
          ? [
              h(
                'section',
                { class: 'card' },
                h('div', { class: 'empty' }, 'no hook is heard: run `gleaner hook` beside the invoker'),
              ),
            ]
          : state.hosts.slice(0, SHOWN).map((host) => hostCard(host, state.now))),
      );
      const { open, missedTicks, dead } = state.pages;
      pages.textContent = `pages open: ${open}; ticks missed by slow ones: ${missedTicks}; closed as dead: ${dead}`;
      services.replaceChildren(
        ...state.services.map((row) =>
          h(
            'tr',
            {},
            h('td', {}, row.service),
            h('td', {}, row.host),
            h('td', {}, row.version),
            h('td', {}, ago(state.now - Date.parse(row.started) / 1000)),
            h('td', { class: 'right' }, number(row.requests)),
            h(
              'td',
              { class: `right ${row.errors > 0 ? 'bad' : 'dim'}`, title: row.lastError || null },
              String(row.errors),
            ),
            h('td', { class: 'right', title: 'mean per request' }, span(row.micros / 1000)),
          ),
        ),
      );
    },
    destroy: () => undefined,
  };
}

function hostCard(host: HostRow, now: number): HTMLElement {
  const chips = h('span', { class: 'chips' });
  if (host.killed) chips.append(chip('stopped', 'red', `kill switch: ${host.killedBy.join(', ')}`));
  else chips.append(chip(host.mode, modeTone(host.mode)));
  if (host.platform !== '' && host.platform !== 'host') chips.append(chip(host.platform));
  if (host.clockRate !== 1) chips.append(chip(`time ${times(host.clockRate)}`, 'amber'));
  if (host.tapLost.length > 0) chips.append(chip('tap lost', 'red', host.tapLost.join('; ')));
  if (!host.engineAnswers) chips.append(chip('engine does not answer', 'red'));
  if (host.alarm) chips.append(chip('slower than without', 'red'));
  const silent = now - host.seen;
  if (silent > 20) chips.append(chip(`silent for ${span(silent * 1000)}`, 'amber'));
  return h(
    'section',
    { class: 'card w6' },
    h('h2', {}, host.host, chips),
    meter('CPU', host.grantedCpu, host.wantedCpu, host.allocatableCpu, host.poolCpu, cores, 'cores'),
    meter('Memory', host.grantedMemory, host.wantedMemory, host.allocatableMemory, host.poolMemory, memory, ''),
    h(
      'p',
      { class: 'note' },
      `${host.functions} functions active, ${host.containers} containers, ${host.running} running, ${number(host.calls)} calls` +
        (host.version === '' ? '' : `; Gleaner ${host.version}`),
    ),
  );
}

function meter(
  name: string,
  granted: number,
  wanted: number,
  allocatable: number,
  pool: number,
  text: (value: number) => string,
  unit: string,
): HTMLElement {
  const bar = h('div', { class: 'meter' });
  const most = Math.max(allocatable, wanted, granted) || 1;
  const piece = (tone: string, from: number, to: number): void => {
    const part = h('i', { class: `tone-${tone}` });
    part.style.setProperty('left', `${((100 * from) / most).toFixed(1)}%`);
    part.style.setProperty('width', `${((100 * Math.max(0, to - from)) / most).toFixed(1)}%`);
    bar.append(part);
  };
  piece('green', 0, granted);
  if (wanted > granted) piece('amber', granted, wanted);
  const end = h('b', { title: `${text(allocatable)} ${unit} can be given` });
  end.style.setProperty('left', `calc(${((100 * allocatable) / most).toFixed(1)}% - 1px)`);
  bar.append(end);
  return h(
    'div',
    { class: 'metered' },
    h(
      'div',
      { class: 'legend' },
      h('b', {}, name),
      h('span', { class: 'tone-green' }, h('i'), 'granted ', h('b', {}, text(granted))),
      h('span', { class: 'tone-amber' }, h('i'), 'wanted ', h('b', {}, text(wanted))),
      h('span', {}, 'of ', h('b', {}, `${text(allocatable)} ${unit}`)),
      h('span', {}, 'free to lend ', h('b', {}, text(pool))),
    ),
    bar,
  );
}
