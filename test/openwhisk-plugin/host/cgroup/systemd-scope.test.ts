import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testProp } from '@fast-check/ava';
import test from 'ava';
import fc from 'fast-check';
import {
  encodeCall,
  Marshaller,
  MessageReader,
} from '../../../../openwhisk-plugin/host/cgroup/dbus-message.js';
import { SystemdBus } from '../../../../openwhisk-plugin/host/cgroup/index.js';
import type { ScopeProperty } from '../../../../openwhisk-plugin/host/cgroup/systemd-scope.js';
import {
  type ScopeListener,
  SystemdScope,
} from '../../../../openwhisk-plugin/host/cgroup/systemd-scope.js';

const noListener: ScopeListener = { failed: () => undefined, applied: () => undefined };

/**
 * A method return (2) or an error (3) with one string as its body, as a bus sends it; field order
 * as dbus-daemon has it.
 */
function reply(type: 2 | 3, serial: number, errorName = '', text = ''): Buffer {
  const body = text === '' ? Buffer.alloc(0) : new Marshaller().string(text).bytes();
  const message = new Marshaller()
    .byte(0x6c)
    .byte(type)
    .byte(1)
    .byte(1)
    .uint32(body.length)
    .uint32(77);
  const fields: (readonly [number, string, string | number])[] = [
    [6, 's', ':1.7'],
    ...(errorName === '' ? [] : ([[4, 's', errorName]] as const)),
    [5, 'u', serial],
    ...(body.length === 0 ? [] : ([[8, 'g', 's']] as const)),
    [7, 's', 'org.freedesktop.DBus'],
  ];
  message.structures(fields, ([code, kind, value]) => {
    message.byte(code).signature(kind);
    if (kind === 'u') message.uint32(value as number);
    else if (kind === 'g') message.signature(value as string);
    else message.string(value as string);
  });
  return Buffer.concat([message.align(8).bytes(), body]);
}

interface Call {
  readonly serial: number;
  readonly message: Buffer;
}

/**
 * A bus on a socket of its own: it authenticates, then asks `answer` what to send for each call.
 */
async function bus(answer: (call: Call, socket: Socket) => void) {
  const folder = mkdtempSync(join(tmpdir(), 'glcg-bus-'));
  const path = join(folder, 'bus');
  const greetings: string[] = [];
  const server = createServer((socket) => {
    let rest = Buffer.alloc(0);
    let begun = false;
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      rest = Buffer.concat([rest, chunk]);
      if (!begun) {
        const end = rest.indexOf('\r\n');
        if (end < 0) return;
        const line = rest.toString('latin1', 0, end);
        greetings.push(line);
        rest = rest.subarray(end + 2);
        if (line.startsWith('\0AUTH')) socket.write('OK 0123456789abcdef\r\n');
        begun = line === 'BEGIN';
        if (!begun) return;
      }
      while (rest.length >= 16) {
        const length = Math.ceil((16 + rest.readUInt32LE(12)) / 8) * 8 + rest.readUInt32LE(4);
        if (rest.length < length) return;
        const message = rest.subarray(0, length);
        rest = rest.subarray(length);
        answer({ serial: message.readUInt32LE(8), message }, socket);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const close = (): void => {
    server.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { path, greetings, close };
}

test('a call to systemd has the bytes that the D-Bus specification asks for', (t) => {
  const body = new Marshaller().string('a.scope').uint32(1);
  const properties = [
    { name: 'MemoryMax', bytes: 1024n },
    { name: 'MemoryLow', bytes: 0xffff_ffff_ffff_ffffn },
  ];
  body.structures(properties, ({ name, bytes }) => body.string(name).signature('t').uint64(bytes));
  // `sba(sv)`: each value at a multiple of its alignment, the array's length without the padding
  // before its first structure.
  const expected = [
    '07000000612e73636f706500', // "a.scope", 4 + 8 bytes
    '01000000', // true, at 12
    '40000000', // 64 bytes of structures (24 to 88), at 16
    '00000000', // to 24
    '090000004d656d6f72794d617800', // "MemoryMax", to 38
    '017400', // signature "t", to 41
    '00000000000000', // to 48
    '0004000000000000', // 1024, to 56
    '090000004d656d6f72794c6f7700', // "MemoryLow", to 70
    '017400', // to 73
    '00000000000000', // to 80
    'ffffffffffffffff', // infinity
  ].join('');
  t.is(body.bytes().toString('hex'), expected);
  const call = encodeCall(
    {
      destination: 'b',
      path: '/',
      interface: 'c.d',
      member: 'E',
      signature: 's',
      body: new Marshaller().string('').bytes(),
    },
    9,
  );
  t.is(call.length % 8, 5, 'a header of whole 8 bytes, then a body of 5');
  t.is(call.readUInt32LE(4), 5);
  t.is(call.readUInt32LE(8), 9);
});

testProp(
  'replies are found however the stream is cut, and other messages are left out',
  [fc.array(fc.nat(40), { minLength: 1, maxLength: 30 })],
  (t, cuts) => {
    const stream = Buffer.concat([
      reply(2, 1),
      encodeCall(
        {
          destination: 'x',
          path: '/',
          interface: 'a.b',
          member: 'Signal',
          signature: '',
          body: Buffer.alloc(0),
        },
        5,
      ),
      reply(3, 2, 'org.x.NoSuchUnit', 'Unit a.scope not loaded.'),
      reply(2, 3),
    ]);
    const reader = new MessageReader();
    const found: unknown[] = [];
    let at = 0;
    for (const cut of [...cuts, stream.length]) {
      found.push(...reader.push(stream.subarray(at, at + cut)));
      at = Math.min(stream.length, at + cut);
    }
    t.deepEqual(found, [
      { serial: 1, error: null },
      { serial: 2, error: 'Unit a.scope not loaded. (org.x.NoSuchUnit)' },
      { serial: 3, error: null },
    ]);
  },
);

testProp(
  'bytes that are no D-Bus message end in an error and not in an endless wait for more',
  [fc.uint8Array({ minLength: 16, maxLength: 200 })],
  (t, junk) => {
    const reader = new MessageReader();
    try {
      t.true(Array.isArray(reader.push(Buffer.from(junk))));
    } catch (error) {
      t.true(error instanceof RangeError);
    }
  },
);

test('properties are set over D-Bus and confirmed by a second answer', async (t) => {
  const members: string[] = [];
  const { path, greetings, close } = await bus(({ serial, message }, socket) => {
    members.push(/Hello|SetUnitProperties|Ping/.exec(message.toString('latin1'))?.[0] ?? '?');
    socket.write(reply(2, serial));
  });
  const systemd = new SystemdBus({ socketPath: path });
  await systemd.set('a.scope', [{ name: 'MemoryMax', bytes: 4096 }]);
  await systemd.set('a.scope', [{ name: 'MemoryMax', bytes: Number.POSITIVE_INFINITY }]);
  t.is(greetings[0], `\0AUTH EXTERNAL ${Buffer.from(String(process.getuid?.())).toString('hex')}`);
  t.deepEqual(members, ['Hello', 'SetUnitProperties', 'Ping', 'SetUnitProperties', 'Ping']);
  systemd.close();
  close();
});

test('refusals, lost and silent buses are errors, and the next call reconnects', async (t) => {
  let mode: 'refuse' | 'hang up' | 'silent' | 'fine' = 'refuse';
  const { path, close } = await bus(({ serial, message }, socket) => {
    const isHello = message.includes('Hello');
    if (isHello || mode === 'fine') socket.write(reply(2, serial));
    else if (mode === 'refuse')
      socket.write(reply(3, serial, 'org.x.NoSuchUnit', 'Unit a.scope not loaded.'));
    else if (mode === 'hang up') socket.destroy();
  });
  const systemd = new SystemdBus({ socketPath: path });
  const shortDeadline = new SystemdBus({ socketPath: path, deadlineMillis: 500 });
  const set = (by = systemd): Promise<void> => by.set('a.scope', [{ name: 'MemoryLow', bytes: 0 }]);
  await t.throwsAsync(set(), { message: /not loaded/, code: 'GLN_SYSTEMD_BUS' });
  mode = 'hang up';
  await t.throwsAsync(set(), { message: /closed/ });
  mode = 'silent';
  await t.throwsAsync(set(shortDeadline), { message: /no answer/ });
  mode = 'fine';
  await t.notThrowsAsync(set());
  systemd.close();
  shortDeadline.close();
  close();
  await t.throwsAsync(new SystemdBus({ socketPath: '/nowhere/bus' }).set('a.scope', []), {
    message: /ENOENT/,
  });
});

test('of two thousand changes systemd gets a few at a time, and finally all', async (t) => {
  let underWay = 0;
  let most = 0;
  let changes = 0;
  const { path, close } = await bus(({ serial, message }, socket) => {
    if (message.includes('SetUnitProperties')) {
      changes++;
      most = Math.max(most, ++underWay);
    }
    setImmediate(() => {
      if (message.includes('Ping')) underWay--;
      socket.write(reply(2, serial));
    });
  });
  const systemd = new SystemdBus({ socketPath: path });
  await Promise.all(
    Array.from({ length: 2000 }, (_, i) =>
      systemd.set(`${i}.scope`, [{ name: 'MemoryLow', bytes: 0 }]),
    ),
  );
  t.is(changes, 2000);
  t.true(most >= 2 && most <= 8, `${most}`);
  systemd.close();
  close();
});

test('systemd gets memory, swap and protection together; on v1 only memory', async (t) => {
  const calls: (readonly ScopeProperty[])[] = [];
  const properties = {
    set: async (_unit: string, each: readonly ScopeProperty[]) => void calls.push(each),
  };
  const infinite = Number.POSITIVE_INFINITY;
  new SystemdScope('a.scope', 1, properties, '/nowhere').setMemory(1024, 0, 0, noListener);
  new SystemdScope('a.scope', 2, properties, '/nowhere').setMemory(
    infinite,
    infinite,
    512,
    noListener,
  );
  t.deepEqual(calls, [
    [{ name: 'MemoryLimit', bytes: 1024 }],
    [
      { name: 'MemoryMax', bytes: infinite },
      { name: 'MemorySwapMax', bytes: infinite },
      { name: 'MemoryLow', bytes: 512 },
    ],
  ]);
});
