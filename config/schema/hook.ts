import { z } from 'zod';
import { hostNameText, key, liveKey, section } from '../keys.js';

/** Docker allows these characters in names, and a letter or digit first. */
export const CONTAINER_PREFIX = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,199}$/;

const address = z.union([z.ipv4(), z.cidrv4()], 'must be an IPv4 address or range');

export const hookSchema = section('The daemon beside the invoker.', {
  hostName: key(
    hostNameText(),
    null,
    'Name of this invoker host in messages, different on each host; null: the host name.',
  ),
  engine: key(
    z.enum(['docker', 'kubernetes', 'kubernetes-dedicated']),
    'docker',
    "What runs the action containers: Docker, or a Kubernetes node's container runtime. " +
      '`kubernetes-dedicated`: the node is only for actions, so the weights of their pods may be ' +
      'raised together.',
  ),
  engineSocket: key(
    z.string().min(1),
    '/var/run/docker.sock',
    'Socket of the Docker Engine API, or of the container runtime (containerd: ' +
      '`/run/containerd/containerd.sock`); it is only read from.',
    { path: 'file' },
  ),
  containerPrefix: key(
    z
      .string()
      .regex(
        CONTAINER_PREFIX,
        'must begin with a letter or digit, followed by letters, digits, _ . or -',
      ),
    'wsk',
    'On Docker: prefix of the names of action containers, as in `wsk0_12_guest_hello`. With a ' +
      'digit at its end (`wsk0`): of one invoker; otherwise of all invokers of this host.',
  ),
  invokerAddresses: key(
    z.array(address),
    [],
    "Sources of requests beside each bridge's own address, also ranges (`10.1.2.0/24`); empty: " +
      'learned. Requests from other sources are counted and ignored.',
  ),
  capture: key(
    z.enum(['host', 'pod']),
    'host',
    'On Kubernetes: where packets are captured. `pod`: in the network namespace of each action ' +
      'pod, at most 64, for networks whose packets pass no interface of the host (Cilium with ' +
      'netkit). Each pod then has a tcpdump.',
  ),
  tcpdump: key(z.string().min(1), 'tcpdump', 'The tcpdump program: a name on PATH or a path.', {
    path: 'name',
  }),
  core: key(
    z.int().min(0).max(4095).nullable(),
    null,
    'Core that hook and tcpdump run on (a fifth less CPU per packet); null: any.',
  ),
  stateDir: key(
    z
      .string()
      .min(1)
      .regex(/^[^\0]*$/, 'must not contain NUL'),
    '/var/lib/gleaner',
    'Folder of everything that Gleaner writes: lock, kill switch, audit log.',
    { path: 'file' },
  ),
  auditRotateMiB: key(z.int().min(1).max(10_240), 64, 'Size at which the audit log is rotated.'),
  sampleMs: liveKey(z.int().min(10).max(10_000), 100, 'How often running containers are sampled.'),
  stepActivations: liveKey(
    z.int().min(1).max(10_000),
    20,
    "Activations after which a function's control step closes.",
  ),
  stepS: liveKey(
    z.int().min(1).max(600),
    10,
    'Time after which a step with at least one activation closes.',
  ),
});
