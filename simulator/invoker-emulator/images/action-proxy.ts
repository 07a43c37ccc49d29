/**
 * The program inside the action image: listens on 8080 and answers `/init` and `/run` as
 * OpenWhisk's nodejs runtime does (openwhisk-runtime-nodejs, core/nodejsActionBase: src/service.js,
 * runner.js; statuses 200, 403, 502, end markers on both outputs, `__OW_ALLOW_CONCURRENT`). It is
 * copied into the image as compiled and may import nothing but node itself.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';

interface Reply {
  readonly status: number;
  readonly body: unknown;
}

type Handler = (args: unknown) => unknown;

const SENTINEL = 'XXX_THE_END_OF_A_WHISK_ACTIVATION_XXX';
const BODY_LIMIT = 48 * 1024 * 1024;
const concurrent = (process.env.__OW_ALLOW_CONCURRENT ?? '').toLowerCase() === 'true';
// `function` bodies of actions are CommonJS: they expect `require`.
const localRequire = createRequire('/action/');

let status: 'ready' | 'starting' | 'running' | 'stopped' = 'ready';
let handler: Handler | undefined;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;
const problem = (code: number, text: string): Reply => ({ status: code, body: { error: text } });

function setStatus(next: typeof status): void {
  if (status !== 'stopped') status = next;
}

function writeMarkers(): void {
  console.log(SENTINEL);
  console.error(SENTINEL);
}

/** The function called `main` of the source, declared at its top or exported. */
function compile(code: string, main: string): Handler {
  const source =
    `${code}\n;return (typeof ${main} !== 'undefined') ? ${main} : ` +
    `(module.exports.${main} ?? exports.${main});`;
  const exported = { exports: {} as Record<string, unknown> };
  const found: unknown = new Function('require', 'module', 'exports', source)(
    localRequire,
    exported,
    exported.exports,
  );
  if (typeof found !== 'function')
    throw new Error(`Action entrypoint '${main}' is not a function.`);
  return found as Handler;
}

function init(message: unknown): Reply {
  if (handler) return problem(403, 'Cannot initialize the action more than once.');
  if (status !== 'ready') return problem(403, `System not ready, status is ${status}.`);
  const value = isObject(message) && isObject(message.value) ? message.value : {};
  if (
    typeof value.main !== 'string' ||
    typeof value.code !== 'string' ||
    !value.main ||
    !value.code
  ) {
    return problem(403, 'Missing main/no code to execute.');
  }
  setStatus('starting');
  if (isObject(value.env)) {
    for (const [key, content] of Object.entries(value.env)) {
      process.env[key] = isObject(content) ? JSON.stringify(content) : String(content ?? '');
    }
  }
  try {
    handler = compile(value.code, value.main);
  } catch (error) {
    console.error('Error during initialization:', error);
    writeMarkers();
    setStatus('stopped');
    return problem(
      502,
      `Initialization has failed due to: ${error instanceof Error ? error.stack : String(error)}`,
    );
  }
  setStatus('ready');
  return { status: 200, body: { OK: true } };
}

async function run(message: unknown): Promise<Reply> {
  if (!handler) return problem(403, 'System not initialized.');
  if (status !== 'ready') return problem(403, `System not ready, status is ${status}.`);
  const fields = isObject(message) ? message : {};
  const value = fields.value ?? {};
  if (!isObject(value))
    return problem(403, `the argument must be a dictionary but has type '${typeof value}'.`);
  if (!concurrent) setStatus('running');
  for (const [key, content] of Object.entries(fields)) {
    if (typeof content === 'string' && key !== 'value')
      process.env[`__OW_${key.toUpperCase()}`] = content;
  }
  let pending: unknown;
  try {
    pending = handler(value);
  } catch (error) {
    console.error(error);
    writeMarkers();
    setStatus('stopped');
    return problem(502, `An error has occurred: ${error}`);
  }
  let result: unknown;
  try {
    result = (await pending) ?? {};
  } catch (error) {
    // A rejected promise is the action's own answer: an application error.
    result = {
      error: error instanceof Error ? { name: error.name, message: error.message } : (error ?? {}),
    };
  }
  writeMarkers();
  if (!concurrent) setStatus('ready');
  if (typeof result !== 'object') return problem(502, 'The action did not return a dictionary.');
  return { status: 200, body: result };
}

async function read(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    const part = chunk as Buffer;
    size += part.length;
    if (size > BODY_LIMIT) throw new Error('body too large');
    chunks.push(part);
  }
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

async function answer(request: IncomingMessage, reply: ServerResponse): Promise<void> {
  let result: Reply;
  try {
    const message = await read(request);
    if (request.method === 'POST' && request.url === '/init') result = init(message);
    else if (request.method === 'POST' && request.url === '/run') result = await run(message);
    else result = problem(500, 'Bad request.');
  } catch {
    result = problem(500, 'Bad request.');
  }
  const body = Buffer.from(JSON.stringify(result.body), 'utf8');
  reply.writeHead(result.status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': body.length,
  });
  reply.end(body);
}

const server = createServer((request, reply) => void answer(request, reply));
server.timeout = 0;
server.requestTimeout = 0;
server.listen(8080);
