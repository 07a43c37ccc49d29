import { readFileSync } from 'node:fs';
import test from 'ava';

const page = readFileSync('docs/reference/nats.md', 'utf8');

function section(heading: string): string {
  const from = page.indexOf(`\n${heading}\n`);
  const to = page.indexOf('\n#', from + heading.length + 1);
  return page.slice(from, to < 0 ? undefined : to);
}

test('fields without a meaning share a line by kind, the others say what they mean', (t) => {
  const text = section('### host report');
  t.true(text.includes('\n- `v`, `host`, `boot`, `sequence`, `mode`\n'));
  t.true(text.includes('\n- `functions`, `containers`, `running`: count\n'));
  t.true(text.includes('\n- `pool` ({`cpu`, `memory`}): Free to lend now.\n'));
});

test('an answer that has all fields of another object lists only the rest', (t) => {
  const text = section('### agent in detail');
  t.true(text.includes('\n- all of [agent](#agent)\n'));
  t.false(text.includes('`phase`'));
  t.true(section('### agent').includes('`phase`'));
});

test('an object in a list has its fields below it if they have meanings', (t) => {
  const text = section('### invoker host');
  t.regex(text, /\n- `tap\?` \(list of object\): .*\n {2}- `interface` \(text\): A bridge/);
});
