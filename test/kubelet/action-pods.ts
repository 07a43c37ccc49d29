import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { ACTION_SERVER } from '../../bench/kubernetes/action-server.js';
import { IMAGE } from '../../bench/kubernetes/pods.js';

/** What a function does, so that its limits change. */
export interface Work {
  readonly action: string;
  /** CPU request and limit, millicores; 0: none, as in OpenWhisk without cpu-scaling. */
  readonly cpu: number;
  /** ms of CPU of an activation, and ms that it then waits. */
  readonly busy: number;
  readonly sleep: number;
  /** One of `every` activations does this instead: it outlasts a drift check, or is a spike. */
  readonly rare: { readonly every: number; readonly busy: number; readonly sleep: number };
  /** Mean pause between two activations, ms. */
  readonly pause: number;
}

const rarely = (every: number, busy: number, sleep: number) => ({ every, busy, sleep });

/**
 * Stock pods and pods with a CPU limit; short and long, steady and with spikes. Their requests fit
 * into one core, for the static CPU manager keeps another.
 */
export const WORK: readonly Work[] = [
  { action: 'short', cpu: 0, busy: 10, sleep: 50, rare: rarely(20, 10, 4000), pause: 600 },
  { action: 'medium', cpu: 0, busy: 60, sleep: 200, rare: rarely(20, 60, 6000), pause: 800 },
  { action: 'long', cpu: 0, busy: 400, sleep: 500, rare: rarely(10, 900, 3000), pause: 2000 },
  { action: 'idle', cpu: 400, busy: 20, sleep: 400, rare: rarely(10, 20, 8000), pause: 500 },
  { action: 'steady', cpu: 200, busy: 20, sleep: 300, rare: rarely(15, 20, 7000), pause: 600 },
  { action: 'spiky', cpu: 300, busy: 20, sleep: 300, rare: rarely(12, 400, 500), pause: 700 },
];

export const nameOf = (action: string): string => `wskow-invoker-00-1-guest-${action}`;

/**
 * A static pod like those of OpenWhisk's invokers [OpenWhisk WhiskPodBuilder.scala], with probes,
 * which run processes in the container and call its port. Its programs are the host's.
 */
export function manifestOf({ action, cpu }: Pick<Work, 'action' | 'cpu'>): object {
  const name = nameOf(action);
  const folders = ['/usr', '/lib', '/lib64', dirname(process.execPath)].filter(existsSync);
  const amounts = { memory: '256Mi', ...(cpu > 0 ? { cpu: `${cpu}m` } : {}) };
  const probe = { periodSeconds: 10, timeoutSeconds: 10, failureThreshold: 10 };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'openwhisk',
      // Without one kubelet makes it of a hash, without the dashes of a real one.
      uid: randomUUID(),
      labels: { name, 'user-action-pod': 'true', invoker: 'invoker0', release: 'ow' },
    },
    spec: {
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 5,
      volumes: folders.map((path, n) => ({ name: `host-${n}`, hostPath: { path } })),
      containers: [
        {
          name: 'user-action',
          image: IMAGE,
          imagePullPolicy: 'Never',
          command: [process.execPath, '-e', ACTION_SERVER],
          ports: [{ containerPort: 8080, name: 'action' }],
          securityContext: { capabilities: { drop: ['NET_RAW', 'NET_ADMIN'] } },
          resources: { requests: amounts, limits: amounts },
          volumeMounts: folders.map((path, n) => ({
            name: `host-${n}`,
            mountPath: path,
            readOnly: true,
          })),
          livenessProbe: { exec: { command: ['/bin/sleep', '0'] }, ...probe },
          readinessProbe: { tcpSocket: { port: 8080 }, ...probe },
        },
      ],
    },
  };
}
