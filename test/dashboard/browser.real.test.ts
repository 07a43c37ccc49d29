/** The page in a real Chromium, on a real nats-server. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { type Browser, chromium, type Page } from 'playwright-core';
import { services } from '../../broker/index.js';
import { callService } from '../../broker/services/index.js';
import { findProgram } from '../../cli/doctor/survey.js';
import { systemClock, systemTimers } from '../../config/index.js';
import { type RunningDashboard, runDashboard, Token } from '../../dashboard/index.js';
import { natsServerHere, RealServer } from '../broker/contract/server.js';
import { allowed } from '../support/slowness.js';
import { SyntheticGleaner } from './synthetic.js';

const TOKEN = 'a token of some length';
const PAGES = ['#/', '#/functions', '#/contention', '#/mean-field', '#/hosts', '#/events'];
/** The page may use less than this share of a core with 1000 functions at 1 Hz. */
const CORE_SHARE = 0.3;

let browser: Promise<Browser> | null = null;

async function chromiumHere(t: ExecutionContext): Promise<Browser | null> {
  const executablePath = ['chromium', 'chromium-browser', 'google-chrome']
    .map((name) => findProgram(name))
    .find(Boolean);
  if (!executablePath || !natsServerHere()) {
    if (process.env.CI) t.fail('needs chromium');
    else t.log('NOT RUN: needs chromium and nats-server');
    t.pass();
    return null;
  }
  browser ??= chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  });
  return browser;
}

interface Stage {
  readonly server: RealServer;
  readonly gleaner: SyntheticGleaner;
  readonly dashboard: RunningDashboard;
  readonly page: Page;
  /** What the page complained of; empty in the end. */
  readonly pageErrors: string[];
}

async function stage(
  t: ExecutionContext,
  functions: number,
  view: { width: number; height: number; dark?: boolean; timezoneId?: string },
): Promise<Stage | null> {
  const chrome = await chromiumHere(t);
  if (chrome === null) return null;
  const server = new RealServer();
  t.teardown(() => server.remove());
  await server.up();
  const gleaner = new SyntheticGleaner(await server.connect('synthetic'), functions);
  gleaner.start();
  t.teardown(() => gleaner.stop());
  const dashboard = await runDashboard({
    broker: await server.connect('dashboard'),
    clock: systemClock,
    timers: systemTimers,
    host: '127.0.0.1',
    port: 0,
    token: new Token(TOKEN),
    maxFunctions: 5000,
    version: '1.2.3',
  });
  t.teardown(() => dashboard.stop());
  const { dark, timezoneId, ...viewport } = view;
  const page = await chrome.newPage({
    viewport,
    colorScheme: dark ? 'dark' : 'light',
    ...(timezoneId === undefined ? {} : { timezoneId }),
  });
  t.teardown(() => page.close());
  page.setDefaultTimeout(allowed(10_000));
  const pageErrors: string[] = [];
  page.on('pageerror', (error) => pageErrors.push(String(error.stack)));
  page.on('console', (message) => {
    // A lost server is told by the browser itself; everything else (the policy above all) is ours.
    if (message.type() === 'error' && !/net::|Failed to load resource/.test(message.text()))
      pageErrors.push(message.text());
  });
  await load(page, dashboard.address);
  return { server, gleaner, dashboard, page, pageErrors };
}

/** Chromium also loads a page again itself. */
const DROPPED = /net::ERR_NETWORK_CHANGED|interrupted by another navigation/;
const LOADING_MAX_MILLIS = 60_000;

/**
 * Until the page is live. Chromium drops what it is loading when an interface of the host comes or
 * goes, as those of other tests' containers do. A page without one of its scripts stays empty
 * until it is loaded again.
 */
async function load(page: Page, address: string): Promise<void> {
  const end = performance.now() + allowed(LOADING_MAX_MILLIS);
  for (;;) {
    const dropped = new Promise<boolean>((resolve) => {
      page.on('requestfailed', (request) => {
        if (DROPPED.test(request.failure()?.errorText ?? '')) resolve(false);
      });
    });
    const live = (async () => {
      try {
        await page.goto(address);
        await page.getByText('Live', { exact: true }).waitFor();
        return true;
      } catch (error) {
        if (DROPPED.test(String(error))) return false;
        throw error;
      }
    })();
    // One that lost the race is of a page that is gone.
    live.catch(() => undefined);
    if (await Promise.race([live, dropped])) return;
    if (performance.now() > end) throw new Error('Chromium dropped each load');
    // Several interfaces change together.
    await page.waitForTimeout(250);
  }
}

/** As scripts in the page, since this file has no DOM types. */
const go = (page: Page, hash: string): Promise<unknown> =>
  page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
const overflow = (page: Page): Promise<number> =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');

test.after.always(async () => (await browser)?.close());

test.serial('every page shows what came over NATS, by mouse and by keyboard', async (t) => {
  const made = await stage(t, 30, { width: 1280, height: 860 });
  if (made === null) return;
  const { page, gleaner, pageErrors } = made;
  const name = gleaner.names[1]!;

  // Overview: figures, phases, what needs attention (function 1 misses its objective, the host is
  // contended).
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page
    .locator('.kpi', { hasText: 'Harvested' })
    .getByText(/core-seconds so far/)
    .waitFor();
  await page.locator('.kpi', { hasText: 'Within objective' }).getByText('100 %').waitFor();
  await page.getByText('28', { exact: true }).first().waitFor();
  await page.getByText('150 ms of 100 ms').waitFor();
  // Five functions wait 20 ms in each of 11 activations a second; all run .3 of some 70 ms in each.
  await page.getByText(/% of the time waiting for a CPU/).waitFor();
  await page.locator('.u-over').first().waitFor();

  // Functions, by keyboard: filter, go down, open.
  await page.keyboard.press('g');
  await page.keyboard.press('f');
  await page.getByRole('heading', { name: 'Functions' }).waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('fn-0001');
  await page.getByText('1 of 30', { exact: true }).waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');

  // One function: four plots and a learning curve, decisions with their reasons.
  await page.getByRole('heading', { name }).waitFor();
  await page.getByText('uses less than its limit; target').first().waitFor();
  await page.getByText('kept 18 ms of CPU free').first().waitFor();
  await page.getByText('0.7 cores').first().waitFor();
  await page.waitForFunction("document.querySelectorAll('.u-over').length === 5");
  t.regex(
    (await page.locator('.range').first().getAttribute('aria-label')) ?? '',
    /allowed 0\.65 to 1, granted 0\.7/,
  );

  await page.keyboard.press('g');
  await page.keyboard.press('c');
  // Five functions wait 20 ms an activation, for all others.
  await page.locator('.matrix tbody tr').nth(4).waitFor();
  t.is(await page.locator('.matrix tbody tr').count(), 5);

  await go(page, '#/mean-field');
  await page.getByText('published by aggregator0').waitFor();
  await page.getByText('0.50 ± 0.50').waitFor();
  await page.getByText('CPU used of granted').waitFor();

  await go(page, '#/hosts');
  await page.getByText('gleaner-hook').waitFor();
  await page.getByText(/30 functions active, 60 containers, 12 running/).waitFor();

  await go(page, '#/events');
  gleaner.event('drift', gleaner.names[3]!, 'changed_by_others');
  await page.getByText('changed by others').waitFor();
  await page.getByRole('button', { name: 'drift' }).click();
  await page
    .getByText('changed by others')
    .waitFor({ state: 'detached', timeout: 2000 })
    .catch(() => undefined);
  t.false(await page.getByText('changed by others').isVisible());

  await page.keyboard.press('?');
  await page.getByRole('heading', { name: 'Keys' }).waitFor();
  await page.keyboard.press('Escape');
  t.deepEqual(pageErrors, []);
});

test.serial('a change needs the token, and is done over NATS', async (t) => {
  const made = await stage(t, 5, { width: 1280, height: 860 });
  if (made === null) return;
  const { page, gleaner, pageErrors } = made;
  await go(page, '#/hosts');
  await page.getByRole('button', { name: 'Restore all limits' }).click();
  await page.getByRole('button', { name: 'Yes' }).click();
  await page.getByRole('heading', { name: 'Token needed to restore all limits' }).waitFor();
  // Another page is another question.
  await go(page, '#/');
  t.false(await page.locator('#dialog').isVisible());
  await go(page, '#/hosts');
  await page.getByRole('button', { name: 'Restore all limits' }).click();
  await page.getByRole('button', { name: 'Yes' }).click();
  await page.getByLabel('Token', { exact: true }).fill('wrong');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByText('this is not the token').waitFor();
  await page.getByLabel('Token', { exact: true }).fill(TOKEN);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByText('restored on invoker0').waitFor();
  t.is(gleaner.restored, 1);
  // It is kept in the tab: the second change asks no more. No mode is set unless one is chosen.
  const mode = page.getByLabel('Mode of all functions', { exact: true });
  const set = page.getByRole('button', { name: 'Set', exact: true });
  t.true(await set.isDisabled());
  await mode.selectOption('observe');
  await set.click();
  await page.getByText('Set the mode of all functions on all hosts to observe?').waitFor();
  await page.getByRole('button', { name: 'Yes' }).click();
  await page.getByText('all functions: mode observe').waitFor();
  t.deepEqual(gleaner.modes, ['observe']);
  await mode.selectOption('');
  t.true(await set.isDisabled());
  await go(page, `#/function${gleaner.names[0]!}`);
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByText('is paused on every host').waitFor();
  gleaner.paused.add(gleaner.names[0]!);
  await page.getByRole('button', { name: 'Resume' }).waitFor();
  t.deepEqual(pageErrors, []);
});

test.serial('the page asks for the token only while the dashboard answers', async (t) => {
  const made = await stage(t, 5, { width: 1280, height: 860 });
  if (made === null) return;
  const { page, dashboard, pageErrors } = made;
  const restore = async (): Promise<void> => {
    await page.getByRole('button', { name: 'Restore all limits' }).click();
    await page.getByRole('button', { name: 'Yes' }).click();
  };
  await go(page, '#/hosts');
  await restore();
  await page.getByLabel('Token', { exact: true }).fill(TOKEN);
  await dashboard.stop();
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.locator('#toast.shown').getByText('no answer from the dashboard').waitFor();
  t.false(await page.locator('#dialog').isVisible());
  await restore();
  await page.locator('#toast.shown').getByText('no answer from the dashboard').waitFor();
  t.false(await page.locator('#dialog').isVisible());
  await page.getByText(/No connection to the dashboard since/).waitFor();
  t.deepEqual(pageErrors, []);
});

test.serial(
  'lost NATS and a lost dashboard are shown; data stay, and updates resume by themselves',
  async (t) => {
    const made = await stage(t, 5, { width: 1280, height: 860 });
    if (made === null) return;
    const { page, gleaner, server, dashboard, pageErrors } = made;
    await page.getByText('−20 %').first().waitFor();
    await server.down();
    await page.getByText(/NATS is disconnected since/).waitFor();
    await page.getByText('NATS away').first().waitFor();
    t.true(await page.getByText('−20 %').first().isVisible());
    await server.up();
    await page.getByText('Live', { exact: true }).waitFor({ timeout: 15_000 });
    t.false(await page.locator('#banner').isVisible());
    const port = Number(new URL(dashboard.address).port);
    await dashboard.stop();
    await page.getByText(/No connection to the dashboard since/).waitFor();
    const again = await runDashboard({
      broker: await server.connect('again'),
      clock: systemClock,
      timers: systemTimers,
      host: '127.0.0.1',
      port,
      token: null,
      maxFunctions: 5000,
      version: '1.2.4',
    });
    t.teardown(() => again.stop());
    await page.getByText('Gleaner 1.2.4, read-only').waitFor({ timeout: 15_000 });
    await page.getByText('Live', { exact: true }).waitFor();
    await go(page, `#/function${gleaner.names[0]!}`);
    await page.locator('.u-over').first().waitFor();
    t.false(await page.getByRole('button', { name: 'Pause' }).isVisible());
    t.deepEqual(pageErrors, []);
  },
);

test.serial('a dashboard that is silent is shown as lost, and found again', async (t) => {
  const made = await stage(t, 5, { width: 1280, height: 860 });
  if (made === null) return;
  const { page, server, pageErrors } = made;
  // As a stopped process or a tunnel without its far end: connections stay open and bring nothing.
  const sockets = new Set<Socket>();
  let isSilent = false;
  let stalled: ReadonlySet<Socket> = new Set();
  let target = 0;
  const tunnel = createServer((near) => {
    sockets.add(near.on('error', () => undefined));
    if (isSilent) return;
    const far = connect(target, '127.0.0.1').on('error', () => undefined);
    near.pipe(far);
    far.on('data', (data) => {
      if (!isSilent && !stalled.has(near)) near.write(data);
    });
    near.on('close', () => far.destroy());
  });
  await new Promise<void>((resolve) => tunnel.listen(0, '127.0.0.1', resolve));
  const { port } = tunnel.address() as AddressInfo;
  const behind = await runDashboard({
    broker: await server.connect('behind'),
    clock: systemClock,
    timers: systemTimers,
    host: '127.0.0.1',
    port: 0,
    hosts: [`127.0.0.1:${port}`],
    token: null,
    maxFunctions: 5000,
    version: '1.2.3',
  });
  target = Number(new URL(behind.address).port);
  t.teardown(async () => {
    for (const socket of sockets) socket.destroy();
    tunnel.close();
    await behind.stop();
  });
  await load(page, `http://127.0.0.1:${port}`);
  isSilent = true;
  // After five seconds without a tick; the duration that is shown goes on.
  await page.getByText(/No connection to the dashboard since/).waitFor();
  await page.getByText(/No connection to the dashboard since .* \(1\d(\.\d)?\ss\)/).waitFor();
  await page.getByText('No dashboard', { exact: true }).waitFor();
  isSilent = false;
  // A new tunnel takes the place of the old.
  for (const socket of sockets) socket.destroy();
  await page.getByText('Live', { exact: true }).waitFor();
  t.false(await page.locator('#banner').isVisible());
  // If only the open connections are dead, the page opens another.
  const dead = sockets.size;
  stalled = new Set(sockets);
  const end = performance.now() + allowed(15_000);
  while (sockets.size === dead && performance.now() < end) await page.waitForTimeout(100);
  t.true(sockets.size > dead);
  await page.getByText('Live', { exact: true }).waitFor();
  t.deepEqual(pageErrors, []);
});

/** Texts that are cut off, hidden or behind a scroll bar. */
const CLIPPED = `(() => {
  const clipped = [];
  for (const element of document.querySelectorAll('#page, #page *, .side, .side *')) {
    if (!(element instanceof HTMLElement) || element.offsetParent === null) continue;
    if (element.textContent.trim() === '' || element.closest('.unseen') !== null) continue;
    const style = getComputedStyle(element);
    if (style.display === 'inline') continue;
    const isEdge = style.overflowX !== 'visible';
    const hasText = [...element.childNodes].some(
      (node) => node.nodeType === 3 && node.textContent.trim() !== '',
    );
    const sideways = (isEdge || hasText) && element.scrollWidth > element.clientWidth + 1;
    const below = style.overflowY === 'hidden' && element.scrollHeight > element.clientHeight + 1;
    if (sideways || below)
      clipped.push(
        element.tagName + '.' + element.className + ' "' + element.textContent.slice(0, 60) + '"',
      );
  }
  return clipped;
})()`;

// At the same time, because each waits most of it; AVA runs them after those that are serial.
for (const [width, dark] of [
  [390, true],
  [1280, false],
  [1920, false],
] as const)
  test(`${width} px: no text is clipped, and no page is wider than the screen`, async (t) => {
    const made = await stage(t, 30, { width, height: 860, dark });
    if (made === null) return;
    const { page, gleaner, pageErrors } = made;
    t.is(await page.evaluate('document.documentElement.dataset.theme'), dark ? 'dark' : 'light');
    gleaner.event('drift', gleaner.names[3]!, 'changed_outside');
    for (const hash of [
      ...PAGES,
      `#/function${gleaner.names[0]!}`,
      '#/function/guest/none',
      '#/nonsense',
    ]) {
      await go(page, hash);
      await page.locator('h1').waitFor();
      await page.waitForTimeout(1500);
      t.true((await overflow(page)) <= 0, `${hash} is wider than the screen`);
      t.deepEqual(await page.evaluate(CLIPPED), [], `${hash} at ${width} px`);
    }
    // What was lost on narrow screens: the reason of a decision, the action of an event, the
    // comparison of a function.
    await go(page, `#/function${gleaner.names[0]!}`);
    await page.getByText('uses less than its limit; target').first().waitFor();
    await go(page, '#/events');
    await page.getByText(gleaner.names[3]!).filter({ visible: true }).first().waitFor();
    await go(page, '#/contention');
    await page.getByText('−10 %', { exact: true }).filter({ visible: true }).first().waitFor();
    await page.getByRole('button', { name: 'Theme' }).click();
    t.is(await page.evaluate('document.documentElement.dataset.theme'), dark ? 'light' : 'dark');
    t.deepEqual(pageErrors, []);
  });

test.serial(
  'the overview shows the change with interval and samples, or how many are missing',
  async (t) => {
    const made = await stage(t, 5, { width: 1280, height: 860 });
    if (made === null) return;
    const { page, gleaner, pageErrors } = made;
    const verdict = page.locator('#verdict');
    await verdict
      .getByText(
        'compared with the control arm: −20 % response time ' +
          '[95 % interval −20 % to −20 %, 60 activations and 60 control samples]',
      )
      .waitFor();
    await page
      .locator('.card', { hasText: 'Gained most' })
      .getByText('−10 % to −10 %, n 40 / 40')
      .waitFor();
    await page
      .locator('.card', { hasText: 'Slowed most' })
      .getByText('+10 %', { exact: true })
      .waitFor();
    // 7 in 14 s: 13 more in 26 s. No figure.
    gleaner.controlSamples = 7;
    await verdict
      .getByText('not enough control samples yet: 7 of 20, expected in about 26 s')
      .waitFor();
    await verdict.getByText('–', { exact: true }).waitFor();
    await go(page, '#/functions');
    // The third function has 12 samples, so that no figure is shown.
    await page.getByText('12 of 20 control samples').waitFor();
    t.deepEqual(pageErrors, []);
  },
);

test.serial('a refresh takes neither focus nor selection, and says nothing', async (t) => {
  const made = await stage(t, 30, { width: 1280, height: 860 });
  if (made === null) return;
  const { page, gleaner, pageErrors } = made;
  const focused = (): Promise<unknown> =>
    page.evaluate("document.activeElement.getAttribute('href') ?? document.activeElement.id");
  // What is replaced by each tick: removed elements, and texts that a screen reader reads out.
  const watch = (): Promise<unknown> =>
    page.evaluate(`window.removed = 0; window.said = []; window.observer?.disconnect();
    window.observer = new MutationObserver((changes) => {
      for (const { removedNodes, target } of changes) {
        for (const node of removedNodes) if (node instanceof Element) window.removed++;
        const element = target instanceof Element ? target : target.parentElement;
        if (element?.closest('[aria-live], [role=status], [role=alert]'))
          window.said.push(element.textContent);
      }
    });
    observer.observe(document.body, { subtree: true, childList: true, characterData: true })`);
  const seen = (): Promise<unknown> => page.evaluate('[window.removed, window.said]');

  // The first tab stop skips to the page, without leaving it.
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  t.is(await focused(), 'page');
  t.is(await page.evaluate('location.hash'), '');

  // All rows change each second.
  await go(page, '#/functions');
  await page.getByRole('table', { name: 'Functions' }).getByRole('row').nth(5).waitFor();
  t.is(await focused(), 'page', 'of the new page');
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  const href = await focused();
  t.regex(String(href), /^#\/function\/guest\/shop\/fn-/);
  await watch();
  const { second } = gleaner;
  while (gleaner.second < second + 3) await page.waitForTimeout(200);
  t.is(await focused(), href);
  t.deepEqual(await seen(), [0, []]);
  // It stays the same function's after a sort, and beyond what is visible.
  await page.evaluate("document.querySelector('.t-head button').click()");
  await page.evaluate("document.querySelector('.table').scrollTop = 1e6");
  await page.waitForTimeout(1200);
  t.is(await focused(), href);
  await page.keyboard.press('Enter');
  await page.locator('.u-over').first().waitFor();
  t.is(await page.evaluate('location.hash'), href);

  // A table of one function's page, and the lists of the overview.
  t.regex(
    (await page.locator('.plot').first().getAttribute('aria-label')) ?? '',
    /^CPU, cores per container: from [\d:]+ to [\d:]+: granted 0\.7, between 0\.7 and 0\.7; user 1/,
  );
  await page.getByRole('heading', { name: 'CPU cores per container', exact: true }).waitFor();
  await go(page, '#/');
  const link = page.locator('.card', { hasText: 'Gained most' }).getByRole('link');
  await link.focus();
  await page.evaluate("getSelection().selectAllChildren(document.querySelector('#verdict'))");
  const selected = await page.evaluate('String(getSelection())');
  await watch();
  const at = gleaner.second;
  while (gleaner.second < at + 3) await page.waitForTimeout(200);
  t.is(await focused(), '#/function/guest/shop/fn-0000');
  t.is(await page.evaluate('String(getSelection())'), selected);
  const [removed, said] = (await seen()) as [number, string[]];
  t.deepEqual(said, []);
  // One event leaves the list each second.
  t.true(removed <= 5, `${removed} elements were replaced`);
  t.deepEqual(pageErrors, []);
});

test.serial('the space key holds the events, also from the link of one of them', async (t) => {
  const made = await stage(t, 5, { width: 1280, height: 860 });
  if (made === null) return;
  const { page, pageErrors } = made;
  await go(page, '#/events');
  await page
    .getByRole('table', { name: /^Events/ })
    .getByRole('link')
    .first()
    .waitFor();
  await page.keyboard.press('j');
  t.is(await page.evaluate('document.activeElement.tagName'), 'A');
  await page.keyboard.press(' ');
  await page.getByRole('button', { name: 'Resume' }).waitFor();
  t.deepEqual(pageErrors, []);
});

test.serial('of two lost bridges of a host each keeps its place and the focus', async (t) => {
  const made = await stage(t, 5, { width: 1280, height: 860 });
  if (made === null) return;
  const { page, gleaner, pageErrors } = made;
  gleaner.lostBridges = ['br-1', 'br-2'];
  const items = page.locator('.card', { hasText: 'Needs attention' }).locator('li');
  const first = items.filter({ hasText: 'br-1' });
  const second = items.filter({ hasText: 'br-2' });
  await second.getByRole('link').focus();
  await page.evaluate("window.item = document.activeElement.closest('li')");
  const focused = (): Promise<unknown> =>
    page.evaluate("document.activeElement.closest('li') === window.item && item.textContent");
  const { second: at } = gleaner;
  while (gleaner.second < at + 3) await page.waitForTimeout(200);
  t.regex(String(await focused()), /br-2/);
  gleaner.lostBridges = ['br-2'];
  await first.waitFor({ state: 'detached' });
  t.regex(String(await focused()), /br-2/);
  t.deepEqual(pageErrors, []);
});

test.serial('a paused agent host needs attention, and is marked among the parts', async (t) => {
  const made = await stage(t, 5, { width: 1280, height: 860 });
  if (made === null) return;
  const { page, gleaner, pageErrors } = made;
  gleaner.agentsPaused = true;
  const attention = page.locator('.card', { hasText: 'Needs attention' });
  await attention.getByText('gleaner-agents on agents0').waitFor();
  await go(page, '#/hosts');
  const mark = page.locator('tr', { hasText: 'gleaner-agents' }).getByText('paused');
  await mark.waitFor();
  gleaner.agentsPaused = false;
  await mark.waitFor({ state: 'detached' });
  t.deepEqual(pageErrors, []);
});

test.serial('a host whose audit log cannot be written needs attention', async (t) => {
  const made = await stage(t, 5, { width: 1280, height: 860 });
  if (made === null) return;
  const { page, gleaner, pageErrors } = made;
  gleaner.audit = { cause: 'no space left on device', waiting: 12, dropped: 3 };
  const problem = 'audit log cannot be written: no space left on device; 12 lines wait, 3 are lost';
  const attention = page.locator('.card', { hasText: 'Needs attention' });
  await attention.getByText(problem).waitFor();
  const hint = await attention.getByText('audit', { exact: true }).getAttribute('title');
  t.is(hint, 'check space and rights of the state folder on the host');
  await go(page, '#/hosts');
  const mark = page.getByText('audit log not written');
  t.is(await mark.getAttribute('title'), problem);
  gleaner.audit = { cause: null, waiting: 0, dropped: 3 };
  await mark.waitFor({ state: 'detached' });
  t.deepEqual(pageErrors, []);
});

test.serial(
  'each page shows at its top that a kill switch holds, and no mode in force',
  async (t) => {
    const made = await stage(t, 5, { width: 1920, height: 1080 });
    if (made === null) return;
    const { page, gleaner, pageErrors } = made;
    const banner = page
      .getByRole('alert')
      .getByText(
        'the kill switch holds on invoker0 (file): user limits apply until it is released',
      );
    const stopped = page.locator('#page .chip', { hasText: 'stopped' });
    gleaner.killedBy = ['file'];
    for (const hash of ['#/', '#/functions', '#/hosts', `#/function${gleaner.names[0]!}`]) {
      await go(page, hash);
      await banner.waitFor();
      await stopped.first().waitFor();
    }
    gleaner.killedBy = [];
    await banner.waitFor({ state: 'detached' });
    await page.waitForFunction("!document.querySelector('#page').textContent.includes('stopped')");
    t.deepEqual(pageErrors, []);
  },
);

test.serial('the dialog has a name, closes with Escape and gives the focus back', async (t) => {
  const made = await stage(t, 5, { width: 1280, height: 860 });
  if (made === null) return;
  const { page, pageErrors } = made;
  const focused = (): Promise<unknown> => page.evaluate('document.activeElement.textContent');
  await go(page, '#/hosts');
  await page.getByRole('button', { name: 'Restore all limits' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: 'Restore the user limits of every container' }).waitFor();
  await page.keyboard.press('Escape');
  t.is(await focused(), 'Restore all limits');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Yes' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: 'Token needed to restore all limits' }).waitFor();
  t.is(await page.evaluate("document.activeElement.getAttribute('aria-label')"), 'Token');
  await page.keyboard.type('wrong');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('this is not the token').waitFor();
  await page.keyboard.press('Escape');
  t.is(await focused(), 'Restore all limits');
  t.deepEqual(pageErrors, []);
});

test.serial(
  'a time of another day has its date, and every time a title with its zone',
  async (t) => {
    const made = await stage(t, 5, { width: 1280, height: 860, timezoneId: 'Asia/Kolkata' });
    if (made === null) return;
    const { page, gleaner, pageErrors } = made;
    // Half past five hours before Greenwich: 18:29:59 there is the last second of a day here.
    const at = Date.UTC(2026, 0, 2, 18, 29, 59) / 1000;
    const shown = await page.evaluate(`import('/app/format.js').then(({ clock, instant, span }) => [
    clock(${at}, ${at} - 86_399),
    clock(${at}, ${at} + 1),
    instant(${at} + 1),
    instant(Number.NaN),
    span(52 * 86_400_000),
  ])`);
    t.deepEqual(shown, [
      '23:59:59',
      '2026-01-02 23:59:59',
      '2026-01-03 00:00:00 +05:30',
      '',
      '52\u00a0days',
    ]);
    // The synthetic activation began at 1,700,000,000 s, which is 2023-11-14T22:13:20Z.
    await go(page, `#/function${gleaner.names[0]!}`);
    const when = page.getByText('2023-11-15 03:43:20', { exact: true });
    await when.waitFor();
    t.regex((await when.getAttribute('title')) ?? '', /^2023-11-15 03:43:20 \+05:30, activation/);
    await go(page, '#/events');
    const event = page.locator('.t-body [role="cell"]').first();
    await event.waitFor();
    t.regex((await event.textContent()) ?? '', /^\d\d:\d\d:\d\d$/);
    t.regex((await event.getAttribute('title')) ?? '', /^\d{4}-\d\d-\d\d [\d:]{8} \+05:30$/);
    t.deepEqual(pageErrors, []);
  },
);

test.serial(
  'no match of a filter, an unknown function and an unknown page are shown as such',
  async (t) => {
    const made = await stage(t, 5, { width: 1280, height: 860 });
    if (made === null) return;
    const { page, pageErrors } = made;
    await go(page, '#/functions');
    await page.getByLabel('Filter by name').fill('zzz');
    await page.getByText('no function matches “zzz”').waitFor();
    await go(page, '#/function/guest/none');
    await page.getByText('No host has seen /guest/none.').waitFor();
    t.false(await page.locator('.plot').first().isVisible());
    await go(page, '#/nonsense');
    await page.getByRole('heading', { name: 'No such page' }).waitFor();
    await go(page, '#/function/%E0%A4%A');
    await page.locator('h1').waitFor();
    t.deepEqual(pageErrors, []);
  },
);

test.serial('an unknown function is not an error of the service; a failure is', async (t) => {
  const made = await stage(t, 5, { width: 1280, height: 860 });
  if (made === null) return;
  const { page, server, pageErrors } = made;
  const broker = await server.connect('curious');
  const ask = (request: unknown) =>
    callService(broker, { service: services.hook, endpoint: 'explain', request }).catch(
      (error: Error) => error.message,
    );
  await ask({ function: 'nonsense' });
  await go(page, '#/hosts');
  const refused = page
    .locator('tr', { hasText: 'gleaner-hook' })
    .locator('td[data-label="Refused"]');
  await refused.getByText('1', { exact: true }).waitFor({ timeout: 15_000 });
  await go(page, '#/');
  const attention = page.locator('.card', { hasText: 'Needs attention' });
  await attention.getByText('objective').waitFor();
  t.is(await attention.getByText('errors').count(), 0);
  await ask({ function: '/guest/failing' });
  await attention.getByText('cannot read the history').waitFor({ timeout: 15_000 });
  t.deepEqual(pageErrors, []);
});

test.serial('1000 functions at 1 Hz use less than a third of a core in the page', async (t) => {
  const made = await stage(t, 1000, { width: 1440, height: 900 });
  if (made === null) return;
  const { page, pageErrors } = made;
  await go(page, '#/functions');
  await page.getByText('1000', { exact: true }).first().waitFor({ timeout: 15_000 });
  // Every row changes each second.
  const told = (await page.evaluate(`new Promise((resolve) => {
    const source = new EventSource('/api/stream');
    let rows = 0, ticks = 0;
    source.addEventListener('tick', ({ data }) => {
      rows += JSON.parse(data).functions?.length ?? 0;
      if (++ticks === 2) { source.close(); resolve(rows / ticks); }
    });
  })`)) as number;
  t.true(told > 900, `${told} rows a second`);
  // The process of the page: its script, its layout and its painting.
  const system = await (await browser!).newBrowserCDPSession();
  const used = async (): Promise<number> => {
    const { processInfo } = await system.send('SystemInfo.getProcessInfo');
    return processInfo
      .filter(({ type }) => type === 'renderer')
      .reduce((sum, { cpuTime }) => sum + cpuTime, 0);
  };
  // Only visible rows have elements.
  t.true((await page.locator('.t-body [role="row"]').count()) < 60);
  const shares: Record<string, number> = {};
  for (const hash of ['#/functions', '#/']) {
    await go(page, hash);
    await page.waitForTimeout(500);
    const [before, at] = [await used(), performance.now()];
    await page.waitForTimeout(3000);
    shares[hash] = ((await used()) - before) / ((performance.now() - at) / 1000);
  }
  t.log({ rowsASecond: told, ...shares });
  for (const [hash, share] of Object.entries(shares))
    t.true(share < CORE_SHARE, `${hash} uses ${share.toFixed(2)} of a core`);
  t.deepEqual(pageErrors, []);
});
