import { Command } from 'commander';
import { suggest, UsageError } from '../config/index.js';

/** What other command lines call what is a command of another name here. */
const COMMAND_SYNONYMS: readonly (readonly [
  words: readonly string[],
  commands: readonly string[],
])[] = [
  [
    ['get', 'list', 'ls', 'ps', 'show'],
    ['functions', 'agents list', 'actions list', 'status'],
  ],
  [
    ['describe', 'inspect', 'why'],
    ['explain', 'agents explain', 'status'],
  ],
  [
    ['logs', 'log', 'history', 'tail'],
    ['events --follow', 'audit'],
  ],
  [['watch'], ['functions --watch', 'top', 'events --follow']],
  [
    ['start', 'run', 'serve', 'daemon'],
    ['up', 'hook', 'agents', 'aggregator'],
  ],
  [
    ['stop', 'kill', 'down', 'off'],
    ['restore --hold', 'mode observe', 'pause'],
  ],
  [
    ['info', 'health', 'ping'],
    ['status', 'doctor'],
  ],
  [
    ['validate', 'lint', 'settings'],
    ['config check', 'config print'],
  ],
  [['update', 'upgrade'], ['install']],
  [['uninstall', 'delete', 'purge'], ['remove']],
  [
    ['nodes', 'hosts', 'invokers'],
    ['status', 'meanfield'],
  ],
  [
    ['managers', 'policies'],
    ['agents list', 'compare'],
  ],
];

/** Commands that do what a word stands for elsewhere; none if no other command line uses it. */
export const commandsFor = (word: string): readonly string[] =>
  COMMAND_SYNONYMS.find(([words]) => words.includes(word.toLowerCase()))?.[1] ?? [];

/** A command whose errors of usage are told as every other error is, with what to do about them. */
export class GleanerCommand extends Command {
  override createCommand(name?: string): GleanerCommand {
    return new GleanerCommand(name);
  }

  /** What commander calls for whatever it cannot take. */
  override error(message: string, options: { readonly code?: string } = {}): never {
    // `error: what is wrong`, and on a line of its own `(Did you mean this?)`.
    const [what = '', suggestion] = message.replace(/^error: /, '').split('\n');
    const near = suggestion?.replace(/^\((.*)\)$/, '$1').replace('Did you mean', 'did you mean');
    throw new UsageError(what.replace('is invalid. ', 'is invalid: ').replace(/\.$/, ''), {
      hint:
        options.code === 'commander.unknownCommand'
          ? this.#otherCommand()
          : (near ?? this.#usage()),
    });
  }

  #otherCommand(): string {
    const word = this.args[0] ?? '';
    const names = this.createHelp()
      .visibleCommands(this)
      .map((command) => command.name());
    const suggestions = this.parent === null ? commandsFor(word) : [];
    if (suggestions.length > 0)
      return `did you mean ${suggestions.map((each) => `\`gleaner ${each}\``).join(', ')}?`;
    const near = suggest(word, names);
    if (near !== undefined) return `did you mean \`${this.#path()} ${near}\`?`;
    return this.parent === null ? '`gleaner --help` lists every command' : this.#usage();
  }

  #usage(): string {
    const below = this.commands.map((command) => command.name());
    const help = `\`${this.#path()} --help\` shows what it takes`;
    return below.length === 0 || this.parent === null
      ? help
      : `below it: ${below.join(', ')}; ${help}`;
  }

  #path(): string {
    const parent = this.parent;
    return parent instanceof GleanerCommand ? `${parent.#path()} ${this.name()}` : this.name();
  }
}
