import type { Action } from '../../../simulator/invoker-emulator/index.js';
import type { Line } from './traffic-recorder.js';

/**
 * What of a line must be equal, as one text. Masked: ids, times, addresses, Host, API version;
 * kept: all else, in its order.
 */
export function comparable(line: Line, prefix: string): string {
  const url = (line.url ?? '')
    .replace(/^\/v1\.\d+/, '')
    .replace(/[0-9a-f]{64}/, '<id>')
    .replace(/(since|until)=\d+/g, '$1=<time>')
    .replace(`name=${prefix}_`, 'name=wsk0_');
  if (line.kind === 'engine-request') {
    const body = line.body === undefined ? '' : ` ${JSON.stringify(engineBody(line.body))}`;
    return `${line.method} ${url}${body}`;
  }
  if (line.kind === 'engine-response') return `${line.status} to ${line.method} ${url}`;
  if (line.kind === 'container-request') {
    const headers = (line.headers ?? []).map((text, index, all) =>
      all[index - 1] === 'Host' ? '<host>' : text,
    );
    const body = JSON.stringify(callBody(line.body));
    return `${line.method} ${url} ${JSON.stringify(headers)} ${body}`;
  }
  return `${line.kind} ${url} ${line.status ?? ''} ${line.contentLength ?? ''}`.trim();
}

/** Image, network and the API host's address are the installation's, not the invoker's. */
function engineBody(body: unknown): unknown {
  return JSON.parse(JSON.stringify(body), (key, value) => {
    if (key === 'Image' || key === 'NetworkMode') return `<${key}>`;
    if (key === 'Env') return (value as string[]).map((text) => text.replace(/=.*/, '=<value>'));
    return value;
  });
}

/** Key order counts, so the text is compared; long strings are cut as the transcript cuts them. */
function callBody(body: unknown): unknown {
  return JSON.parse(JSON.stringify(body), (key, value) => {
    if (typeof value !== 'string') return value;
    if (/^(__OW_)?(activation_id|transaction_id|deadline)$/i.test(key)) return `<${value.length}>`;
    return value.length > 61 && !value.includes('…(')
      ? `${value.slice(0, 60)}…(${value.length})`
      : value;
  });
}

/**
 * The container a line belongs to, by its number in the name; null for what belongs to none (pings,
 * lists).
 */
export function byContainer(lines: readonly Line[], prefix: string): Map<number, Line[]> {
  const found = new Map<number, Line[]>();
  const numbers = new Map<string, number>();
  let created = 0;
  for (const line of lines) {
    let number: number | undefined;
    const name = new RegExp(`(?:name=|^/)${prefix}_(\\d+)_`).exec(line.name ?? line.url ?? '');
    const id = /[0-9a-f]{64}/.exec(line.url ?? '')?.[0];
    if (name) number = Number(name[1]);
    else if (id) {
      // Creations do not overlap in the transcript: the first id after one is the new container's.
      number = numbers.get(id) ?? created;
      numbers.set(id, number);
    }
    if (number === undefined) continue;
    if (line.kind === 'engine-request' && line.url?.includes('/create?')) created = number;
    found.set(number, [...(found.get(number) ?? []), line]);
  }
  return found;
}

const hello = 'function main(a){console.log("hello",a.x);return {ok:1,x:a.x}}';

/**
 * Sources as recorded. The transcript cuts what is longer than 60 characters; the rest is the only
 * ending that gives the recorded length and answer, except for `nokey` and `env`, where it is a
 * filling of the recorded length.
 */
const sources: Record<string, string> = {
  fail: 'function main(){console.log("about to fail");throw new Error("boom")}',
  appfail: 'function main(){return {error:"app said no"}}',
  slow: 'function main(){return new Promise(r=>setTimeout(()=>r({}),5000))}',
  oom:
    'function main(){const k=[];for(let i=0;i<60;i++){k.push(Buffer.alloc(10*1024*1024,' +
    '1))}return {n:60};}',
  conc: 'async function main(a){await new Promise(r=>setTimeout(r,300));return {x:a.x}}',
  inc: 'function main(a){return {n:(a.n||0)+1}}',
  nokey: filled(
    'function main(){return {keys:Object.keys(process.env).filter(k=>k.startsWith("__OW_"))}}',
    120,
  ),
  env: filled(
    'function main(){return ' +
      'Object.fromEntries(Object.entries(process.env).' +
      'filter(k=>k[0]!=""&&k[0]!=""&&k[0]!=""&&k[0]!=""))}',
    162,
  ),
};

/** A source made as long as a recorded one. */
export function filled(code: string, length: number): string {
  return `${code}//`.padEnd(length, '-');
}

export function recordedAction(name: string, more: Partial<Action> = {}): Action {
  return {
    namespace: 'guest',
    name,
    version: '0.0.1',
    code: sources[name] ?? hello,
    memoryMb: 256,
    ...more,
  };
}
