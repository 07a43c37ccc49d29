import type { FunctionView, HostView } from '../broker/services/index.js';
import { modeInForce, reasonText } from '../rules/index.js';
import {
  type Colors,
  type Column,
  coreLimit,
  cores,
  count,
  fittedColumns,
  left,
  mebibytesText,
  plainText,
  right,
  type Screen,
  span,
  visibleLength,
} from '../runtime/index.js';
import { verdictLines } from './verdict.js';

export interface LiveModel {
  readonly hosts: readonly HostView[];
  /** Seconds without an answer of each host's hook that no longer answers; figures are old. */
  readonly silentSeconds: Readonly<Record<string, number>>;
  readonly functions: readonly FunctionView[];
  /** As configured; null: the configuration is not that of the agents. */
  readonly manager: string | null;
  readonly platform: string;
  readonly nats: 'connected' | 'away';
  /** Uptime of `gleaner up`; null in other views. */
  readonly upSeconds: number | null;
  readonly restarts: number;
  /** Address of the dashboard; null: none. */
  readonly dashboard: string | null;
  /** Newest last. */
  readonly notes: readonly string[];
}

const HIDE_CURSOR = '\u001b[?25l';
const SHOW_CURSOR = '\u001b[?25h';
const HOME = '\u001b[H';
const CLEAR_BELOW = '\u001b[J';
const CLEAR_LINE_END = '\u001b[K';
const OTHER_SCREEN = '\u001b[?1049h';
const OWN_SCREEN = '\u001b[?1049l';

const seconds = (value: number): string =>
  value === 0 ? '-' : value < 100 ? value.toFixed(1) : String(Math.round(value));

function limits(
  cpu: number,
  shares: number,
  memory: number,
  mode: FunctionView['cpuMode'],
): string {
  const inForce = mode === 'quota' ? coreLimit(cpu) : `w${Math.round(shares)}`;
  return `${inForce} / ${mebibytesText(memory)}`;
}

function columns(colors: Colors): Column<FunctionView>[] {
  return [
    left('function', (row) => row.name),
    right('activations', (row) => count(row.activations)),
    right('run', (row) => (row.running > 0 ? colors.bold(String(row.running)) : '-')),
    right('user', (row) => limits(row.userCpu, row.userShares, row.userMemory, row.cpuMode)),
    right('now', (row) => colored(row, colors)),
    right('harvested', (row) => colors.green(seconds(row.harvestedCpuSeconds))),
    right('borrowed', (row) => colors.cyan(seconds(row.acceleratedCpuSeconds))),
    right('lent MiB', (row) => (row.borrowedMemory > 0 ? mebibytesText(row.borrowedMemory) : '-')),
    right('saved', (row) => seconds(row.savedSeconds)),
    right('p99', (row) => objective(row, colors)),
    right('slo', (row) => (row.slo === null ? 'learning' : span(row.slo))),
    left('safeguard', (row) => reasonText(row.safeguard)),
  ];
}

function objective(row: FunctionView, colors: Colors): string {
  if (row.learning !== undefined && row.learning.activations < row.learning.activationsNeeded)
    return '-';
  const text = span(row.p99);
  if (row.objective === 'kept') return colors.green(text);
  return row.objective === 'missed' ? colors.red(text) : text;
}

/** Columns that a narrow screen leaves out, in this order. */
const OPTIONAL_COLUMNS = ['lent MiB', 'run', 'safeguard', 'saved', 'activations', 'user'];

/** Joins parts to lines, broken between parts at the screen's width. */
function folded(parts: readonly string[], width: number): string[] {
  const lines: string[] = [];
  for (const part of parts) {
    const last = lines.at(-1);
    if (last !== undefined && visibleLength(last) + 2 + visibleLength(part) <= width)
      lines[lines.length - 1] = `${last}  ${part}`;
    else lines.push(part);
  }
  return lines;
}

const LEGEND = [
  'user, now: cores or weight / MiB',
  'harvested, borrowed: core-seconds',
  'saved: seconds (estimate)',
  'p99, slo: warm activations',
  'safeguard: reason of the allowed limits',
  'in another terminal: gleaner explain FUNCTION',
];

/** Ctrl-C stops `gleaner up` and everything it started, but only the view of `gleaner top`. */
const ending = ({ upSeconds }: LiveModel): string =>
  upSeconds === null ? 'Ctrl-C quits this view only' : 'Ctrl-C restores and stops';

/** Green below the user limit, cyan above. */
function colored(row: FunctionView, colors: Colors): string {
  const text = limits(row.cpu, row.shares, row.memory, row.cpuMode);
  const [now, user] =
    row.cpuMode === 'quota' ? [row.cpu, row.userCpu] : [row.shares, row.userShares];
  if (now > 0 && now < user) return colors.green(text);
  return now > user || row.memory > row.userMemory ? colors.cyan(text) : text;
}

/** The whole view as text, cut to the screen's width. */
export function renderLive(
  model: LiveModel,
  colors: Colors,
  width: number,
  height = Number.POSITIVE_INFINITY,
): string {
  const lines: string[] = [];
  const state =
    model.nats === 'connected'
      ? colors.green('NATS')
      : colors.red('NATS disconnected: user limits');
  const first = [
    colors.bold('gleaner'),
    `platform ${model.platform}`,
    ...(model.manager === null ? [] : [`manager ${plainText(model.manager)}`]),
    state,
  ];
  if (model.upSeconds !== null) first.push(`up ${model.upSeconds} s`);
  if (model.dashboard !== null) first.push(colors.cyan(model.dashboard));
  if (model.restarts > 0) first.push(`restarts ${model.restarts}`);
  lines.push(...folded(first, width));
  for (const host of model.hosts) {
    const mode = host.killed ? colors.red('stopped by the kill switch') : host.mode;
    const silent = silenceText(host.host, model);
    lines.push(
      ...folded(
        [
          `host ${plainText(host.host)}`,
          ...(silent === null ? [] : [colors.red(silent)]),
          `mode ${mode}`,
          `${cores(host.cpu)} cores ${mebibytesText(host.memory)} MiB`,
          `pool ${cores(host.poolCpu)} cores ${mebibytesText(host.poolMemory)} MiB`,
          `activations ${host.activations}`,
          `running ${host.running}`,
        ],
        width,
      ),
    );
  }
  if (model.hosts.length === 0) lines.push(colors.dim('waiting for the hook …'));
  const [verdict, ...changedFunctions] = verdictLines(model.hosts, model.functions);
  if (verdict !== undefined) lines.push(colors.bold(verdict));
  lines.push(...changedFunctions);
  lines.push('');
  const legend = folded([...LEGEND, ending(model)], width).map((line) => colors.dim(line));
  // Four lines: heading, count of hidden rows, empty line before the legend, cursor.
  const maxRows = Math.max(1, height - lines.length - model.notes.length - legend.length - 4);
  const shown = model.functions.slice(0, maxRows);
  if (shown.length > 0) {
    const { heading, lines: rows } = fittedColumns(columns(colors), shown, OPTIONAL_COLUMNS, width);
    lines.push(heading, ...rows);
  } else if (model.hosts.length > 0) lines.push(colors.dim('no activation seen yet'));
  if (shown.length < model.functions.length)
    lines.push(colors.dim(`… ${model.functions.length - shown.length} more`));
  lines.push('', ...legend);
  for (const note of model.notes) lines.push(plainText(note));
  return lines.map((line) => cut(line, width)).join('\n');
}

/** Cuts at the visible width, never inside an escape sequence. */
function cut(line: string, width: number): string {
  if (visibleLength(line) <= width) return line;
  let out = '';
  let seen = 0;
  for (let i = 0; i < line.length && seen < width; i++) {
    if (line[i] === '\u001b') {
      const end = line.indexOf('m', i);
      if (end < 0) break;
      out += line.slice(i, end + 1);
      i = end;
    } else {
      out += line[i];
      seen++;
    }
  }
  return line.includes('\u001b') ? `${out}\u001b[0m` : out;
}

/** Null: the host's hook answers. */
function silenceText(host: string, { silentSeconds }: LiveModel): string | null {
  const seconds = silentSeconds[host];
  return seconds === undefined ? null : `hook does not answer since ${seconds} s`;
}

/** One line for logs, if there is no terminal. */
export function renderPlain(model: LiveModel): string {
  let harvested = 0;
  let borrowed = 0;
  let saved = 0;
  let activations = 0;
  let kept = 0;
  let missed = 0;
  for (const row of model.functions) {
    harvested += row.harvestedCpuSeconds;
    borrowed += row.acceleratedCpuSeconds;
    saved += row.savedSeconds;
    activations += row.activations;
    if (row.objective === 'kept') kept++;
    else if (row.objective === 'missed') missed++;
  }
  const judged = kept + missed;
  const slo = judged === 0 ? 'learning' : `kept ${kept}/${judged}`;
  const mode = model.hosts.map(modeInForce).join(',');
  const silent = model.hosts
    .map(({ host }) => ({ host, text: silenceText(host, model) }))
    .flatMap(({ host, text }) => (text === null ? [] : [`${plainText(host)}: ${text}  `]))
    .join('');
  const noMode = model.upSeconds === null ? 'no hook answers' : 'mode starting';
  const up = model.upSeconds === null ? '' : `up ${model.upSeconds} s  `;
  const nats = model.nats === 'connected' ? '' : 'NATS disconnected  ';
  const [verdict] = verdictLines(model.hosts, model.functions);
  const compared = verdict === undefined ? '' : `  ${verdict}`;
  const figures = [
    `functions ${model.functions.length}`,
    `activations ${activations}`,
    `harvested ${harvested.toFixed(1)} core-s`,
    `borrowed ${borrowed.toFixed(1)} core-s`,
    `saved ${saved.toFixed(1)} s`,
    `SLO ${slo}`,
  ];
  const modes = mode === '' ? noMode : `mode ${mode}`;
  return `${up}${nats}${silent}${modes}  ${figures.join('  ')}${compared}`;
}

/** Draws on the terminal's alternate screen, so that the previous content comes back. */
export class LiveScreen {
  readonly #screen: Screen;
  readonly #colors: Colors;
  #open = false;

  constructor(screen: Screen, colors: Colors) {
    this.#screen = screen;
    this.#colors = colors;
  }

  draw(model: LiveModel, rows: number): void {
    // A slow terminal skips pictures.
    if ((this.#screen.pending ?? 0) > 0) return;
    const text = renderLive(model, this.#colors, this.#screen.columns, rows);
    const start = this.#open ? HOME : `${OTHER_SCREEN}${HIDE_CURSOR}${HOME}`;
    this.#open = true;
    this.#screen.write(
      `${start}${text.split('\n').join(`${CLEAR_LINE_END}\n`)}${CLEAR_LINE_END}${CLEAR_BELOW}`,
    );
  }

  get isOpen(): boolean {
    return this.#open;
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#screen.write(`${SHOW_CURSOR}${OWN_SCREEN}`);
  }
}
