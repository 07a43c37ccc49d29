import type { ActivationView, AgentStep, FunctionDetail } from '../../wire.js';
import { h, setStyle, setText } from '../dom.js';
import { clock, cores, instant, memory, NONE, percent, span, times, words } from '../format.js';
import { agoCell, chip, type Heading, PlainTable, rangeMark, tableCard, td } from '../parts.js';

const ACTIVATION_COLUMNS: readonly Heading[] = [
  { title: 'When' },
  { title: 'Took' },
  { title: 'CPU', unit: 'cores' },
  { title: 'Why this CPU', hint: 'reason of the allowed range; what chose within it' },
  { title: 'Memory' },
  { title: 'Why this memory', hint: 'reason of the allowed range; what chose within it' },
  { title: 'Result', hint: 'effect of Gleaner on it, and how it ended' },
];
const STEP_COLUMNS: readonly Heading[] = [
  { title: 'Step' },
  { title: 'When' },
  { title: 'Features', hint: 'inputs of the decision, each from 0 to 1' },
  { title: 'CPU price', hint: 'demand above what its host has, as a part of it, at most 1' },
  { title: 'Requested', hint: 'what the hook is asked for; the safeguard may clip it' },
  { title: 'Sent', hint: 'to the hook, as a target' },
];

/** Tables of a function's page: its last activations, and its agent's last decisions. */
export class FunctionTables {
  readonly #activations = new PlainTable(ACTIVATION_COLUMNS, 'no activation has ended yet');
  readonly #steps = new PlainTable(STEP_COLUMNS, 'no decision of an agent yet');
  readonly #features = h('p.note.feature-names');
  readonly cards = [
    tableCard('', 'Decisions', 'range, grant and use of the last activations', this.#activations),
    tableCard('', 'Agent', 'its last decisions with their inputs', this.#steps, this.#features),
  ];

  set({ activations, steps, featureNames }: FunctionDetail): void {
    this.#activations.set(
      activations.map((one) => ({
        key: `${one.host} ${one.activation}`,
        cells: activationCells(one),
      })),
    );
    this.#steps.set(
      steps.map((one) => ({ key: `${one.step} ${one.at}`, cells: stepCells(one, featureNames) })),
    );
    setText(
      this.#features,
      featureNames.length === 0
        ? ''
        : `Features, from left to right: ${featureNames.map(words).join(', ')}.`,
    );
  }
}

function activationCells(one: ActivationView): HTMLElement[] {
  const marks = h('span.chips');
  if (one.cold) marks.append(chip('cold start', 'blue', `init ${span(one.init)}`));
  if (one.control) marks.append(chip('control arm', '', 'ran at user limits, for comparison'));
  if (one.tripped)
    marks.append(chip('safeguard', 'amber', 'the user’s limit was restored while it ran'));
  if (one.limitsChanged)
    marks.append(chip('limits changed', 'amber', 'the user changed the limits while it ran'));
  if (one.endedBy !== '') marks.append(chip(one.endedBy, 'red', 'how it ended'));
  const usesWeights = one.cpuMode === 'weight';
  const factor = (one.shares ?? 0) / (one.userShares || 1);
  return [
    td(clock(one.at), 'wrap', `${instant(one.at)}, ${one.activation} on ${one.host}`),
    td(span(one.duration)),
    h(
      'td',
      usesWeights
        ? h(
            'span',
            { class: factor > 1.01 ? 'lent' : factor < 0.99 ? 'good' : '' },
            `weight ${times(factor)}`,
          )
        : rangeMark(one.cpu, cores),
      usesWeights ? '' : ` ${cores(one.cpu.granted)}`,
    ),
    td(usesWeights ? 'no quota: weight by its expected length' : one.cpu.why, 'wrap dim'),
    h('td', rangeMark(one.memory, memory), ` ${memory(one.memory.granted)}`),
    td(one.memory.why, 'wrap dim'),
    h('td.wrap', marks, ` ${resultText(one)}`),
  ];
}

function resultText(one: ActivationView): string {
  const parts: string[] = [];
  if (!one.enforced && !one.control) parts.push('not enforced');
  if (one.harvested > 0) parts.push(`kept ${span(one.harvested)} of CPU free`);
  if (one.accelerated > 0) parts.push(`used ${span(one.accelerated)} of CPU above the limit`);
  if (one.saved > 0) parts.push(`saved about ${span(one.saved)}`);
  if (one.loan > 0) parts.push(`memory loan ${memory(one.loan)}`);
  return parts.join('; ');
}

function stepCells(step: AgentStep, names: readonly string[]): HTMLElement[] {
  const tooltip = step.features
    .map((value, i) => `${words(names[i] ?? `feature ${i + 1}`)} ${percent(value)}`)
    .join(', ');
  const mini = h('span.mini', { role: 'img', 'aria-label': tooltip, title: tooltip });
  for (const value of step.features) {
    const bar = h('i');
    setStyle(bar, 'height', `${Math.round(value * 100)}%`);
    mini.append(bar);
  }
  const { cpu, memory: bytes, weight } = step.requested;
  const requested = [
    cpu ?? '',
    weight === null ? '' : `weight ${times(weight)}`,
    bytes === null ? '' : memory(bytes),
  ].filter(Boolean);
  return [
    td(String(step.step)),
    agoCell(Date.now() / 1000, step.at),
    td(mini),
    td(step.priceCpu === null ? NONE : step.priceCpu.toFixed(2)),
    td(requested.join(', ') || 'nothing', 'wrap'),
    td(step.sent ? 'yes' : chip('no', 'amber', 'paused, or not a valid target')),
  ];
}
