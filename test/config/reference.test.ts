import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import test from 'ava';
import { configExample, configReference, loadConfig } from '../../config/index.js';

test('docs/reference/config.md is up to date (otherwise: npm run docs)', (t) => {
  t.is(readFileSync('docs/reference/config.md', 'utf8'), configReference());
});

test('config/gleaner.example.yaml is what the schema says', (t) => {
  t.is(readFileSync('config/gleaner.example.yaml', 'utf8'), configExample());
});

test('the example loads as it is, and with every key uncommented, to the defaults', (t) => {
  const example = configExample();
  const load = (text: string) => loadConfig({ path: 'example', readFile: () => text }).config;
  t.deepEqual(load(example), loadConfig().config);
  const uncommented = example.replace(/^( *)#(\w)/gm, '$1$2');
  t.true(uncommented.includes('\n  auditRotateMiB: 64'));
  t.deepEqual(load(uncommented), loadConfig().config);
});

test('the shipped demo configuration is valid and asks for enforce on the simulated host', (t) => {
  const { config } = loadConfig({
    path: 'config/demo.yaml',
    readFile: (path) => readFileSync(path, 'utf8'),
  });
  t.is(config.mode, 'enforce');
  t.is(config.platform, 'simulated');
  t.is(
    config.hook.stateDir,
    resolve('.gleaner'),
    'in the checkout, whatever the working directory',
  );
});
