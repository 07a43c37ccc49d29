import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Asset {
  readonly type: string;
  readonly data: Buffer;
}

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

/** The package's own folder; this file is compiled to dist/dashboard/server. */
const root = fileURLToPath(new URL('../../../', import.meta.url));

const assetOf = (path: string): Asset => ({
  type: TYPES[path.slice(path.lastIndexOf('.') + 1)] ?? 'application/octet-stream',
  data: readFileSync(path),
});

/**
 * Every file that the page may load, by its path. They are read once at the start, so that a
 * request cannot name another file.
 */
export function readAssets(): ReadonlyMap<string, Asset> {
  const assets = new Map<string, Asset>();
  const pages = join(root, 'dashboard', 'web');
  for (const name of readdirSync(pages)) {
    if (name === 'index.html') assets.set('/', assetOf(join(pages, name)));
    else if (/\.(css|svg)$/.test(name)) assets.set(`/app/${name}`, assetOf(join(pages, name)));
  }
  const scripts = join(root, 'dist', 'dashboard', 'web');
  for (const path of existsSync(scripts)
    ? readdirSync(scripts, { recursive: true, encoding: 'utf8' })
    : [])
    if (path.endsWith('.js'))
      assets.set(`/app/${path.replaceAll('\\', '/')}`, assetOf(join(scripts, path)));
  // Shared by server and page.
  assets.set('/wire.js', assetOf(join(root, 'dist', 'dashboard', 'wire.js')));
  const plot = dirname(createRequire(import.meta.url).resolve('uplot'));
  assets.set('/vendor/uplot.js', assetOf(join(plot, 'uPlot.esm.js')));
  assets.set('/vendor/uplot.css', assetOf(join(plot, 'uPlot.min.css')));
  return assets;
}
