const KEY = 'gleaner-theme';
const dark = matchMedia('(prefers-color-scheme: dark)');

const set = (name: string): void => {
  document.documentElement.dataset.theme = name;
};

const currentTheme = (): string => localStorage.getItem(KEY) ?? (dark.matches ? 'dark' : 'light');

/** As chosen, else as the system is. `changed`: the system changed its mind. */
export function applyTheme(changed: () => void): void {
  set(currentTheme());
  dark.addEventListener('change', () => {
    set(currentTheme());
    changed();
  });
}

export function toggleTheme(): void {
  const next = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
  localStorage.setItem(KEY, next);
  set(next);
}
