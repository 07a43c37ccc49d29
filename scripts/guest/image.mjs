/**
 * The disk of a Debian guest with cgroup v2, systemd and Docker's systemd cgroup driver, from
 * Debian's packages and test/guest/root.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const OVERLAY = fileURLToPath(new URL('../../test/guest/root', import.meta.url));
const DISK_BYTES = 8 * 1024 ** 3;
const MIRROR = process.env.GLEANER_GUEST_MIRROR ?? 'http://deb.debian.org/debian';

const packagesOf = (suite) => [
  ...[
    'systemd-sysv',
    'dbus',
    'udev',
    'kmod',
    'init',
    'docker.io',
    // Depends on containerd and runc, which the pods of test/kubernetes use too.
    'containernetworking-plugins',
    'tcpdump',
    'iproute2',
    'iptables',
  ],
  ...['procps', 'util-linux', 'python3-minimal', 'openssl', 'ca-certificates'],
  // A package of its own since Debian 13.
  ...(suite === 'bookworm' ? [] : ['docker-cli']),
];

/** Timers that would work beside the tests, and a wait for a network that is not there. */
const MASKED = [
  ...['apt-daily.timer', 'apt-daily-upgrade.timer', 'e2scrub_all.timer', 'fstrim.timer'],
  'systemd-networkd-wait-online.service',
];

export function run(program, args, options = {}) {
  const { status, error } = spawnSync(program, args, {
    stdio: ['ignore', 'ignore', 'inherit'],
    ...options,
  });
  if (error !== undefined || status !== 0)
    throw new Error(`${program}: ${error?.message ?? `exit code ${status}`}`);
}

/** Commands that mmdebstrap runs with the new root as $1. */
function hooks(natsServer) {
  return [
    `sync-in ${OVERLAY} /`,
    // The kernel mounts the root, by its own name.
    ': >"$1/etc/fstab"',
    `install -m 755 ${process.execPath} "$1/usr/bin/node"`,
    `install -m 755 ${natsServer} "$1/usr/sbin/nats-server"`,
    'chroot "$1" systemctl enable guest-job.service',
    `chroot "$1" systemctl mask ${MASKED.join(' ')}`,
    // The kernel of user-mode Linux is on the host.
    'mkdir -p "$1/lib/modules" && cp -a /usr/lib/uml/modules/. "$1/lib/modules/"',
    // It has no nat table of nf_tables.
    ...['iptables', 'ip6tables'].map(
      (tool) => `chroot "$1" update-alternatives --set ${tool} /usr/sbin/${tool}-legacy`,
    ),
  ].map((hook) => `--customize-hook=${hook}`);
}

/** Changes with everything that the image is made of, but for newer packages; in any checkout. */
function digestOf(machine) {
  const hash = createHash('sha256').update(process.version);
  hash.update(JSON.stringify([argumentsOf(machine), DISK_BYTES]).replaceAll(OVERLAY, ''));
  for (const entry of readdirSync(OVERLAY, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) hash.update(readFileSync(join(entry.parentPath ?? entry.path, entry.name)));
  return hash.digest('hex').slice(0, 12);
}

/** Of mmdebstrap, but for where the tree goes. */
const argumentsOf = ({ suite, natsServer }) => [
  ...['--quiet', '--variant=minbase', '--mode=root'],
  `--include=${packagesOf(suite).join(',')}`,
  // Packed at once: nothing has to reach a disk before that.
  '--dpkgopt=force-unsafe-io',
  ...['doc', 'man', 'locale'].map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`),
  ...hooks(natsServer),
  suite,
];

/** The folder of the image, which is built unless the same recipe has been built there before. */
export function guestImage(cache, machine) {
  const { suite } = machine;
  const folder = join(cache, `${suite}-${digestOf(machine)}`);
  if (existsSync(join(folder, 'root.ext4'))) return folder;
  console.error(`building ${folder}`);
  // Of its own: two runs that begin at once both build, and the first one's is kept.
  const making = mkdtempSync(`${folder}.making-`);
  try {
    const tree = join(making, 'tree');
    run('mmdebstrap', [...argumentsOf(machine), tree, `deb ${MIRROR} ${suite} main`]);
    makeDisk(tree, join(making, 'root.ext4'), DISK_BYTES);
    rmSync(tree, { recursive: true });
    if (!existsSync(folder)) renameSync(making, folder);
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
  return folder;
}

/** A sparse ext4 file with the content of a folder. */
export function makeDisk(tree, file, bytes, label = 'root') {
  writeFileSync(file, '');
  truncateSync(file, bytes);
  const options = ['-O', '^has_journal', '-E', 'lazy_itable_init=1,root_owner=0:0'];
  run('mke2fs', ['-q', '-t', 'ext4', '-L', label, ...options, '-d', tree, file]);
}
