import {
  type Document,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type Scalar,
  visit,
} from 'yaml';
import { messageOf } from './errors.js';

/** What keeps a text from being read; `line` is 1-based. */
interface YamlProblem {
  readonly message: string;
  readonly line?: number;
}

/** What a text says, and where; undefined where a problem keeps it from being read at all. */
export interface YamlText {
  readonly content: unknown;
  readonly problems: readonly YamlProblem[];
  /** 1-based line of a key or entry, or of the nearest part of its path that the text has. */
  lineOf(path: readonly PropertyKey[]): number | undefined;
}

/** In place of the parser's advice for programmers. */
const ONE_DOCUMENT = 'a second document begins here: put everything into one, without `---`';

/** Reads YAML, and so JSON, written by people. Never throws: errors are problems. */
export function readYaml(text: string): YamlText {
  const lines = new LineCounter();
  // A key that is a map or a list would be a warning of the process, without the name of any file;
  // here it is an unknown key.
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    logLevel: 'error',
  });
  const problems: YamlProblem[] = document.errors.map((error) => ({
    message: error.code === 'MULTIPLE_DOCS' ? ONE_DOCUMENT : error.message,
    line: lines.linePos(error.pos[0]).line,
  }));
  addAliasProblems(document, lines, problems);
  const read: YamlText = {
    content: undefined,
    problems,
    lineOf: (path) => lineOf(document, lines, path),
  };
  if (problems.length > 0) return read;
  try {
    return { ...read, content: document.toJS() };
  } catch (error) {
    // More aliases than anybody writes.
    return { ...read, problems: [{ message: messageOf(error) }] };
  }
}

/** Aliases without an anchor, and those inside of their own anchor, which have no end. */
function addAliasProblems(document: Document, lines: LineCounter, problems: YamlProblem[]): void {
  visit(document, {
    Alias(_, alias, ancestors) {
      const target = alias.resolve(document);
      const { line } = lines.linePos(alias.range?.[0] ?? 0);
      if (target === undefined)
        problems.push({ message: `no &${alias.source} before *${alias.source}`, line });
      else if (ancestors.includes(target))
        problems.push({ message: `*${alias.source} is part of &${alias.source} itself`, line });
    },
  });
}

function lineOf(
  document: Document,
  lines: LineCounter,
  path: readonly PropertyKey[],
): number | undefined {
  let node: unknown = document.contents;
  let offset = isNode(node) ? node.range?.[0] : undefined;
  for (const part of path) {
    if (isMap(node)) {
      // A key that is no text (`null:`, `5:`) is text once it has been read.
      const pair = node.items.find(
        (item) => isScalar(item.key) && String(item.key.value ?? '') === String(part),
      );
      if (!pair) break;
      offset = (pair.key as Scalar).range?.[0] ?? offset;
      node = pair.value;
    } else if (isSeq(node)) {
      node = node.items[Number(part)];
      if (!isNode(node)) break;
      offset = node.range?.[0] ?? offset;
    } else break;
  }
  return offset === undefined ? undefined : lines.linePos(offset).line;
}
