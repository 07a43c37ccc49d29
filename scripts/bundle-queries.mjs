/** One file of the commands for whose answer a person waits (the last step of the build). */
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
 * Loading a file for each module takes longer than NATS takes to answer. Without esbuild query.js
 * stays as tsc made it: the modules do the same, slower. @param folder dist/cli
 */
export async function bundleQueries(folder, outfile = join(folder, 'query.js')) {
  const esbuild = await workingEsbuild();
  if (esbuild === null) return console.error('build: no esbuild: cli/query.js is not bundled');
  const { QUERIES } = await import(pathToFileURL(join(folder, 'command-line.js')).href);
  const bundled = new Set(
    Object.values(QUERIES).map((file) => join(folder, 'commands', `${file}.js`)),
  );
  const loading = {
    name: 'loading',
    setup(build) {
      // A module that is loaded on demand stays a file, unless it is one of the queries.
      build.onResolve({ filter: /^\./ }, ({ kind, path, resolveDir }) => {
        const file = resolve(resolveDir, path);
        if (kind !== 'dynamic-import' || bundled.has(file)) return undefined;
        return { path: `./${relative(folder, file)}`, external: true };
      });
      // Messages are English, which zod has apart from its 60 other languages.
      build.onResolve({ filter: /\/locales\/index\.js$/ }, ({ path }) => ({
        path,
        namespace: 'none',
      }));
      build.onLoad({ filter: /.*/, namespace: 'none' }, () => ({ contents: 'export {}' }));
      // No query logs.
      build.onResolve({ filter: /^pino$/ }, ({ path }) => ({
        path,
        external: true,
        sideEffects: false,
      }));
    },
  };
  await esbuild.build({
    entryPoints: [join(folder, 'query.js')],
    outfile,
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
    plugins: [loading],
    logLevel: 'warning',
  });
}
