import test from 'ava';
import { isExcluded, loadConfig, overrideFor, reloadConfig } from '../../config/index.js';
import { matchesPattern } from '../../config/patterns.js';
import { diffConfig } from '../../config/reload.js';

const base = loadConfig().config;

test('only safe keys change at a reload, the others are named for the next restart', (t) => {
  const load = () =>
    loadConfig({
      flags: { mode: 'enforce', 'decision.weight.alpha': 0.5, 'hook.auditRotateMiB': 90 },
    }).config;
  const { config, applied, needRestart, error } = reloadConfig(base, load);
  t.is(error, null);
  t.is(config.mode, 'enforce');
  t.is(config.decision.weight.alpha, 0.5);
  t.is(config.hook.auditRotateMiB, 64);
  t.deepEqual(
    applied.map((change) => change.path),
    ['mode', 'decision.weight.alpha'],
  );
  t.deepEqual(needRestart, [
    { path: 'hook.auditRotateMiB', before: 64, after: 90, reloadable: false },
  ]);
  t.is(base.mode, 'recommend');
});

test('the half-life, by which what is known was weighed, needs a restart', (t) => {
  const load = () => loadConfig({ flags: { 'decision.peakHalfLifeS': 7200 } }).config;
  const { config, needRestart } = reloadConfig(base, load);
  t.is(config.decision.peakHalfLifeS, 3600);
  t.deepEqual(
    needRestart.map((change) => change.path),
    ['decision.peakHalfLifeS'],
  );
});

test('an error keeps the old configuration', (t) => {
  const { config, error, applied } = reloadConfig(
    base,
    () => loadConfig({ flags: { mode: 'nonsense' } }).config,
  );
  t.is(config, base);
  t.true(error instanceof Error);
  t.is(applied.length, 0);
});

test('equal configurations do not differ', (t) => {
  t.deepEqual(diffConfig(base, loadConfig().config), []);
});

test('a pattern with * stays within one part of a name, ** does not', (t) => {
  t.true(matchesPattern('/guest/*', '/guest/hello'));
  t.false(matchesPattern('/guest/*', '/guest/pkg/hello'));
  t.true(matchesPattern('/guest/**', '/guest/pkg/hello'));
  t.false(matchesPattern('/guest/my.fn', '/guest/myxfn'));
  t.false(matchesPattern('/guest', '/guest/hello'));
  t.true(isExcluded(base.functions.exclude, '/whisk.system/invokerHealthTestAction0'));
  t.false(isExcluded(base.functions.exclude, '/whisk.systems/x'));
});

test('later overrides win field by field', (t) => {
  const overrides = [
    { match: '/guest/**', mode: 'observe' as const, sloMs: 500 },
    { match: '/guest/a', mode: 'enforce' as const },
    { match: '/other/**', sloMs: 1 },
  ];
  t.deepEqual(overrideFor(overrides, '/guest/a'), { mode: 'enforce', sloMs: 500 });
  t.deepEqual(overrideFor(overrides, '/guest/b'), { mode: 'observe', sloMs: 500 });
  t.deepEqual(overrideFor(overrides, '/x/b'), {});
});
