import { fc, testProp } from '@fast-check/ava';
import { ConfigError, loadConfig, printConfig } from '../../config/index.js';

const read = (text: string) => loadConfig({ path: 'g.yaml', readFile: () => text });

testProp(
  'what is printed loads to the same configuration',
  [
    fc.record({
      'decision.weight.alpha': fc.double({ min: 0, max: 2, noNaN: true }),
      'hook.sampleMs': fc.integer({ min: 10, max: 10_000 }),
      'decision.cpuCapMillicores': fc.option(fc.integer({ min: 100, max: 64_000 }), { nil: null }),
      'functions.exclude': fc.array(
        fc.stringMatching(/^\w[\w@ .&*-]{0,20}\w$/).map((name) => `/guest/${name}`),
        { maxLength: 3 },
      ),
    }),
  ],
  (t, flags) => {
    const loaded = loadConfig({ flags });
    t.deepEqual(read(printConfig(loaded)).config, loaded.config);
  },
);

testProp(
  'any text is a configuration or a list of problems, never a crash',
  [fc.string()],
  (t, text) => {
    try {
      read(text);
    } catch (error) {
      t.true(error instanceof ConfigError, String(error));
    }
    t.pass();
  },
);
