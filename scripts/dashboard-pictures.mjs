/**
 * Takes the pictures of docs/dashboard.md from a running dashboard, with Chromium:
 *
 *   npm start                                in another terminal, some minutes before
 *   node scripts/dashboard-pictures.mjs [address] [function]
 */
import { spawnSync } from 'node:child_process';
import { chromium } from 'playwright-core';

const [address = 'http://127.0.0.1:9780', fn = '/guest/dh'] = process.argv.slice(2);

const folder = new URL('../docs/images/', import.meta.url).pathname;
/** Figures of all panels come with several messages of one second each. */
const SETTLE_MILLIS = 8000;

const PICTURES = [
  { name: 'overview', page: '#/', height: 1080, dark: false },
  { name: 'function', page: `#/function${fn}`, height: 1000, dark: false },
  { name: 'contention', page: '#/contention', height: 620, dark: true },
];

const executablePath = ['chromium', 'chromium-browser', 'google-chrome']
  .map((name) => spawnSync('which', [name], { encoding: 'utf8' }).stdout.trim())
  .find(Boolean);
if (executablePath === undefined) {
  console.error('dashboard-pictures: cannot find chromium\n  install it');
  process.exit(1);
}
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
for (const { name, page: path, height, dark } of PICTURES) {
  const page = await browser.newPage({
    viewport: { width: 1280, height },
    colorScheme: dark ? 'dark' : 'light',
  });
  await page.goto(`${address}/${path}`);
  await page.getByText('Live', { exact: true }).waitFor();
  await page.waitForTimeout(SETTLE_MILLIS);
  await page.screenshot({ path: `${folder}dashboard-${name}.png` });
  await page.close();
}
await browser.close();
