import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

/** What of a node's kubelet concerns limits. Null: unknown. */
export interface KubeletSurvey {
  /** `none`, `static`. */
  readonly cpuManager: string | null;
  /** `None`, `Static`. */
  readonly memoryManager: string | null;
  /** How pods may swap: `NoSwap` or `LimitedSwap`. */
  readonly swapBehavior: string | null;
}

/** Kubernetes' own default, which nearly all installers keep. */
const ROOT_FOLDER = '/var/lib/kubelet';
const settings = z.object({
  containerRuntimeEndpoint: z.string().optional(),
  memorySwap: z.object({ swapBehavior: z.string().optional() }).optional(),
});
const state = z.object({ policyName: z.string() });

/**
 * The kubelet of a container runtime, from its command line, configuration and state. Null: no
 * process and no state, such as beside a runtime alone. In a pod its files are found through /proc.
 */
export function surveyKubelet(engineSocket: string, root = '/'): KubeletSurvey | null {
  const found = processes(root).map((pid) => kubeletOf(root, pid));
  const own = found.find(({ endpoint }) => endpoint.endsWith(engineSocket));
  return (own ?? found[0] ?? kubeletIn(root, ROOT_FOLDER, '')).survey;
}

const processes = (root: string): string[] =>
  readdirSync(join(root, 'proc')).filter(
    (name) => /^\d+$/.test(name) && basename(commandOf(root, name)[0] ?? '') === 'kubelet',
  );

const commandOf = (root: string, pid: string): string[] =>
  read(join(root, 'proc', pid, 'cmdline')).split('\0');

function kubeletOf(root: string, pid: string) {
  const command = commandOf(root, pid);
  const flag = (name: string): string | undefined => {
    const at = command.findIndex((each) => each === `--${name}` || each.startsWith(`--${name}=`));
    return at < 0 ? undefined : (command[at]?.split('=')[1] ?? command[at + 1]);
  };
  const own = join(root, 'proc', pid, 'root');
  const config = flag('config');
  const text = config === undefined ? '' : read(join(own, config));
  const { survey, endpoint } = kubeletIn(own, flag('root-dir') ?? ROOT_FOLDER, text);
  return { survey, endpoint: flag('container-runtime-endpoint') ?? endpoint };
}

function kubeletIn(root: string, folder: string, config: string) {
  const policy = (file: string): string | null => {
    const content = parsed(read(join(root, folder, file)), state);
    return content?.policyName ?? null;
  };
  const cpuManager = policy('cpu_manager_state');
  const memoryManager = policy('memory_manager_state');
  const known = parsed(config, settings);
  const swapBehavior = known === null ? null : known.memorySwap?.swapBehavior || 'NoSwap';
  const isNone = cpuManager === null && memoryManager === null && known === null;
  return {
    survey: isNone ? null : { cpuManager, memoryManager, swapBehavior },
    endpoint: known?.containerRuntimeEndpoint ?? '',
  };
}

function parsed<T>(text: string, schema: z.ZodType<T>): T | null {
  try {
    return schema.parse(parse(text));
  } catch {
    return null;
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
