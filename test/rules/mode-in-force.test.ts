import test from 'ava';
import { killSwitchText, modeInForce } from '../../rules/index.js';

test('a kill switch hides a pause, and a pause the mode', (t) => {
  const mode = 'enforce' as const;
  t.is(modeInForce({ mode, killed: false }), 'enforce');
  t.is(modeInForce({ mode, killed: false, paused: true }), 'paused');
  t.is(modeInForce({ mode, killed: true, paused: true }), 'stopped');
});

test('one sentence names the hosts where the kill switch holds, at most three of them', (t) => {
  const host = (name: string, ...killedBy: string[]) => ({
    host: name,
    killed: killedBy.length > 0,
    killedBy,
  });
  const until = ': user limits apply until it is released';
  t.is(killSwitchText([host('a')]), '');
  t.is(
    killSwitchText([host('a'), host('b', 'file', 'kv'), host('c', 'signal')]),
    `the kill switch holds on b (file, kv), c (signal)${until}`,
  );
  const five = ['a', 'b', 'c', 'd', 'e'].map((name) => host(name, 'kv'));
  t.is(killSwitchText(five), `the kill switch holds on a (kv), b (kv), c (kv), 2 more${until}`);
});
