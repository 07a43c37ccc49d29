import { type Command, Option } from 'commander';
import { decodeEvent, EVENT_KINDS, type GleanerEvent, reasonText, wildcards } from '../../broker/index.js';
import { withBroker } from '../connection.js';
import { EXIT, reportProblem } from '../exit.js';
import {
  type Colours,
  coloursFor,
  cores,
  localTime,
  mebibytesText,
  type OutputFormat,
  plainText,
  processScreen,
} from '../output.js';
import { loadSettings } from '../settings.js';
import { checkFunctionName, globalOptions, seconds, untilStopped } from './common.js';

interface EventOptions {
  readonly follow?: boolean;
  readonly for: number;
  readonly kind?: readonly string[];
  readonly function?: string;
  readonly output: OutputFormat;
}

const amount = ({ resource }: GleanerEvent, value: number): string =>
  resource === 'cpu' ? `${cores(value)} cores` : resource === 'memory' ? `${mebibytesText(value)} MiB` : String(value);

function paint(kind: GleanerEvent['kind'], colours: Colours): (text: string) => string {
  if (kind === 'oom' || kind === 'drift') return colours.red;
  if (kind === 'safeguard') return colours.yellow;
  if (kind === 'harvest' || kind === 'release') return colours.green;
  return kind === 'loan' ? colours.cyan : colours.bold;
}

/** One line: time, kind, function, host, what changed and why. */
export function eventText(event: GleanerEvent, colours: Colours): string {
  const time = localTime(event.at, 'time');
  const [before, after] = [event.before, event.after].map((value) => (value === undefined ? '' : amount(event, value)));
  // A limit that is the user's again: what it was changes with each activation and is not told.
  const change = before === '' || after === '' ? '' : before === after ? `  ${after}` : `  ${before} → ${after}`;
  const kind = paint(event.kind, colours)(event.kind.padEnd(9));
  return `${time}  ${kind}  ${plainText(event.function ?? '-')}  ${plainText(event.host)}${change}  ${plainText(reasonText(event.reason))}`;
}

export function addEvents(program: Command): void {
  const command = program
    .command('events')
    .description(`print events as they happen: ${EVENT_KINDS.join(', ')}`)
    .option('-f, --follow', 'go on until Ctrl-C')
    .option('--for <seconds>', 'without --follow: listen this long', seconds, 5)
    .addOption(new Option('-k, --kind <kind...>', 'only these').choices([...EVENT_KINDS]))
    .option('--function <name>', 'only of this function')
    .addOption(
      new Option('-o, --output <format>', 'lines for people, or one JSON object per line')
        .choices(['table', 'json'])
        .default('table'),
    );
  command.action(async (options: EventOptions) => {
    checkFunctionName(options.function);
    const { config } = loadSettings(globalOptions(command));
    const colours = coloursFor(processScreen, process.env);
    let received = 0;
    await withBroker(config, async (broker) => {
      broker.subscribe(wildcards.events, ({ data }) => {
        const decoded = decodeEvent(data);
        if (!decoded.ok) return;
        const { message } = decoded;
        if (options.kind !== undefined && !options.kind.includes(message.kind)) return;
        if (options.function !== undefined && message.function !== options.function) return;
        received++;
        processScreen.write(
          options.output === 'json' ? `${JSON.stringify(message)}\n` : `${eventText(message, colours)}\n`,
        );
      });
      await untilStopped(options.follow ? undefined : options.for);
    });
    if (received === 0 && !options.follow)
      reportProblem(`no such event within ${options.for} s`, 'listen longer: --for SECONDS, or --follow');
    process.exitCode = EXIT.ok;
  });
}
