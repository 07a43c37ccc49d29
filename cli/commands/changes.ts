import type { Command } from 'commander';
import { services } from '../../broker/index.js';
import { agentsService, callEveryInstance } from '../../broker/services/index.js';
import { EXIT, messageOf, reportProblem } from '../../config/index.js';
import { json, loadSettings, plainText, processScreen, withBroker } from '../../runtime/index.js';
import {
  changeEverywhere,
  modeOutcomeJson,
  reportModeOutcome,
  storeForOption,
} from '../mode-change.js';
import {
  addOutputOption,
  author,
  checkFunctionName,
  globalOptions,
  type OutputOptions,
} from './common.js';

interface ReasonOptions extends OutputOptions {
  readonly reason: string;
  readonly storeFor: number;
}

const NAME = 'fully qualified: /namespace/package/action or /namespace/action';

/** What a phase says after `retrain`: of one that was not settled nothing has changed. */
const LEARNS: Readonly<Record<string, string>> = {
  online: ', it learns',
  guarded: ', it learns while the fallback acts',
  offline: ', it learns from what its fallback does; nothing has changed',
};

/** Pauses are kept in the bucket `gleaner_mode`: on every host, over restarts. */
function addPause(program: Command, name: 'pause' | 'resume', description: string): void {
  const command = program
    .command(name)
    .description(description)
    .argument('<function>', NAME)
    .option('--reason <text>', 'why, for the audit log', '')
    .addOption(storeForOption());
  addOutputOption(command).action(async (fn: string, options: ReasonOptions) => {
    checkFunctionName(fn);
    const paused = name === 'pause';
    const { config } = loadSettings(globalOptions(command));
    const who = { author: author(), reason: options.reason };
    const outcome = await withBroker(config, (broker) =>
      changeEverywhere(broker, fn, { paused }, who, options.storeFor),
    );
    if (options.output === 'json')
      processScreen.write(json({ function: fn, paused, ...modeOutcomeJson(outcome) }));
    else
      processScreen.write(
        `${fn}: ${paused ? 'paused, user limits stand on every host' : 'managed again'}\n`,
      );
    process.exitCode = reportModeOutcome(outcome) ? EXIT.ok : EXIT.failed;
  });
}

export function addChanges(program: Command): void {
  addPause(
    program,
    'pause',
    'keep one function at its user limits on every host until `resume`, also over restarts',
  );
  addPause(program, 'resume', 'manage a paused function again, as its mode says');
  const retrain = program
    .command('retrain')
    .description(
      "let a function's settled agent learn again; it keeps deciding meanwhile, guarded if its manager has a fallback",
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
    // One agent host has the function; what the others say is of interest only where none does.
    const done = hosts.filter(({ ok }) => ok);
    if (options.output === 'json') processScreen.write(json({ function: fn, hosts }));
    else if (done.length > 0)
      for (const { host, phase } of done)
        processScreen.write(
          `${fn}: phase ${plainText(phase ?? 'unknown')} on ${plainText(host)}${LEARNS[phase ?? ''] ?? ''}\n`,
        );
    else
      for (const { host, error } of hosts)
        processScreen.write(`${plainText(host)}: ${plainText(error ?? '')}\n`);
    if (hosts.length === 0)
      reportProblem(
        'no agent host answers',
        'start `gleaner up` or `gleaner agents` on these NATS servers',
      );
    process.exitCode = done.length > 0 ? EXIT.ok : EXIT.failed;
  });
}
