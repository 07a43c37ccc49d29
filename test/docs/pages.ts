import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Folders without pages of the project. */
const SKIPPED = new Set([
  'node_modules',
  'dist',
  '.git',
  '.gleaner',
  '.stryker-tmp',
  '.tensorflow',
  '.nats-server',
  'coverage',
  'data',
]);

/** Paths of all pages below a folder, from the checkout's root. */
export function* pagesBelow(folder = '.'): Generator<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (SKIPPED.has(entry.name)) continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* pagesBelow(path);
    else if (entry.name.endsWith('.md')) yield path;
  }
}

/** The pages whose commands are run. */
export const commandPages = (): string[] => [
  'README.md',
  'CONTRIBUTING.md',
  ...[...pagesBelow('docs')].filter((path) => !path.startsWith('docs/reference/')).sort(),
];

/** The comment before a block of commands, such as `<!-- test: skip REASON -->`. */
type Marking =
  | { readonly kind: 'run' }
  | { readonly kind: 'skip'; readonly reason: string }
  /** Interrupted (Ctrl-C) once its output contains `at`; must then exit with 0. */
  | { readonly kind: 'interrupt'; readonly at: string }
  | { readonly kind: 'exit 0 or 1' };

export interface Block {
  readonly page: string;
  /** Of the opening fence, from 1 on. */
  readonly line: number;
  /** As after the fence; empty if it names none. */
  readonly language: string;
  readonly text: string;
  readonly marking: Marking;
  /** Text of a comment that is not a valid marking. */
  readonly unreadable: string | null;
}

const FENCE = /^(\s*)```(\S*)\s*$/;
const COMMENT = /^\s*<!-- test: (.*) -->$/;

function markingOf(said: string | undefined): Marking | null {
  if (said === undefined) return { kind: 'run' };
  const skip = /^skip (.+)$/.exec(said);
  if (skip) return { kind: 'skip', reason: skip[1]! };
  const interrupt = /^interrupt at "(.+)"$/.exec(said);
  if (interrupt) return { kind: 'interrupt', at: interrupt[1]! };
  return said === 'exit 0 or 1' ? { kind: 'exit 0 or 1' } : null;
}

/** Fenced blocks of a page. */
export function blocksOf(page: string, text = readFileSync(page, 'utf8')): Block[] {
  const blocks: Block[] = [];
  const lines = text.split('\n');
  for (let i = 0; i < lines.length; i++) {
    const open = FENCE.exec(lines[i]!);
    if (open === null) continue;
    const indent = open[1]!.length;
    const end = lines.findIndex((line, j) => j > i && FENCE.exec(line)?.[2] === '');
    const said = COMMENT.exec(lines[i - 1] ?? '')?.[1];
    const marking = markingOf(said);
    blocks.push({
      page,
      line: i + 1,
      language: open[2]!,
      text: lines
        .slice(i + 1, end)
        .map((line) => line.slice(indent))
        .join('\n'),
      marking: marking ?? { kind: 'run' },
      unreadable: marking === null ? said! : null,
    });
    i = end;
  }
  return blocks;
}

/** A page without its fenced blocks and comments. Lines keep their numbers. */
export function proseOf(text: string): string {
  let inside = false;
  return text
    .split('\n')
    .map((line) => {
      if (FENCE.test(line)) {
        inside = !inside;
        return '';
      }
      return inside || COMMENT.test(line) ? '' : line;
    })
    .join('\n');
}

/** The anchors of a page as GitHub makes them: of headings, and of `<a id="…">`. */
export function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading] of proseOf(text).matchAll(/^#{1,6} +(.+?) *$/gm)) {
    const base = heading!
      .toLowerCase()
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(/\s/g, '-');
    let anchor = base;
    for (let n = 1; anchors.has(anchor); n++) anchor = `${base}-${n}`;
    anchors.add(anchor);
  }
  for (const [, id] of text.matchAll(/<a (?:id|name)="([^"]+)"/g)) anchors.add(id!);
  return anchors;
}
