import { type Logger, type ObjectStore, silentLogger, warnOnce } from '../broker/index.js';

/** Version of an object's format; 0 if it has none. */
export type VersionOf = (data: Uint8Array) => number;

/** What its encoder writes first, so that most objects need not be parsed twice. */
const VERSION_FIRST = /^\{"v":(\d+)[,}]/;

/** Of a JSON object, in its field `v`. */
export const jsonVersion: VersionOf = (data) => {
  const head = VERSION_FIRST.exec(Buffer.from(data.subarray(0, 32)).toString('latin1'));
  if (head !== null) return Number(head[1]);
  try {
    const { v } = JSON.parse(Buffer.from(data).toString('utf8'));
    return typeof v === 'number' ? v : 0;
  } catch {
    return 0;
  }
};

/** The object that a release of this version has beside a newer one's. */
const besideName = (name: string, version: number): string => `${name}.v${version}`;

/** What such a name ends with, for regular expressions. */
export const BESIDE = String.raw`(?:\.v\d+)?`;

/**
 * Stored objects that this release finds in a newer one's format, as after a rollback. They stay
 * unchanged, for when the newer release returns; this one has its own beside them.
 */
export class NewerObjects {
  readonly #names = new Set<string>();
  readonly #log: (fields: object, message: string) => void;

  constructor(logger: Logger = silentLogger) {
    this.#log = warnOnce(logger);
  }

  /** Objects that were newer when they were last read. */
  get count(): number {
    return this.#names.size;
  }

  /** The store for objects of one format, in this release's `version` of it. */
  beside(objects: ObjectStore, version: number, versionOf: VersionOf): ObjectStore {
    const nameOf = (name: string): string =>
      this.#names.has(name) ? besideName(name, version) : name;
    return {
      get: async (name) => {
        const data = await objects.get(name);
        if (data === null || versionOf(data) <= version) {
          this.#names.delete(name);
          return data;
        }
        this.#found(name, besideName(name, version));
        return await objects.get(besideName(name, version));
      },
      put: (name, data) => objects.put(nameOf(name), data),
      delete: (name) => objects.delete(nameOf(name)),
      names: () => objects.names(),
    };
  }

  #found(object: string, own: string): void {
    this.#names.add(object);
    this.#log(
      { object, own },
      'stored objects of a newer Gleaner are kept: this host reads and writes its own beside ' +
        'them. A host of the newer release continues from the kept ones',
    );
  }
}
