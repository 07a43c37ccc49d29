import type { HostRow } from '../../wire.js';
import { actionButton } from '../actions.js';
import { h, setChildren, setStyle, setText } from '../dom.js';
import { cores, counted, memory, NONE, number, span, times } from '../format.js';
import {
  agoCell,
  chip,
  emptyNote,
  modeTone,
  PlainTable,
  pageHead,
  space,
  tableCard,
  td,
} from '../parts.js';
import type { Page, State } from '../state.js';

const SHOWN = 200;

export function hostsPage(): Page {
  const hosts = h('div.grid');
  const services = new PlainTable(
    [
      { title: 'Service' },
      { title: 'Host' },
      { title: 'Version' },
      { title: 'Started' },
      { title: 'Requests', hint: 'to its service, since its start', right: true },
      {
        title: 'Refused',
        hint: 'malformed, or named something unknown',
        right: true,
      },
      { title: 'Failures', hint: 'of the service itself: see its log', right: true },
      { title: 'Takes', unit: 'mean', hint: 'time of a request', right: true },
    ],
    'no answer from any part',
  );
  const pages = h('small.legend', { title: 'of this dashboard; totals since its start' });
  const parts = tableCard('after', 'Parts', 'that answer on NATS', services);
  parts.querySelector('h2')?.append(pages);
  const buttons = h('div.chips');
  const count = h('span.sub');
  const element = h('div', pageHead('Hosts', count, space(), buttons), hosts, parts);
  let made = false;
  return {
    title: 'Hosts',
    element,
    update(state) {
      if (state.writable && !made) {
        made = true;
        const mode = h(
          'select',
          { 'aria-label': 'Mode of all functions' },
          h('option', { value: '' }, 'Mode…'),
        );
        for (const name of ['observe', 'recommend', 'enforce', 'default'])
          mode.append(h('option', { value: name }, name));
        const set = actionButton('Set', () => ({ action: 'mode', mode: mode.value }), {
          confirmed: () => `Set the mode of all functions on all hosts to ${mode.value}?`,
        });
        set.disabled = true;
        mode.addEventListener('change', () => {
          set.disabled = mode.value === '';
        });
        const restore = actionButton('Restore all limits', () => ({ action: 'restore' }), {
          danger: true,
          confirmed: () => 'Restore the user limits of every container now?',
        });
        buttons.replaceChildren(mode, set, restore);
      }
      setText(
        count,
        state.hosts.length > SHOWN ? `${SHOWN} of ${state.hosts.length}` : `${state.hosts.length}`,
      );
      setChildren(
        hosts,
        ...(state.hosts.length === 0
          ? [h('section.card', emptyNote(noHook(state)))]
          : state.hosts.slice(0, SHOWN).map((host) => hostCard(host, state.now))),
      );
      const { open, missedTicks, dead } = state.pages;
      setText(
        pages,
        `${counted(open, 'page')} open, ${missedTicks} ticks missed, ${dead} closed as dead`,
      );
      services.set(
        state.services.map((row) => ({
          key: `${row.service} ${row.host} ${row.started}`,
          cells: [
            td(row.paused ? h('span', `${row.service} `, pausedChip()) : row.service),
            td(row.host),
            td(row.version),
            agoCell(state.now, Date.parse(row.started) / 1000),
            td(number(row.requests)),
            td(String(row.refused), 'dim'),
            td(String(row.failures), row.failures > 0 ? 'bad' : 'dim', row.lastFailure),
            td(span(row.micros / 1000)),
          ],
        })),
      );
    },
  };
}

const pausedChip = (): HTMLElement =>
  chip('paused', 'amber', 'publishes nothing until it is resumed');

const noHook = ({ silentParts }: State): string =>
  silentParts.some(({ service }) => service === 'gleaner-hook')
    ? 'no hook answers: see Needs attention on the overview'
    : 'no hook yet: run `gleaner hook` on an invoker';

function hostCard(host: HostRow, now: number): HTMLElement {
  const chips = h('span.chips');
  const by = host.killedBy.join(', ');
  chips.append(chip(host.mode, modeTone(host.mode), by === '' ? '' : `kill switch: ${by}`));
  if (host.platform !== '' && host.platform !== 'host') chips.append(chip(host.platform));
  if (host.clockRate !== 1) chips.append(chip(`time ${times(host.clockRate)}`, 'amber'));
  if (host.tapLost.length > 0) chips.append(chip('tap lost', 'red', host.tapLost.join('; ')));
  if (host.auditProblem !== '')
    chips.append(chip('audit log not written', 'amber', host.auditProblem));
  if (!host.isEngineReachable) chips.append(chip('engine unreachable', 'red'));
  if (host.alarm) chips.append(chip('slower than control', 'red'));
  const silent = now - host.seen;
  if (silent > host.silentAfterSeconds)
    chips.append(chip(`silent for ${span(silent * 1000)}`, 'amber'));
  return h(
    'section.card.w6',
    { 'data-key': host.host },
    h('h2', host.host, chips),
    meter('CPU', host.usedCpu, host.grantedCpu, host.allocatableCpu, host.poolCpu, cores, ' cores'),
    meter(
      'Memory',
      host.usedMemory,
      host.grantedMemory,
      host.allocatableMemory,
      host.poolMemory,
      memory,
      '',
    ),
    h(
      'p.note',
      [
        `${host.functions} functions active`,
        `${host.containers} containers`,
        `${host.running} running`,
        `${number(host.activations)} activations`,
      ].join(', ') + (host.version === '' ? '' : `; Gleaner ${host.version}`),
    ),
  );
}

function meter(
  name: string,
  used: number | null,
  granted: number,
  allocatable: number,
  pool: number,
  text: (value: number) => string,
  unit: string,
): HTMLElement {
  const bar = h('div.meter');
  const most = Math.max(allocatable, used ?? 0, granted) || 1;
  const piece = (tone: string, to: number, thin: boolean): void => {
    const part = h('i', { class: `tone-${tone}${thin ? ' thin' : ''}` });
    setStyle(part, 'width', `${((100 * to) / most).toFixed(1)}%`);
    bar.append(part);
  };
  piece('green', granted, false);
  if (used !== null) piece('violet', used, true);
  const end = h('b', { title: `${text(allocatable)}${unit} allocatable` });
  setStyle(end, 'left', `calc(${((100 * allocatable) / most).toFixed(1)}% - 1px)`);
  bar.append(end);
  return h(
    'div.metered',
    h(
      'div.legend',
      h('b', name),
      h('span.tone-violet', h('i'), 'used ', h('b', used === null ? NONE : text(used))),
      h('span.tone-green', h('i'), 'granted ', h('b', text(granted))),
      h('span', 'of ', h('b', `${text(allocatable)}${unit}`)),
      h('span', 'free to lend ', h('b', text(pool))),
    ),
    bar,
  );
}
