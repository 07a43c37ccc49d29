import type { ActionRequest, ActionResponse } from '../wire.js';
import { button, h } from './dom.js';

const KEY = 'gleaner-token';
let toastTimer = 0;

/** Shows a short message in the corner for four seconds. */
function toast(text: string): void {
  const element = document.querySelector<HTMLElement>('#toast')!;
  element.textContent = text;
  element.classList.add('shown');
  clearTimeout(toastTimer);
  toastTimer = window.setTimeout(() => element.classList.remove('shown'), 4000);
}

async function post(
  path: string,
  token: string,
  body: object,
): Promise<{ status: number; answer: ActionResponse }> {
  const response = await fetch(path, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, answer: (await response.json()) as ActionResponse };
}

/** The request in words, for dialogs. */
function requestText({ action, function: name, mode }: ActionRequest): string {
  const of = name ?? 'all functions';
  if (action === 'mode') return `set the mode of ${of} to ${mode}`;
  return action === 'restore' ? 'restore all limits' : `${action} ${of}`;
}

const dialog = document.querySelector<HTMLDialogElement>('#dialog')!;
/** A dialog belongs to the page that opened it. */
window.addEventListener('hashchange', () => dialog.close());

/** Shows a dialog until `end` is called with its answer; null: canceled or closed. */
function asked<T>(fill: (end: (answer: T | null) => void) => readonly Node[]): Promise<T | null> {
  return new Promise((resolve) => {
    const end = (answer: T | null): void => {
      dialog.removeEventListener('close', closed);
      dialog.close();
      resolve(answer);
    };
    const closed = (): void => {
      // The close event of a previous dialog may arrive after this one was opened.
      if (!dialog.open) end(null);
    };
    dialog.addEventListener('close', closed);
    dialog.replaceChildren(...fill(end));
    dialog.showModal();
  });
}

/** Asks for the token until it is right; null: canceled. It is kept as long as the tab. */
const promptForToken = (request: ActionRequest): Promise<string | null> =>
  asked((end) => {
    const input = h('input', {
      type: 'password',
      autocomplete: 'off',
      autofocus: true,
      'aria-label': 'Token',
    });
    const problem = h('p.bad');
    const form = h(
      'form',
      h('h2', `Token needed to ${requestText(request)}`),
      h('p.note', 'It is in the file that dashboard.tokenFile names. It is kept in this tab only.'),
      input,
      problem,
      h(
        'div.row',
        button('Cancel', {}, () => end(null)),
        h('button.primary', { type: 'submit' }, 'Continue'),
      ),
    );
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      const { answer } = await post('/api/token', input.value.trim(), {});
      if (answer.ok) end(input.value.trim());
      else problem.textContent = answer.text;
    });
    return [form];
  });

const isConfirmed = async (question: string): Promise<boolean> =>
  (await asked<true>((end) => [
    h('h2', question),
    h(
      'div.row',
      button('No', {}, () => end(null)),
      button('Yes', { class: 'primary' }, () => end(true)),
    ),
  ])) !== null;

/** Performs the request; asks for the token first if there is none yet. */
async function perform(request: ActionRequest): Promise<void> {
  let token = sessionStorage.getItem(KEY) ?? (await promptForToken(request));
  if (token === null) return;
  try {
    let { status, answer } = await post('/api/act', token, request);
    if (status === 401) {
      sessionStorage.removeItem(KEY);
      token = await promptForToken(request);
      if (token === null) return;
      ({ status, answer } = await post('/api/act', token, request));
    }
    if (status !== 401) sessionStorage.setItem(KEY, token);
    toast(answer.text);
  } catch {
    toast('no answer from the dashboard');
  }
}

/** A button that performs a request, after the question of `confirmed`, if any. */
export function actionButton(
  text: string,
  request: () => ActionRequest,
  options: { danger?: boolean; confirmed?: () => string } = {},
): HTMLButtonElement {
  const element = button(text, { class: options.danger ? 'danger' : null }, async () => {
    if (options.confirmed !== undefined && !(await isConfirmed(options.confirmed()))) return;
    element.disabled = true;
    await perform(request());
    element.disabled = false;
  });
  return element;
}
