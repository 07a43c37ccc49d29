import { type Command, Option } from 'commander';
import { EVENT_KINDS, wildcards } from '../../broker/index.js';
import { decodeEvent, type GleanerEvent } from '../../broker/messages/index.js';
import { EXIT, reportProblem } from '../../config/index.js';
import { coresText, reasonText } from '../../rules/index.js';
import {
  type Colors,
  colorsFor,
  loadSettings,
  localTime,
  mebibytesText,
  type OutputFormat,
  plainText,
  processScreen,
  withBroker,
} from '../../runtime/index.js';
import { checkFunctionName, globalOptions, seconds, untilStopped } from './common.js';

interface EventOptions {
  readonly follow?: boolean;
  readonly for: number;
  readonly kind?: readonly string[];
  readonly function?: string;
  readonly output: OutputFormat;
}

const amount = ({ resource }: GleanerEvent, value: number): string =>
  resource === 'cpu'
    ? coresText(value)
    : resource === 'memory'
      ? `${mebibytesText(value)} MiB`
      : String(value);

function paint(kind: GleanerEvent['kind'], colors: Colors): (text: string) => string {
  if (kind === 'oom' || kind === 'drift') return colors.red;
  if (kind === 'safeguard') return colors.yellow;
  if (kind === 'harvest' || kind === 'release') return colors.green;
  return kind === 'loan' ? colors.cyan : colors.bold;
}

/** One line: time, kind, function, host, what changed and why. */
export function eventText(event: GleanerEvent, colors: Colors): string {
  const time = localTime(event.at, 'time');
  const [before, after] = [event.before, event.after].map((value) =>
    value === undefined ? '' : amount(event, value),
  );
  // Equal values: a restored user limit, whose previous value differs for each activation.
  const change =
    before === '' || after === '' ? '' : before === after ? `  ${after}` : `  ${before} → ${after}`;
  const kind = paint(event.kind, colors)(event.kind.padEnd(9));
  const [fn, host, reason] = [event.function ?? '-', event.host, reasonText(event.reason)].map(
    plainText,
  );
  return `${time}  ${kind}  ${fn}  ${host}${change}  ${reason}`;
}

export function addCommands(program: Command): void {
  const command = program
    .command('events')
    .description(`print events as they happen: ${EVENT_KINDS.join(', ')}`)
    .option('-f, --follow', 'continue until Ctrl-C')
    .option('--for <seconds>', 'duration without --follow', seconds, 5)
    .addOption(new Option('-k, --kind <kind...>', 'only these kinds').choices([...EVENT_KINDS]))
    .option('--function <name>', 'only of this function')
    .addOption(
      new Option('-o, --output <format>', 'lines for people, or one JSON object per line')
        .choices(['table', 'json'])
        .default('table'),
    );
  command.action(async (options: EventOptions) => {
    checkFunctionName(options.function);
    const { config } = loadSettings(globalOptions(command));
    const colors = colorsFor(processScreen, process.env);
    let received = 0;
    await withBroker(config, async (broker) => {
      const refused = new AbortController();
      broker.onStatus((status) => {
        if (status.kind === 'error' && status.error.code === 'GLN_BROKER_AUTH')
          refused.abort(status.error);
      });
      broker.subscribe(wildcards.events, ({ data }) => {
        const decoded = decodeEvent(data);
        if (!decoded.ok) return;
        const { message } = decoded;
        if (options.kind !== undefined && !options.kind.includes(message.kind)) return;
        if (options.function !== undefined && message.function !== options.function) return;
        received++;
        processScreen.write(
          options.output === 'json'
            ? `${JSON.stringify(message)}\n`
            : `${eventText(message, colors)}\n`,
        );
      });
      await untilStopped(options.follow ? undefined : options.for, refused.signal);
    });
    if (received === 0 && !options.follow)
      reportProblem(
        `no such event within ${options.for} s`,
        'listen longer: --for SECONDS, or --follow',
      );
    process.exitCode = EXIT.ok;
  });
}
