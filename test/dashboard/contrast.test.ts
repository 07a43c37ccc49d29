import { readFileSync } from 'node:fs';
import test from 'ava';

const read = (name: string): string =>
  readFileSync(new URL(`../../../dashboard/web/${name}`, import.meta.url), 'utf8');
const css = read('style.css');

function variables(selector: string): Record<string, string> {
  const start = css.indexOf(`${selector} {`);
  const block = css.slice(start, css.indexOf('}', start));
  return Object.fromEntries(
    Array.from(block.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g), ([, name, value]) => [name, value]),
  );
}

/**
 * Relative luminance and contrast as WCAG 2.2 defines them
 * (https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio).
 */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const channel = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
function contrast(one: string, other: string): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

const light = variables(':root');
const themes = { light, dark: { ...light, ...variables(':root[data-theme="dark"]') } };
const TEXTS = ['text', 'muted', 'faint', 'accent', 'green', 'blue', 'amber', 'red', 'violet'];

for (const [theme, color] of Object.entries(themes)) {
  test(`every text color has a contrast of at least 4.5:1 on its background, ${theme}`, (t) => {
    const pairs = [
      ...TEXTS.flatMap((text) =>
        ['bg', 'panel', 'panel-2'].map((background) => [text, background] as const),
      ),
      ...['green', 'blue', 'amber', 'red', 'accent'].map((tone) => [tone, `${tone}-soft`] as const),
      ['panel', 'accent'] as const,
    ];
    for (const [text, background] of pairs) {
      const [one, other] = [color[text], color[background]];
      if (one === undefined || other === undefined)
        t.fail(`--${text} or --${background} is no six-digit color`);
      else
        t.true(
          contrast(one, other) >= 4.5,
          `--${text} on --${background}: ${contrast(one, other).toFixed(2)}`,
        );
    }
  });
}

test('the contention matrix can be read at every share, in both themes', (t) => {
  const most = /var\(--share, 0\) \* (\d+)%/.exec(read('parts.css'))?.[1];
  for (const [theme, { amber, text, 'panel-2': panel }] of Object.entries(themes))
    for (const share of [0, 0.5, 1]) {
      const mixed = mix(amber!, panel!, (share * Number(most)) / 100);
      t.true(contrast(text!, mixed) >= 4.5, `${theme}, ${share}: ${contrast(text!, mixed)}`);
    }
});

/** As `color-mix(in srgb, …)`: each channel in proportion. */
function mix(one: string, other: string, share: number): string {
  const channels = [1, 3, 5].map((at) => {
    const [a, b] = [one, other].map((color) => Number.parseInt(color.slice(at, at + 2), 16));
    return Math.round(a! * share + b! * (1 - share));
  });
  return `#${channels.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`;
}

test('nothing moves for people who prefer reduced motion', (t) => {
  for (const name of ['style.css', 'parts.css']) {
    const always = read(name).replace(/@media \(prefers-reduced-motion: no-preference\).*/s, '');
    t.notRegex(always, /transition|animation|scroll-behavior/, name);
  }
});
