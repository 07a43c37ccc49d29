import test from 'ava';
import {
  type LoweringJob,
  lowerMemoryNow,
  type TextFiles,
} from '../../../../openwhisk-plugin/host/cgroup/memory-lowering.js';

const MIB = 1024 * 1024;

/** A kernel in memory; `onWrite` may answer a write as the real one would. */
function kernel(
  version: 1 | 2,
  files: Record<string, string>,
  onWrite?: (name: string, text: string) => void,
) {
  const writes: string[] = [];
  const io: TextFiles = {
    read: (path) => files[path] ?? '',
    write: (path, text) => {
      writes.push(`${path}=${text.trim()}`);
      onWrite?.(path, text);
      files[path] = text;
    },
  };
  const job: LoweringJob = {
    paths: {
      version,
      limit: 'limit',
      swap: 'swap',
      usage: 'usage',
      stat: 'stat',
      events: 'events',
    },
    limit: 128 * MIB,
    swap: 0,
    margin: 0.05,
    freezer: null,
  };
  return { io, job, writes, files };
}

const fails = (code: string): never => {
  throw Object.assign(new Error(code), { code });
};

test('on v1 memory goes down before memory and swap together', (t) => {
  const { io, job, writes } = kernel(1, {
    limit: `${256 * MIB}\n`,
    swap: `${256 * MIB}\n`,
    usage: `${50 * MIB}\n`,
    stat: '',
  });
  t.is(
    lowerMemoryNow(job, () => true, io),
    'written',
  );
  t.deepEqual(writes, [`limit=${128 * MIB}`, `swap=${128 * MIB}`]);
});

test('a limit that the kernel refuses is refused and leaves nothing behind', (t) => {
  const busy = kernel(
    1,
    { limit: `${256 * MIB}\n`, usage: `${50 * MIB}\n` },
    (name) => name === 'limit' && fails('EBUSY'),
  );
  t.is(
    lowerMemoryNow(busy.job, () => true, busy.io),
    'refused',
  );
  t.is(busy.files.limit, `${256 * MIB}\n`);
  const half = kernel(
    1,
    { limit: `${256 * MIB}\n`, usage: `${50 * MIB}\n` },
    (name) => name === 'swap' && fails('EBUSY'),
  );
  t.is(
    lowerMemoryNow(half.job, () => true, half.io),
    'refused',
  );
  t.is(half.files.limit, `${256 * MIB}\n`, 'memory alone was written and is taken back');
});

test('189 MB in use allow 192 MiB and not 128 MiB', (t) => {
  const { io, job, writes } = kernel(1, {
    limit: `${256 * MIB}\n`,
    usage: '189435904\n',
    stat: 'cache 0\ntotal_inactive_file 0\n',
  });
  t.is(
    lowerMemoryNow(job, () => true, io),
    'refused',
  );
  t.deepEqual(writes, []);
  t.is(
    lowerMemoryNow({ ...job, limit: 192 * MIB }, () => true, io),
    'written',
  );
});

test('on v2 an OOM event undoes the change', (t) => {
  for (const after of ['max 1\noom 0\noom_kill 0\n', 'max 0\noom 1\noom_kill 1\n']) {
    const files: Record<string, string> = {
      limit: `${256 * MIB}\n`,
      swap: '0\n',
      usage: `${100 * MIB}\n`,
      events: 'low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n',
    };
    const { io, job } = kernel(2, files, (name) => {
      if (name === 'limit') files.events = after;
    });
    t.is(
      lowerMemoryNow(job, () => true, io),
      'refused',
    );
    t.is(files.limit, `${256 * MIB}\n`);
  }
});

test('on v1 an OOM kill undoes the change of memory and swap', (t) => {
  // v1 shows no limit as the largest whole number of pages, and takes it as -1.
  for (const [swap, swapFile, restored] of [
    [64 * MIB, `${320 * MIB}\n`, `${320 * MIB}\n`],
    [Number.POSITIVE_INFINITY, '9223372036854771712\n', '-1\n'],
  ] as const) {
    const files: Record<string, string> = {
      limit: `${256 * MIB}\n`,
      swap: swapFile,
      usage: `${100 * MIB}\n`,
      stat: '',
      events: 'oom_kill 0\n',
    };
    const { io, job } = kernel(1, files, (name, text) => {
      if (!/^(-1|\d+)\n$/.test(text)) fails('EINVAL');
      if (name === 'limit') files.events = 'oom_kill 1\n';
    });
    t.is(
      lowerMemoryNow({ ...job, swap }, () => true, io),
      'refused',
    );
    t.is(files.limit, `${256 * MIB}\n`);
    t.is(files.swap, restored);
  }
});

test('a memory limit is restored even if its swap cannot be', (t) => {
  const files: Record<string, string> = {
    limit: `${256 * MIB}\n`,
    swap: `${256 * MIB}\n`,
    usage: `${100 * MIB}\n`,
    stat: '',
    events: 'oom_kill 0\n',
  };
  const { io, job } = kernel(1, files, (name, text) => {
    if (name === 'swap' && text === `${256 * MIB}\n`) fails('EBUSY');
    if (name === 'limit') files.events = 'oom_kill 1\n';
  });
  t.is(
    lowerMemoryNow(job, () => true, io),
    'refused',
  );
  t.is(files.limit, `${256 * MIB}\n`);
});

test('on v1 reclaimable page cache does not prevent a lower limit', (t) => {
  const { io, job } = kernel(1, {
    limit: `${256 * MIB}\n`,
    usage: `${200 * MIB}\n`,
    stat: `total_inactive_file ${120 * MIB}\n`,
  });
  t.is(
    lowerMemoryNow(job, () => true, io),
    'written',
  );
});

test('a limit that a newer one has replaced is not written', (t) => {
  const { io, job, writes } = kernel(2, {
    limit: `${256 * MIB}\n`,
    usage: `${50 * MIB}\n`,
    events: '',
  });
  t.is(
    lowerMemoryNow(job, () => false, io),
    'refused',
  );
  t.deepEqual(writes, []);
});

test('a write that changes nothing is not taken for one that did', (t) => {
  const files: Record<string, string> = {
    limit: `${256 * MIB}\n`,
    usage: `${50 * MIB}\n`,
    events: '',
  };
  const { job } = kernel(2, files);
  const io: TextFiles = { read: (path) => files[path] ?? '', write: () => {} };
  t.is(
    lowerMemoryNow(job, () => true, io),
    'not_effective',
  );
});

test('a cgroup that goes away meanwhile is gone, and a limit that stands already is left', (t) => {
  const gone = kernel(2, { limit: `${256 * MIB}\n`, usage: `${50 * MIB}\n`, events: '' }, () =>
    fails('ENODEV'),
  );
  t.is(
    lowerMemoryNow(gone.job, () => true, gone.io),
    'gone',
  );
  const same = kernel(2, { limit: `${128 * MIB}\n` });
  t.is(
    lowerMemoryNow(same.job, () => true, same.io),
    'unchanged',
  );
});
