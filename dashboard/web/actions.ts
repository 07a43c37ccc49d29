import type { ActionRequest, ActionResponse } from '../wire.js';
import { h } from './dom.js';

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

/** A dialog belongs to the page that opened it. */
window.addEventListener('hashchange', () =>
  document.querySelector<HTMLDialogElement>('#dialog')!.close(),
);

/** Asks for the token until it is right; null: canceled. It is kept as long as the tab. */
function promptForToken(request: ActionRequest): Promise<string | null> {
  const dialog = document.querySelector<HTMLDialogElement>('#dialog')!;
  const input = h('input', { type: 'password', autocomplete: 'off', 'aria-label': 'Token' });
  const problem = h('p', { class: 'bad' });
  const go = h('button', { class: 'primary', type: 'submit' }, 'Continue');
  const cancel = h('button', { type: 'button' }, 'Cancel');
  const form = h(
    'form',
    {},
    h('h2', {}, `Token needed to ${requestText(request)}`),
    h(
      'p',
      { class: 'note' },
      'It is in the file that dashboard.tokenFile names. It is kept in this tab only.',
    ),
    input,
    problem,
    h('div', { class: 'row' }, cancel, go),
  );
  dialog.replaceChildren(form);
  dialog.showModal();
  input.focus();
  return new Promise((resolve) => {
    const end = (token: string | null): void => {
      dialog.removeEventListener('close', given);
      dialog.close();
      resolve(token);
    };
    const given = (): void => {
      // The close event of a previous dialog may arrive after this one was opened.
      if (!dialog.open) end(null);
    };
    dialog.addEventListener('close', given);
    cancel.addEventListener('click', () => end(null));
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      const { answer } = await post('/api/token', input.value.trim(), {});
      if (answer.ok) end(input.value.trim());
      else problem.textContent = answer.text;
    });
  });
}

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

/** A button that performs a request, after confirmation if `confirmed` is set. */
export function actionButton(
  text: string,
  request: () => ActionRequest,
  options: { danger?: boolean; confirmed?: string } = {},
): HTMLButtonElement {
  const button = h('button', { type: 'button', class: options.danger ? 'danger' : null }, text);
  button.addEventListener('click', async () => {
    if (options.confirmed !== undefined && !(await confirmed(options.confirmed))) return;
    button.disabled = true;
    await perform(request());
    button.disabled = false;
  });
  return button;
}

function confirmed(question: string): Promise<boolean> {
  const dialog = document.querySelector<HTMLDialogElement>('#dialog')!;
  const yes = h('button', { type: 'button', class: 'primary' }, 'Yes');
  const no = h('button', { type: 'button' }, 'No');
  dialog.replaceChildren(h('h2', {}, question), h('div', { class: 'row' }, no, yes));
  dialog.showModal();
  return new Promise((resolve) => {
    const end = (answer: boolean): void => {
      dialog.removeEventListener('close', left);
      dialog.close();
      resolve(answer);
    };
    const left = (): void => {
      if (!dialog.open) end(false);
    };
    dialog.addEventListener('close', left);
    yes.addEventListener('click', () => end(true));
    no.addEventListener('click', () => end(false));
  });
}
