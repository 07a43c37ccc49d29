const WIDTH = 28;

/** A line that grows on a terminal; silent elsewhere, so that logs stay readable. */
export class ProgressBar {
  readonly #write: (text: string) => void;
  readonly #isTerminal: boolean;
  readonly #now: () => number;
  readonly #started: number;
  #shown = '';

  constructor(write: (text: string) => void, isTerminal: boolean, now: () => number) {
    this.#write = write;
    this.#isTerminal = isTerminal;
    this.#now = now;
    this.#started = now();
  }

  /** `share` of the work done, 0..1. */
  update(share: number, note: string): void {
    if (!this.#isTerminal) return;
    const done = Math.round(Math.min(1, Math.max(0, share)) * WIDTH);
    const passed = (this.#now() - this.#started) / 1000;
    const left = share > 0.02 ? `, ${timeText((passed * (1 - share)) / share)} left` : '';
    const bar = `[${'█'.repeat(done)}${'·'.repeat(WIDTH - done)}]`;
    const line = `${bar} ${Math.floor(100 * share)} %  ${note}${left}`;
    if (line === this.#shown) return;
    this.#shown = line;
    this.#write(`\r${line}\u001b[K`);
  }

  end(): void {
    if (this.#shown !== '') this.#write('\r\u001b[K');
    this.#shown = '';
  }
}

/** `45 s`, `12 min`, `3 h 5 min`: as exact as an estimate is. */
function timeText(seconds: number): string {
  if (seconds <= 90) return `${Math.ceil(seconds)} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** On stderr, so that stdout is the answer alone. */
export function stderrProgress(): ProgressBar {
  return new ProgressBar(
    (text) => void process.stderr.write(text),
    process.stderr.isTTY === true,
    () => performance.now(),
  );
}
