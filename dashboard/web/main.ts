import { dialogTitle } from './actions.js';
import { button, focusPage, h, setClass, setText } from './dom.js';
import { Feed } from './feed.js';
import { clock, span } from './format.js';
import { contentionPage } from './pages/contention.js';
import { eventsPage } from './pages/events.js';
import { functionPage } from './pages/function.js';
import { functionsPage } from './pages/functions.js';
import { hostsPage } from './pages/hosts.js';
import { meanFieldPage } from './pages/mean-field.js';
import { overviewPage } from './pages/overview.js';
import { type Page, State } from './state.js';

interface Place {
  readonly hash: string;
  readonly name: string;
  readonly key: string;
  readonly open: () => Page;
  readonly count?: (state: State) => number;
}

const places: readonly Place[] = [
  { hash: '#/', name: 'Overview', key: 'o', open: overviewPage },
  {
    hash: '#/functions',
    name: 'Functions',
    key: 'f',
    open: functionsPage,
    count: (state) => state.functions.size,
  },
  { hash: '#/contention', name: 'Contention', key: 'c', open: contentionPage },
  { hash: '#/mean-field', name: 'Mean field', key: 'm', open: meanFieldPage },
  {
    hash: '#/hosts',
    name: 'Hosts',
    key: 'h',
    open: hostsPage,
    count: (state) => state.hosts.length,
  },
  { hash: '#/events', name: 'Events', key: 'e', open: eventsPage },
];
const FUNCTION = '#/function/';

const find = <T extends HTMLElement>(id: string): T => document.querySelector<T>(`#${id}`)!;
const state = new State();
const feed = new Feed(state, changed);
const links = new Map<string, { link: HTMLAnchorElement; count: HTMLElement }>();
let page: Page | null = null;
let pending = false;

for (const { hash, name } of places) {
  const count = h('span.count');
  const link = h('a', { href: hash }, name, count);
  links.set(hash, { link, count });
  find('nav').append(link);
}

/** A typed address may not be valid URI encoding. */
function decoded(text: string): string {
  try {
    return decodeURI(text);
  } catch {
    return text;
  }
}

function open(): void {
  const hash = location.hash || '#/';
  page?.destroy?.();
  const isFunction = hash.startsWith(FUNCTION);
  page = isFunction
    ? functionPage(decoded(hash.slice(FUNCTION.length - 1)))
    : (places.find((place) => place.hash === hash)?.open ?? (() => missingPage(hash)))();
  const current = isFunction ? '#/functions' : hash;
  for (const [to, { link }] of links) {
    if (to === current) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  const root = find('page');
  root.replaceChildren(page.element);
  root.setAttribute('aria-label', page.title);
  document.title = `${page.title} · Gleaner`;
  window.scrollTo(0, 0);
  page.update(state);
}

/** The new page is read out, and the next tab goes into it. */
function follow(): void {
  open();
  focusPage();
}

function missingPage(hash: string): Page {
  const element = h(
    'div',
    h('div.head', h('h1', 'No such page')),
    h(
      'div.card.empty',
      `${hash} is no page of the dashboard. `,
      h('a.link-text', { href: '#/' }, 'Overview'),
    ),
  );
  return { title: 'No such page', element, update: () => undefined };
}

/** Draws at most once per frame, and not while the tab is hidden. */
function changed(): void {
  if (pending) return;
  pending = true;
  const draw = (): void => {
    pending = false;
    showLink();
    for (const { hash, count } of places)
      if (count !== undefined) setText(links.get(hash)!.count, String(count(state)));
    page?.update(state);
  };
  if (document.hidden) pending = false;
  else requestAnimationFrame(draw);
}

function showLink(): void {
  const { nats } = state;
  const { isReceiving, since } = feed.state;
  const good = isReceiving && nats.connected;
  setClass(find('dot'), good ? 'dot' : 'dot off');
  setText(find('live'), !isReceiving ? 'No dashboard' : nats.connected ? 'Live' : 'NATS away');
  setText(find('server'), nats.server);
  const writable = state.writable ? '' : ', read-only';
  setText(find('version'), state.version === '' ? '' : `Gleaner ${state.version}${writable}`);
  find('kill-switch').hidden = state.killSwitch === '';
  setText(find('kill-switch'), state.killSwitch);
  find('banner').hidden = good;
  const lost = isReceiving
    ? `NATS is disconnected since ${clock(nats.since)}; the page shows the state of that time. ` +
      `Hosts keep user limits and local policies. ${nats.problem}`
    : `No connection to the dashboard since ${clock(since)}: ` +
      'is `gleaner up` or `gleaner dashboard` running? The page keeps trying.';
  setText(find('lost'), good ? '' : lost);
  // Beside the text that is read out, since it changes each second.
  const seconds = Date.now() / 1000 - (isReceiving ? nats.since : since);
  setText(find('lost-for'), good ? '' : `(${span(Math.round(seconds) * 1000)})`);
}

function help(): void {
  const dialog = find<HTMLDialogElement>('dialog');
  const keys: readonly (readonly [string, string])[] = [
    ...places.map(({ key, name }) => [`g ${key}`, name] as const),
    ['/', 'filter'],
    ['j k', 'down, up'],
    ['Enter', 'open'],
    ['space', 'hold the events'],
    ['t', 'light or dark'],
    ['?', 'this'],
  ];
  const close = button('Close', { class: 'primary' }, () => dialog.close());
  const list = h('dl');
  for (const [key, what] of keys)
    list.append(h('dt', ...key.split(' ').flatMap((one) => [h('kbd', one), ' '])), h('dd', what));
  dialog.replaceChildren(dialogTitle('Keys'), list, h('div.row', close));
  dialog.showModal();
}

let isNavigating = false;
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]'))
    return;
  const target = event.target as HTMLElement;
  if (target.matches('input, select, textarea')) return;
  const { key } = event;
  const place = isNavigating ? places.find((one) => one.key === key) : undefined;
  isNavigating = false;
  if (place !== undefined) location.hash = place.hash;
  else if (key === 'g') isNavigating = true;
  else if (key === '?') help();
  else if (key === 't') retheme();
  // A focused button handles Enter and space itself, a link Enter alone.
  else if (key === 'Enter' && target.matches('a, button')) return;
  else if (key === ' ' && target.matches('button')) return;
  else if (!page?.key?.(key)) return;
  event.preventDefault();
});

const THEME_KEY = 'gleaner-theme';
const darkScheme = matchMedia('(prefers-color-scheme: dark)');

/** Applies the chosen theme, otherwise that of the system. */
function applyTheme(): void {
  document.documentElement.dataset.theme =
    localStorage.getItem(THEME_KEY) ?? (darkScheme.matches ? 'dark' : 'light');
  page?.update(state);
}

function retheme(): void {
  const isDark = document.documentElement.dataset.theme === 'dark';
  localStorage.setItem(THEME_KEY, isDark ? 'light' : 'dark');
  applyTheme();
}

applyTheme();
darkScheme.addEventListener('change', applyTheme);
find('theme').addEventListener('click', retheme);
find('help').addEventListener('click', help);
window.addEventListener('hashchange', follow);
find('skip').addEventListener('click', (event) => {
  // Its address would be that of another page.
  event.preventDefault();
  focusPage();
});
document.addEventListener('visibilitychange', changed);
open();
feed.start();
