import { createConnection, type Socket } from 'node:net';
import { errorClass, messageOf } from '../../../config/index.js';
import { encodeCall, Marshaller, MessageReader, type MethodCall } from './dbus-message.js';
import type { ScopeProperties, ScopeProperty } from './systemd-scope.js';

const SYSTEM_BUS = '/run/dbus/system_bus_socket';
const DEADLINE_MILLIS = 10_000;
/** systemd makes one change at a time, some ms each: more calls would reach their deadlines. */
const MAX_IN_FLIGHT = 8;
const INFINITY = 0xffff_ffff_ffff_ffffn;
const SYSTEMD = 'org.freedesktop.systemd1';
const DBUS = 'org.freedesktop.DBus';
/** The body of a call without arguments. */
const EMPTY = { signature: '', body: Buffer.alloc(0) };

/** systemd refused a property of a scope, or the system bus cannot be reached. */
export class SystemdBusError extends errorClass('GLN_SYSTEMD_BUS') {}

interface Pending {
  resolve(): void;
  reject(error: SystemdBusError): void;
  readonly timer: NodeJS.Timeout;
}

/**
 * Sets runtime properties of units over the system bus, as `systemctl set-property --runtime` does,
 * but without a process: the fork alone stops the event loop for up to 0.9 s on an overloaded host.
 * Connects at the first call and again after a loss.
 */
export class SystemdBus implements ScopeProperties {
  readonly #path: string;
  readonly #deadline: number;
  readonly #pending = new Map<number, Pending>();
  #socket: Promise<Socket> | null = null;
  #open: Socket | null = null;
  #serial = 0;
  #active = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(options: { readonly socketPath?: string; readonly deadlineMillis?: number } = {}) {
    this.#path = options.socketPath ?? SYSTEM_BUS;
    this.#deadline = options.deadlineMillis ?? DEADLINE_MILLIS;
  }

  async set(unit: string, properties: readonly ScopeProperty[]): Promise<void> {
    if (this.#active >= MAX_IN_FLIGHT)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#active++;
    try {
      await this.#set(unit, properties);
    } finally {
      // The place is handed on.
      const next = this.#waiting.shift();
      if (next === undefined) this.#active--;
      else next();
    }
  }

  async #set(unit: string, properties: readonly ScopeProperty[]): Promise<void> {
    const body = new Marshaller().string(unit).uint32(1);
    body.structures(properties, ({ name, bytes }) => {
      body
        .string(name)
        .signature('t')
        .uint64(bytes === Number.POSITIVE_INFINITY ? INFINITY : BigInt(bytes));
    });
    const systemd = { destination: SYSTEMD, path: '/org/freedesktop/systemd1' };
    this.#socket ??= this.#connect();
    const socket = await this.#socket;
    await this.#send(socket, {
      ...systemd,
      interface: `${SYSTEMD}.Manager`,
      member: 'SetUnitProperties',
      signature: 'sba(sv)',
      body: body.bytes(),
    });
    // systemd answers first and writes the cgroup's files afterwards, before it reads its next
    // message: this answer means that they are written.
    await this.#send(socket, { ...systemd, interface: `${DBUS}.Peer`, member: 'Ping', ...EMPTY });
  }

  close(): void {
    this.#lose(new SystemdBusError('the connection to the system bus was closed'));
  }

  #send(socket: Socket, call: MethodCall): Promise<void> {
    this.#serial = (this.#serial % 0x7fff_ffff) + 1;
    const serial = this.#serial;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#pending.delete(serial);
        this.#release();
        reject(
          new SystemdBusError(`${call.member} got no answer within ${this.#deadline / 1000} s`),
        );
      }, this.#deadline);
      this.#pending.set(serial, { resolve, reject, timer });
      socket.ref();
      socket.write(encodeCall(call, serial));
    });
  }

  /** Authenticates by the user id, which the bus gets from the kernel, and sends `Hello`. */
  #connect(): Promise<Socket> {
    return new Promise<Socket>((resolve, reject) => {
      const socket = createConnection(this.#path);
      this.#open = socket;
      let failed = (error: SystemdBusError): void => {
        clearTimeout(timer);
        reject(error);
      };
      const lose = (message: string, cause?: unknown): void => {
        const error = new SystemdBusError(`the system bus (${this.#path}): ${message}`, cause);
        socket.destroy();
        failed(error);
        if (this.#open === socket) this.#lose(error);
      };
      const timer = setTimeout(() => lose('no answer to the authentication'), this.#deadline);
      const reader = new MessageReader();
      let authReply = '';
      let greeted = false;
      socket.on('error', (error) => lose(error.message, error));
      socket.on('close', () => lose('the connection was closed'));
      socket.on('connect', () => {
        const user = Buffer.from(String(process.getuid?.() ?? 0), 'latin1').toString('hex');
        socket.write(`\0AUTH EXTERNAL ${user}\r\n`);
      });
      socket.on('data', (chunk) => {
        try {
          if (greeted) {
            for (const reply of reader.push(chunk)) this.#answered(reply.serial, reply.error);
            return;
          }
          authReply += chunk.toString('latin1');
          if (!authReply.includes('\r\n') && authReply.length < 1024) return;
          if (!authReply.startsWith('OK '))
            return lose(`refused the authentication: ${authReply.trim().slice(0, 80)}`);
          greeted = true;
          socket.write('BEGIN\r\n');
          const bus = { destination: DBUS, path: '/org/freedesktop/DBus', interface: DBUS };
          this.#send(socket, { ...bus, member: 'Hello', ...EMPTY }).then(
            () => {
              clearTimeout(timer);
              failed = () => undefined;
              resolve(socket);
            },
            (error: SystemdBusError) => lose(error.message, error),
          );
        } catch (error) {
          lose(messageOf(error), error);
        }
      });
    });
  }

  #answered(serial: number, error: string | null): void {
    const pending = this.#pending.get(serial);
    if (pending === undefined) return;
    this.#pending.delete(serial);
    clearTimeout(pending.timer);
    this.#release();
    if (error === null) pending.resolve();
    else pending.reject(new SystemdBusError(`systemd refused: ${error}`));
  }

  #lose(error: SystemdBusError): void {
    const socket = this.#open;
    this.#open = null;
    this.#socket = null;
    socket?.destroy();
    for (const { reject, timer } of this.#pending.values()) {
      clearTimeout(timer);
      reject(error);
    }
    this.#pending.clear();
  }

  #release(): void {
    if (this.#pending.size === 0) this.#open?.unref();
  }
}
