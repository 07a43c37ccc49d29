import { type Command, Option } from 'commander';
import { EXIT, errorClass, systemClock } from '../../config/index.js';
import {
  isDue,
  Journal,
  type JudgedSize,
  killedSizes,
  openChanges,
  recommendSizes,
} from '../../openwhisk-plugin/openwhisk-api/index.js';
import {
  connectPart,
  fetchSizeEvidence,
  json,
  left,
  loadSettings,
  makeLogger,
  mebibytesText,
  processFaults,
  processScreen,
  right,
  runAsProcess,
  SystemdNotifier,
  serversOf,
  statePaths,
  table,
  withBroker,
} from '../../runtime/index.js';
import {
  connectActions,
  FOLLOW_STOP,
  followSizes,
  holdsOf,
  rightSizingOf,
  sizingRules,
} from '../../runtime/wiring/index.js';
import { addOutputOption, globalOptions, type OutputOptions } from './common.js';

class NoEvidenceError extends errorClass('GLN_ACTIONS_NO_EVIDENCE') {}

export function addRecommend(actions: Command): void {
  const command = actions
    .command('recommend')
    .description('recommend a memory size for every action, with the evidence; change nothing')
    .addOption(new Option('--all', 'also actions with too little evidence'));
  addOutputOption(command).action(async (options: OutputOptions & { readonly all?: boolean }) => {
    const { config } = loadSettings(globalOptions(command));
    const { killSwitch } = statePaths(config);
    const { evidence, held } = await withBroker(config, async (broker) => {
      const evidence = await fetchSizeEvidence(broker);
      const names = evidence.advice.map((one) => one.function);
      return { evidence, held: await holdsOf({ broker, killSwitch })(names) };
    });
    if (evidence.advice.length === 0) throw new NoEvidenceError();
    const entries = Journal.read(statePaths(config).actions);
    let sizes: JudgedSize[];
    if (config.openwhisk.apiHost === null) {
      const inputs = { open: openChanges(entries), killed: killedSizes(entries), now: Date.now() };
      const rules = sizingRules(config);
      const heldBy = 'openwhisk.apiHost is not set';
      sizes = recommendSizes({ ...evidence, ...inputs, rules }).map((one) => ({
        ...one,
        heldBy,
        rangeLimit: '',
      }));
    } else {
      sizes = await rightSizingOf(config, await connectActions(config), null).recommend(
        evidence,
        entries,
      );
    }
    sizes = sizes.map((one) => ({
      ...one,
      heldBy: one.heldBy || (isDue(one) && held.get(one.function)) || '',
    }));
    const shown = options.all ? sizes : sizes.filter(({ verdict }) => !verdict.startsWith('too '));
    processScreen.write(options.output === 'json' ? json(shown) : sizesText(shown, sizes.length));
    process.exitCode = EXIT.ok;
  });
}

const hours = (ms: number): string => (ms / 3_600_000).toFixed(1);

function sizesText(sizes: readonly JudgedSize[], all: number): string {
  const rows = table(sizes, [
    left('function', (row) => row.function),
    right('MiB', (row) => mebibytesText(row.from)),
    right('recommended MiB', (row) => mebibytesText(row.to)),
    right('peak MiB', (row) => mebibytesText(row.evidence.highest)),
    right('recent MiB', (row) => mebibytesText(row.evidence.recent)),
    right('activations', (row) => String(row.evidence.activations)),
    right('hours', (row) => hours(row.evidence.seen)),
    right('uncertainty %', (row) => (100 * row.uncertainty).toFixed(1)),
    right('frees MiB', (row) => mebibytesText(row.frees)),
    right('costs starts', (row) => String(row.costs)),
    right('saves starts/h', (row) => (row.saves === null ? '-' : row.saves.toFixed(1))),
    left('verdict', (row) => row.verdict),
    left('held by', (row) => row.heldBy || row.rangeLimit || '-'),
  ]);
  const rest = all - sizes.length;
  const hidden = rest > 0 ? `--all shows ${rest} more with too little evidence\n` : '';
  return `${rows}
COSTS STARTS: cold starts of the new revision, once. SAVES STARTS/H: cold starts saved (estimate).
UNCERTAINTY: chance that the next activation exceeds all before it; the size has a margin.
${hidden}`;
}

export function addFollow(actions: Command): void {
  const command = actions
    .command('follow')
    .description(
      'write recommended sizes until stopped, if the mode is enforce: a few first, as canaries; ' +
        'undo at the first OOM kill',
    );
  command.action(() => {
    const systemd = SystemdNotifier.from(process.env, systemClock);
    return runAsProcess(async () => {
      const { config } = loadSettings(globalOptions(command));
      const logger = makeLogger(config.log.level, 'actions');
      processFaults.logTo(logger);
      const stopping = new AbortController();
      const { signal } = stopping;
      const stop = (): void => stopping.abort();
      // Ctrl-C works while the API is away.
      for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, stop);
      const writer = await connectActions(config, {
        waiting: (error, wait) =>
          logger.warn({ event: 'openwhisk_away', error, wait }, 'OpenWhisk is unreachable'),
        waitForHost: true,
        signal,
      });
      for (const name of ['SIGINT', 'SIGTERM'] as const) process.off(name, stop);
      const { everyS } = config.openwhisk.rightSizing;
      logger.info({ event: 'right_sizing_started', everyS }, 'right-sizing started');
      const broker = await connectPart(
        { ...config.nats, servers: [...serversOf(config)] },
        'actions',
        { logger, whileAway: 'no action is changed' },
      );
      const following = followSizes({ config, writer, broker, logger, stopping });
      void following.turn();
      return {
        stopMillis: FOLLOW_STOP,
        stop: async () => {
          await following.stop();
          await broker.close();
        },
      };
    }, systemd);
  });
}
