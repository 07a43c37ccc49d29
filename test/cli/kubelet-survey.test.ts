import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import test from 'ava';
import { surveyKubelet } from '../../cli/doctor/kubelet.js';
import { temporaryFolder } from '../support/temporary-folder.js';

function rootOf(files: Record<string, string>): string {
  const root = temporaryFolder('kubelet');
  mkdirSync(join(root, 'proc'));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return root;
}
const commandLine = (...words: string[]): string => `${words.join('\0')}\0`;

test('the doctor reads a kubelet’s policies from its own root folder and configuration', (t) => {
  const root = rootOf({
    'proc/7/cmdline': commandLine('/usr/bin/kubelet', '--config=/etc/k.yaml', '--root-dir', '/k'),
    'proc/7/root/etc/k.yaml': 'memorySwap:\n  swapBehavior: LimitedSwap\n',
    'proc/7/root/k/cpu_manager_state': '{"policyName":"static","defaultCpuSet":"0-1"}',
    'proc/7/root/k/memory_manager_state': '{"policyName":"None"}',
    'proc/8/cmdline': commandLine('/usr/bin/node', 'kubelet'),
  });
  t.deepEqual(surveyKubelet('/run/containerd/containerd.sock', root), {
    cpuManager: 'static',
    memoryManager: 'None',
    swapBehavior: 'LimitedSwap',
  });
});

test('of several kubelets the doctor takes the one of its runtime', (t) => {
  const of = (pid: number, flags: string[], config: string, policy: string) => ({
    [`proc/${pid}/cmdline`]: commandLine('kubelet', '--config', '/c', ...flags),
    [`proc/${pid}/root/c`]: config,
    [`proc/${pid}/root/var/lib/kubelet/cpu_manager_state`]: `{"policyName":"${policy}"}`,
  });
  const root = rootOf({
    ...of(7, [], 'containerRuntimeEndpoint: unix:///one.sock', 'none'),
    ...of(8, ['--container-runtime-endpoint=unix:///two.sock'], '{}', 'static'),
  });
  t.like(surveyKubelet('/one.sock', root), { cpuManager: 'none', memoryManager: null });
  // Kubernetes' default is no swap for pods.
  t.like(surveyKubelet('/two.sock', root), { cpuManager: 'static', swapBehavior: 'NoSwap' });
});

test('without a kubelet’s process its usual folder counts; without both nothing is known', (t) => {
  const state = { 'var/lib/kubelet/cpu_manager_state': '{"policyName":"static"}' };
  const found = { cpuManager: 'static', memoryManager: null, swapBehavior: null };
  t.deepEqual(surveyKubelet('/a.sock', rootOf(state)), found);
  const broken = { 'var/lib/kubelet/cpu_manager_state': '{"policy' };
  t.is(surveyKubelet('/a.sock', rootOf(broken)), null);
});

test('a program whose name begins like kubelet’s is not kubelet', (t) => {
  const root = rootOf({
    'proc/7/cmdline': '/usr/bin/kubelet-exporter\0--root-dir=/other',
    'proc/7/root/other/cpu_manager_state': '{"policyName":"static"}',
    'proc/9/cmdline': '/usr/bin/kubelet\0',
    'proc/9/root/var/lib/kubelet/cpu_manager_state': '{"policyName":"none"}',
  });
  t.like(surveyKubelet('/a.sock', root), { cpuManager: 'none' });
});
