import { Command } from 'commander';
import { suggest, UsageError } from '../config/index.js';

/** Words of other command lines, and Gleaner's commands for them. */
const COMMAND_SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  'get list ls ps show': ['functions', 'agents list', 'actions list', 'status'],
  'describe inspect why': ['explain', 'agents explain', 'status'],
  'logs log history tail': ['events --follow', 'audit'],
  watch: ['functions --watch', 'top', 'events --follow'],
  'start run serve daemon': ['up', 'hook', 'agents', 'aggregator'],
  'stop kill down off': ['restore --hold', 'mode observe', 'pause'],
  'info health ping': ['status', 'doctor'],
  'validate lint settings': ['config check', 'config print'],
  'update upgrade': ['install'],
  'uninstall delete purge': ['remove'],
  'nodes hosts invokers': ['status', 'meanfield'],
  'managers policies': ['agents list', 'compare'],
};

/** Gleaner's commands for a word of another command line; empty: none known. */
export const commandsFor = (word: string): readonly string[] =>
  Object.entries(COMMAND_SYNONYMS).find(([words]) =>
    words.split(' ').includes(word.toLowerCase()),
  )?.[1] ?? [];

/** A command whose usage errors have the form of all other errors: message and hint. */
export class GleanerCommand extends Command {
  override createCommand(name?: string): GleanerCommand {
    return new GleanerCommand(name);
  }

  /** Called by commander for every usage error. */
  override error(message: string, options: { readonly code?: string } = {}): never {
    // Commander's form: `error: message`, and on a second line `(Did you mean this?)`.
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
    const help = `see \`${this.#path()} --help\``;
    return below.length === 0 || this.parent === null
      ? help
      : `subcommands: ${below.join(', ')}; ${help}`;
  }

  #path(): string {
    const parent = this.parent;
    return parent instanceof GleanerCommand ? `${parent.#path()} ${this.name()}` : this.name();
  }
}

/** Parser of an option that may be repeated. */
export const collect = (value: string, all: readonly string[] = []): string[] => [...all, value];
