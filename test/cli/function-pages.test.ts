import test from 'ava';
import { FunctionPages } from '../../cli/up/function-pages.js';

const NAMES = ['a', 'b', 'c', 'd', 'e'];

/** What hooks with these functions answer: one page each. */
function answers(
  pages: FunctionPages,
  hosts: Record<string, readonly string[]>,
  activations: number,
) {
  const { offset = 0, limit = Number.POSITIVE_INFINITY } = pages.request;
  return Object.entries(hosts).map(([host, names]) => ({
    host: { host } as never,
    total: names.length,
    functions: names.slice(offset, offset + limit).map((name) => ({ name, activations }) as never),
  }));
}

const shown = (pages: FunctionPages): string[] =>
  pages.functions.map(({ name, activations }) => `${name}${activations}`).sort();

test('functions are requested all, then in pages; the last answer of each is kept', (t) => {
  const pages = new FunctionPages(2);
  t.deepEqual(pages.request, { containers: 0 });
  const round = [1, 2, 3, 4].map((second) => {
    pages.take(answers(pages, { h: NAMES }, second));
    return shown(pages);
  });
  t.deepEqual(round, [
    ['a1', 'b1', 'c1', 'd1', 'e1'],
    ['a2', 'b2', 'c1', 'd1', 'e1'],
    ['a2', 'b2', 'c3', 'd3', 'e1'],
    ['a2', 'b2', 'c3', 'd3', 'e4'],
  ]);
  t.deepEqual(pages.request, { offset: 0, limit: 2, containers: 0 });
  pages.take(answers(pages, { h: NAMES }, 5));
  t.deepEqual(shown(pages), ['a5', 'b5', 'c3', 'd3', 'e4']);
});

test('a removed function is dropped after the next round, separately per host', (t) => {
  const pages = new FunctionPages(10);
  pages.take(answers(pages, { h: NAMES, i: ['a'] }, 1));
  t.deepEqual(shown(pages), ['a1', 'a1', 'b1', 'c1', 'd1', 'e1']);
  pages.take(answers(pages, { h: ['a'], i: ['a'] }, 2));
  t.deepEqual(shown(pages), ['a2', 'a2']);
});

test('a host with fewer functions has none on later pages', (t) => {
  const pages = new FunctionPages(2);
  for (const second of [1, 2, 3])
    pages.take(answers(pages, { h: ['a', 'b', 'c'], i: ['a'] }, second));
  t.deepEqual(shown(pages), ['a2', 'a2', 'b2', 'c3']);
  t.is(pages.request.offset, 0);
});
