/**
 * StrykerJS's test runner for AVA: runs the test files in the worker process itself with AVA's own
 * runner, so that a mutant costs the time of the tests that reach it and no start of AVA. A mutant
 * in code that runs when a module loads gets a new process.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import fastCheck from 'fast-check';

/** Mutated folder → folders whose in-process tests hold its rules. */
const TESTS = {
  'openwhisk-plugin/': [
    'openwhisk-plugin/decision',
    'openwhisk-plugin/control',
    'openwhisk-plugin/daemon',
  ],
  'broker/mean-field/': ['broker/mean-field'],
  'agents/': ['agents/aware', 'agents/ppo'],
};
/** A mutant that the tests have not killed in this CPU time counts as survived. */
const CPU_SECONDS_MAX = 3;
/** Tests that measure the process, in which instrumented code and other tests run here. */
const MEASURES = /allocates? nothing|memory is bounded/;
/** Tests of a file that take less run together. */
const QUICK_MILLIS = 50;
/** The same examples in each run, or a mutant could survive in one and not in the next. */
const SEED = 16;
/** What the run without a mutant showed, for workers that start later. */
const RECORD = 'mutation-record.json';

const require = createRequire(import.meta.url);
const ava = (path) => resolve('node_modules/ava/lib', path);

function testFiles(mutated) {
  return Object.entries(TESTS)
    .filter(([folder]) => mutated.some((file) => file.includes(`dist/${folder}`)))
    .flatMap(([, folders]) => folders.map((folder) => join('dist/test', folder)))
    .flatMap((root) =>
      readdirSync(root, { recursive: true })
        .filter((name) => name.endsWith('.test.js') && !name.endsWith('.real.test.js'))
        .map((name) => join(root, name)),
    );
}

/** The tests of one file, kept to run again. */
function testFileClass(Runner) {
  return class TestFile extends Runner {
    millis = {};
    failed;
    #ids = new Map();

    constructor(name) {
      super({ file: resolve(name), projectDir: resolve('.'), failFast: true, serial: true });
      this.name = name;
    }

    /** AVA starts the tests when the file is loaded; here `execute` does. */
    start() {}

    /** Runs the selected tests, or all of them. */
    async execute(selected) {
      this.failed = undefined;
      const titles = new Set();
      this.registerUniqueTitle = (title) => !titles.has(title) && titles.add(title);
      for (const task of [...this.tasks.serial, ...this.tasks.concurrent]) {
        const id = `${this.name}: ${task.title.replace(/ \(with seed=.*\)$/, '')}`;
        this.#ids.set(task, id);
        task.metadata.selected = selected?.has(id) ?? !MEASURES.test(id);
      }
      await super.start();
    }

    async runTest(task, context) {
      const id = this.#ids.get(task);
      globalThis.__stryker__.currentTestId = id;
      const begun = performance.now();
      const passed = await super.runTest(task, context);
      this.millis[id] = performance.now() - begun;
      globalThis.__stryker__.currentTestId = undefined;
      if (!passed) this.failed ??= id;
      return passed;
    }
  };
}

class AvaInProcess {
  #TestFile;
  #chain;
  #loaded = new Map();
  /** Without a mutant: milliseconds of each test, and by mutant the tests that reach it. */
  #record = { millis: {}, tests: {} };
  /** How many mutants each unit of tests killed. */
  #kills = new Map();
  #failures = [];

  capabilities() {
    return { reloadEnvironment: false };
  }

  async init() {
    globalThis.__stryker__ ??= {};
    fastCheck.configureGlobal({ seed: SEED });
    const chalk = await import(pathToFileURL(ava('chalk.js')).href);
    chalk.set({ level: 0 });
    require(ava('worker/options.cjs')).set({});
    // What a test file gets as `import test from 'ava'`.
    require(ava('worker/state.cjs')).refs.runnerChain = new Proxy(() => {}, {
      apply: (_, self, values) => Reflect.apply(this.#chain, self, values),
      get: (_, name) => this.#chain[name],
    });
    const { default: Runner } = await import(pathToFileURL(ava('runner.js')).href);
    this.#TestFile = testFileClass(Runner);
    for (const event of ['uncaughtException', 'unhandledRejection'])
      process.on(event, (error) => this.#failures.push(String(error?.stack ?? error)));
  }

  async dryRun({ files }) {
    const tests = [];
    for (const name of testFiles(files ?? ['dist/'])) {
      const file = await this.#load(name);
      await file.execute();
      if (this.#failures.length > 0)
        return { status: 'error', errorMessage: `${name}: ${this.#failures[0]}` };
      Object.assign(this.#record.millis, file.millis);
      for (const [id, timeSpentMs] of Object.entries(file.millis))
        tests.push({ id, name: id, timeSpentMs, fileName: resolve(name), status: 0 });
    }
    const { mutantCoverage } = globalThis.__stryker__;
    const reached = this.#record.tests;
    for (const [test, hits] of Object.entries(mutantCoverage.perTest))
      for (const mutant of Object.keys(hits)) {
        reached[mutant] ??= [];
        reached[mutant].push(test);
      }
    writeFileSync(RECORD, JSON.stringify(this.#record));
    return { status: 'complete', tests, mutantCoverage };
  }

  async mutantRun({ activeMutant, hitLimit, testFilter, mutantActivation, sandboxFileName }) {
    if (Object.keys(this.#record.millis).length === 0)
      this.#record = JSON.parse(readFileSync(RECORD, 'utf8'));
    const units = this.#bestFirst(testFilter ?? this.#testsOf(sandboxFileName));
    if (mutantActivation !== 'static') for (const { name } of units) await this.#load(name);
    this.#failures = [];
    process.env.__STRYKER_ACTIVE_MUTANT__ = activeMutant.id;
    Object.assign(globalThis.__stryker__, {
      activeMutant: activeMutant.id,
      mutantCoverage: undefined,
      hitLimit,
      hitCount: hitLimit === undefined ? undefined : 0,
    });
    try {
      return await this.#killer(units, hitLimit);
    } finally {
      globalThis.__stryker__.activeMutant = undefined;
      delete process.env.__STRYKER_ACTIVE_MUTANT__;
    }
  }

  async #killer(units, hitLimit) {
    const begun = process.cpuUsage();
    let nrOfTests = 0;
    for (const { name, key, ids } of units) {
      const { user, system } = process.cpuUsage(begun);
      if (user + system > CPU_SECONDS_MAX * 1e6) break;
      let file;
      try {
        file = await this.#load(name);
        await file.execute(ids);
      } catch (error) {
        this.#failures.push(String(error));
      }
      nrOfTests += ids.size;
      if (hitLimit !== undefined && globalThis.__stryker__.hitCount > hitLimit)
        return { status: 'timeout', reason: 'a loop does not end' };
      if (file?.failed === undefined && this.#failures.length === 0) continue;
      this.#kills.set(key, (this.#kills.get(key) ?? 0) + 1);
      return {
        status: 'killed',
        killedBy: [file?.failed ?? [...ids][0]],
        failureMessage: this.#failures[0] ?? 'failed',
        nrOfTests,
      };
    }
    return { status: 'survived', nrOfTests };
  }

  /** All tests that run code of a file; where it has only constants, all tests. */
  #testsOf(file) {
    const mutants = readFileSync(file, 'utf8').matchAll(/stryMutAct_\w+\("(\d+)"\)/g);
    const tests = new Set([...mutants].flatMap(([, id]) => this.#record.tests[id] ?? []));
    return tests.size > 0 ? tests : Object.keys(this.#record.millis);
  }

  /** Quick tests by file, slow ones alone; those first that kill often and cost little. */
  #bestFirst(tests) {
    const units = new Map();
    for (const id of tests) {
      const millis = this.#record.millis[id] ?? QUICK_MILLIS;
      const name = id.slice(0, id.indexOf(': '));
      const key = millis < QUICK_MILLIS ? name : id;
      const unit = units.get(key) ?? { name, key, ids: new Set(), millis: 1 };
      unit.ids.add(id);
      unit.millis += millis;
      units.set(key, unit);
    }
    const value = ({ key, millis }) => (1 + (this.#kills.get(key) ?? 0)) / millis;
    return [...units.values()].sort((a, b) => value(b) - value(a));
  }

  async #load(name) {
    const loaded = this.#loaded.get(name);
    if (loaded !== undefined) return loaded;
    const file = new this.#TestFile(name);
    file.on('error', (error) => this.#failures.push(String(error?.stack ?? error)));
    file.on('stateChange', ({ type, err }) => {
      if (type === 'hook-failed' || type === 'test-failed') this.#failures.push(err.message);
    });
    this.#chain = file.chain;
    await import(pathToFileURL(resolve(name)).href);
    this.#loaded.set(name, file);
    return file;
  }
}

export const strykerPlugins = [{ kind: 'TestRunner', name: 'ava', injectableClass: AvaInProcess }];
