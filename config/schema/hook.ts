import { z } from 'zod';
import { hostNameText, key, optionalText, section } from '../keys.js';

/**
 * Start of an invoker's container names; Docker allows these characters, and a letter or digit
 * first.
 */
export const CONTAINER_PREFIX = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,199}$/;

const address = z.ipv4('must be an IPv4 address');

export const hookSchema = section('The daemon beside the invoker.', {
  hostName: key(
    hostNameText(),
    null,
    'Name of this invoker host in messages, different on each host; null: the host name.',
  ),
  engineSocket: key(
    z.string().min(1),
    '/var/run/docker.sock',
    'Socket of the Docker Engine API; only `GET` is used on it.',
    { path: 'file' },
  ),
  engineTimeoutMs: key(z.int().min(100).max(60_000), 5000, 'Deadline of one Engine call.', {
    unit: 'ms',
  }),
  reconcileS: key(
    z.int().min(1).max(3600),
    30,
    "How often the containers known are compared with the Engine's list.",
    {
      unit: 's',
    },
  ),
  containerPrefix: key(
    z
      .string()
      .regex(
        CONTAINER_PREFIX,
        'must begin with a letter or digit, followed by letters, digits, _ . or -',
      ),
    'wsk',
    "Names of action containers begin with this, as in `wsk0_12_guest_hello`. Ends in a digit (`wsk0`, `wskhost-a.example0`): one invoker's; otherwise all that begin with it.",
  ),
  containerPort: key(
    z.int().min(1).max(65_535),
    8080,
    'Port on which action containers answer `/init` and `/run`.',
  ),
  invokerAddresses: key(
    z.array(address),
    [],
    "Where requests come from, beside each bridge's own address; empty: learned. Other sources are counted and ignored.",
    { reload: true },
  ),
  tcpdump: key(z.string().min(1), 'tcpdump', 'The tcpdump program: a name on PATH or a path.', {
    path: 'name',
  }),
  core: key(
    z.int().min(0).max(4095).nullable(),
    null,
    'Core that hook and tcpdump run on: a packet that wakes no second core costs a fifth less; null: any.',
  ),
  stateDir: key(
    z.string().min(1),
    '/var/lib/gleaner',
    'Folder of everything Gleaner writes: lock, kill switch, audit log.',
    { path: 'file' },
  ),
  auditPath: key(
    optionalText(),
    null,
    'Audit log of limit changes (JSON lines); null: `audit.jsonl` in `stateDir`.',
    {
      path: 'file',
    },
  ),
  auditRotateMiB: key(z.int().min(1).max(10_240), 64, 'Size at which the audit log is rotated.', {
    unit: 'MiB',
  }),
  auditFiles: key(z.int().min(1).max(100), 5, 'Rotated audit logs that are kept.'),
  killSwitchFile: key(
    optionalText(),
    null,
    'While this file exists every user limit stands; null: `kill-switch` in `stateDir`.',
    { path: 'file' },
  ),
  sampleMs: key(z.int().min(10).max(10_000), 100, 'How often running containers are sampled.', {
    unit: 'ms',
    reload: true,
  }),
  driftS: key(
    z.int().min(1).max(600),
    5,
    'How often limits in force are compared with those Gleaner wrote.',
    {
      unit: 's',
      reload: true,
    },
  ),
  stepActivations: key(
    z.int().min(1).max(10_000),
    20,
    "Activations after which a function's control step closes.",
    {
      reload: true,
    },
  ),
  stepS: key(
    z.int().min(1).max(600),
    10,
    'Time after which a step with at least one activation closes.',
    {
      unit: 's',
      reload: true,
    },
  ),
});
