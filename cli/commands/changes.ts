import type { Command } from 'commander';
import { services } from '../../broker/index.js';
import { agentsService, callEveryInstance } from '../../broker/services/index.js';
import { EXIT, messageOf, reportProblem } from '../../config/index.js';
import { inspectHooks, loadSettings, plainText, withBroker } from '../../runtime/index.js';
import {
  changeEverywhere,
  inForceText,
  modeOutcomeJson,
  reportModeOutcome,
  storeForOption,
} from '../mode-change.js';
import {
  addOutputOption,
  author,
  checkFunctionName,
  globalOptions,
  noteKilled,
  noteUnseen,
  type OutputOptions,
  print,
  reportNoAnswer,
} from './common.js';

interface ReasonOptions extends OutputOptions {
  readonly reason: string;
  readonly storeFor: number;
}

const NAME = 'fully qualified: /namespace/package/action or /namespace/action';

/** Meaning of the phase after `retrain`. */
const LEARNS: Readonly<Record<string, string>> = {
  online: ', it learns',
  guarded: ', it learns while the fallback acts',
  offline: ', unchanged: it still learns from its fallback',
};

/** Pauses are stored in the bucket `gleaner_mode`, for every host and over restarts. */
function addPause(program: Command, name: 'pause' | 'resume', description: string): void {
  const command = program
    .command(name)
    .description(description)
    .argument('<function>', NAME)
    .option('--reason <text>', 'reason, for the audit log', '')
    .addOption(storeForOption());
  addOutputOption(command).action(async (fn: string, options: ReasonOptions) => {
    checkFunctionName(fn);
    const paused = name === 'pause';
    const { config } = loadSettings(globalOptions(command));
    const who = { author: author(), reason: options.reason };
    const { outcome, hooks } = await withBroker(config, async (broker) => {
      const outcome = await changeEverywhere(broker, fn, { paused }, who, options.storeFor);
      // The change is made, whether or not the hooks can be asked.
      const { hooks } = await inspectHooks(broker, { function: fn, containers: 0 }).catch(() => ({
        hooks: [],
      }));
      return { outcome, hooks };
    });
    const what = paused ? 'paused' : 'managed again';
    const where = inForceText(outcome) || (paused ? ', user limits apply on every host' : '');
    const value = { function: fn, paused, ...modeOutcomeJson(outcome) };
    print(options.output, value, () => `${fn}: ${what}${where}\n`);
    noteUnseen(fn, hooks);
    if (!paused) noteKilled(hooks);
    process.exitCode = reportModeOutcome(outcome) ? EXIT.ok : EXIT.failed;
  });
}

export function addCommands(program: Command): void {
  addPause(
    program,
    'pause',
    'keep a function at its user limits on every host until `resume`, also over restarts',
  );
  addPause(program, 'resume', 'manage a paused function again');
  const retrain = program
    .command('retrain')
    .description(
      "let a function's agent learn again; it still decides, guarded if its manager has a fallback",
    )
    .argument('<function>', NAME);
  addOutputOption(retrain).action(async (fn: string, options: OutputOptions) => {
    checkFunctionName(fn);
    const { config } = loadSettings(globalOptions(retrain));
    const answers = await withBroker(config, (broker) =>
      callEveryInstance(broker, {
        service: services.agents,
        endpoint: 'retrain',
        request: { function: fn },
      }),
    );
    const hosts = [...answers].map(([host, answer]) => {
      if (answer instanceof Error)
        return { host, ok: false, error: messageOf(answer), phase: null };
      const agent = agentsService.retrain.answer.safeParse(answer);
      return { host, ok: true, error: null, phase: agent.success ? agent.data.phase : null };
    });
    // One agent host has the function; the other hosts' errors matter only if none has it.
    const done = hosts.filter(({ ok }) => ok);
    const lines = done.map(
      ({ host, phase }) =>
        `${fn}: phase ${plainText(phase ?? 'unknown')} on ${plainText(host)}` +
        `${LEARNS[phase ?? ''] ?? ''}\n`,
    );
    print(options.output, { function: fn, hosts }, () => lines.join(''));
    if (hosts.length === 0) reportNoAnswer('agent host');
    else if (done.length === 0)
      for (const { host, error } of hosts)
        reportProblem(
          `${plainText(host)}: ${plainText(error ?? '')}`,
          `\`gleaner explain ${fn}\` shows its manager and agent host`,
        );
    process.exitCode = done.length > 0 ? EXIT.ok : EXIT.failed;
  });
}
