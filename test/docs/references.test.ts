/** Citations in comments, such as `[SIMPPO §3.2]`, lead to an entry of docs/references.md. */
import { readFileSync } from 'node:fs';
import test from 'ava';
import { trackedFiles } from '../support/tracked-files.js';

const keys = [...readFileSync('docs/references.md', 'utf8').matchAll(/^- `([^`]+)`: /gm)].map(
  ([, key]) => key!,
);

/** Text of the comments of a source file. */
function commentsOf(source: string): string {
  return source
    .split('\n')
    .map(
      (line) => /^\s*(?:\/\*\*?|\*|\/\/)\s?(.*)$/.exec(line)?.[1] ?? /\s\/\/ (.*)$/.exec(line)?.[1],
    )
    .filter((text) => text !== undefined)
    .join('\n');
}

/**
 * Brackets in comments that begin with a name: no code, no link, no interval and no constant in
 * capitals with an underscore.
 */
function citationsOf(source: string): string[] {
  const prose = commentsOf(source).replaceAll(/`[^`]*`/g, '');
  return [...prose.matchAll(/(?<![\w\])])\[([A-Z][A-Za-z][^\][,;|]*)\](?![(\]])/g)].map(
    ([, citation]) => citation!.replaceAll(/\s+/g, ' '),
  );
}

const isListed = (citation: string): boolean =>
  keys.some((key) => citation === key || citation.startsWith(`${key} `));

test('every source that a comment cites is listed in docs/references.md', (t) => {
  t.true(keys.length > 30);
  const unlisted = trackedFiles(/\.(ts|mjs)$/).flatMap((path) =>
    citationsOf(readFileSync(path, 'utf8'))
      .filter((citation) => !isListed(citation))
      .map((citation) => `${path}: [${citation}]`),
  );
  t.deepEqual(unlisted, []);
});

test('a citation is found in a comment, and code and links are not taken for one', (t) => {
  const source = [
    '// published as [SIMPPO §3.2], [Nowhere]',
    ' * see [the page](x.md), `[SHARDS]`, [0, 1]',
    'const x = table[SHARDS];',
    'call(); // [FIRM]',
  ].join('\n');
  t.deepEqual(citationsOf(source), ['SIMPPO §3.2', 'Nowhere', 'FIRM']);
  t.true(isListed('SIMPPO §3.2'));
  t.false(isListed('Nowhere'));
});
