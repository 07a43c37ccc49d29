/** The last step of the build: files made of many modules, which start faster and stay smaller. */
import { readFileSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Null where it is missing or has no program that runs on this machine. */
async function workingEsbuild() {
  try {
    const esbuild = await import('esbuild');
    await esbuild.transform('');
    return esbuild;
  } catch {
    return null;
  }
}

/**
 * Without esbuild the entries stay as tsc made them: the modules do the same, slower and in more
 * memory. @param cli dist/cli @param out where the files go
 */
export async function bundle(cli, out = cli) {
  const esbuild = await workingEsbuild();
  if (esbuild === null) return console.error('build: no esbuild: nothing is bundled');
  await bundleQueries(esbuild, cli, out);
  await bundleHook(esbuild, cli, out);
}

/** Loading a file for each module takes longer than NATS takes to answer. */
async function bundleQueries(esbuild, cli, out) {
  const { QUERIES } = await import(pathToFileURL(join(cli, 'command-line.js')).href);
  const commands = Object.values(QUERIES).map((file) => join(cli, 'commands', `${file}.js`));
  await esbuild.build({
    ...options(out, commands, [
      // No query logs.
      (build) =>
        build.onResolve({ filter: /^pino$/ }, ({ path }) => ({
          path,
          external: true,
          sideEffects: false,
        })),
    ]),
    entryPoints: { query: join(cli, 'run.js') },
  });
}

/**
 * A module's own objects, its whole text and its unused exports stay in memory for the life of the
 * hook. Its parts share modules through chunks, since an error's class must exist once.
 */
async function bundleHook(esbuild, cli, out) {
  for (const file of await readdir(out)) if (/^hook-\w+\.js$/.test(file)) await rm(join(out, file));
  const dist = resolve(cli, '..');
  const parts = [
    'cli/commands/parts',
    'runtime/metrics/metric-set',
    'runtime/wiring/hook',
    'runtime/wiring/simulated-platform',
  ];
  await esbuild.build({
    ...options(
      out,
      parts.map((file) => join(dist, `${file}.js`)),
      [
        // Files beside a module are found from it, wherever its text has gone.
        (build) =>
          build.onLoad({ filter: /dist\/.*\.js$/ }, ({ path }) => {
            const text = readFileSync(path, 'utf8');
            if (path.includes('node_modules') || !text.includes('import.meta.url'))
              return undefined;
            const own = `new URL(${JSON.stringify(relative(out, path))}, import.meta.url).href`;
            return { contents: text.replaceAll('import.meta.url', own) };
          }),
      ],
    ),
    entryPoints: { hook: join(cli, 'run.js') },
    splitting: true,
    chunkNames: 'hook-[hash]',
  });
}

/** @param inside modules that are in the bundle although they are loaded on demand */
function options(out, inside, more) {
  const bundled = new Set(inside);
  return {
    outdir: out,
    allowOverwrite: true,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    minifyWhitespace: true,
    // Packages in CommonJS call it for Node's own modules.
    banner: {
      js:
        "import { createRequire } from 'node:module';\n" +
        'const require = createRequire(import.meta.url);',
    },
    plugins: [
      {
        name: 'loading',
        setup(build) {
          // A module that is loaded on demand stays a file.
          build.onResolve({ filter: /^\./ }, ({ kind, path, resolveDir }) => {
            const file = resolve(resolveDir, path);
            if (kind !== 'dynamic-import' || bundled.has(file)) return undefined;
            return { path: `./${relative(out, file)}`, external: true };
          });
          // Messages are English, which zod has apart from its 60 other languages.
          build.onResolve({ filter: /\/locales\/index\.js$/ }, ({ path }) => ({
            path,
            namespace: 'none',
          }));
          build.onLoad({ filter: /.*/, namespace: 'none' }, () => ({ contents: 'export {}' }));
          for (const add of more) add(build);
        },
      },
    ],
    logLevel: 'warning',
  };
}
