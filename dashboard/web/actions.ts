import type { ActionRequest, ActionResponse } from '../wire.js';
import { button, h } from './dom.js';

const KEY = 'gleaner-token';
/** Longer than any action takes on the hosts. */
const ANSWER_MAX_MILLIS = 30_000;
/** The banner says more. */
const NO_ANSWER = 'no answer from the dashboard';
let toastTimer = 0;

/** Shows a short message in the corner for four seconds. */
function toast(text: string): void {
  const element = document.querySelector<HTMLElement>('#toast')!;
  element.textContent = text;
  element.classList.add('shown');
  clearTimeout(toastTimer);
  toastTimer = window.setTimeout(() => {
    element.classList.remove('shown');
    element.textContent = '';
  }, 4000);
}

/** Null: no answer of the dashboard. */
async function post(
  path: string,
  token: string | null,
  body: object,
): Promise<{ status: number; answer: ActionResponse } | null> {
  try {
    const response = await fetch(path, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(ANSWER_MAX_MILLIS),
    });
    return { status: response.status, answer: (await response.json()) as ActionResponse };
  } catch {
    return null;
  }
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

/** Its heading; the dialog is named after it. */
export const dialogTitle = (text: string): HTMLElement => h('h2', { id: 'dialog-title' }, text);

/** Shows a dialog until `end` is called with its answer; null: canceled or closed. */
function showDialog<T>(
  fill: (end: (answer: T | null) => void) => readonly Node[],
): Promise<T | null> {
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

/** Asks for the token until it is right; null: canceled, or the dashboard cannot be reached. */
const promptForToken = (request: ActionRequest): Promise<string | null> =>
  showDialog((end) => {
    const input = h('input', {
      type: 'password',
      autocomplete: 'off',
      autofocus: true,
      'aria-label': 'Token',
    });
    const problem = h('p.bad', { role: 'alert' });
    const form = h(
      'form',
      dialogTitle(`Token needed to ${requestText(request)}`),
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
      const token = input.value.trim();
      const reply = await post('/api/token', token, {});
      if (reply === null) toast(NO_ANSWER);
      if (reply === null || reply.answer.ok) end(reply && token);
      else problem.textContent = reply.answer.text;
    });
    return [form];
  });

const isConfirmed = async (question: string): Promise<boolean> =>
  (await showDialog<true>((end) => [
    dialogTitle(question),
    h(
      'div.row',
      button('No', {}, () => end(null)),
      button('Yes', { class: 'primary' }, () => end(true)),
    ),
  ])) !== null;

/** Performs the request; asks for the token only if the dashboard refuses it for want of one. */
async function perform(request: ActionRequest): Promise<void> {
  let token = sessionStorage.getItem(KEY);
  let reply = await post('/api/act', token, request);
  if (reply?.status === 401) {
    sessionStorage.removeItem(KEY);
    token = await promptForToken(request);
    if (token === null) return;
    reply = await post('/api/act', token, request);
  }
  // It is kept as long as the tab.
  if (token !== null && reply !== null && reply.status !== 401) sessionStorage.setItem(KEY, token);
  toast(reply?.answer.text ?? NO_ANSWER);
}

/** A button that performs a request, after the question of `confirmed`, if any. */
export function actionButton(
  text: string,
  request: () => ActionRequest,
  options: { danger?: boolean; confirmed?: () => string } = {},
): HTMLButtonElement {
  const element = button(text, { class: options.danger ? 'danger' : null }, async () => {
    if (element.hasAttribute('aria-disabled')) return;
    if (options.confirmed !== undefined && !(await isConfirmed(options.confirmed()))) return;
    // Not `disabled`, which would take the focus.
    element.setAttribute('aria-disabled', 'true');
    await perform(request());
    element.removeAttribute('aria-disabled');
  });
  return element;
}
