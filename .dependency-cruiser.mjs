/**
 * The import rules of docs/architecture.md: directions, doors, no I/O in pure folders, no cycles.
 * `npm run lint` checks them.
 */
import { readdirSync } from 'node:fs';

/** Each folder imports only from those that it names here. */
const allowed = {
  config: [],
  rules: ['config'],
  broker: ['rules', 'config'],
  agents: ['broker', 'rules', 'config'],
  'openwhisk-plugin': ['broker', 'rules', 'config'],
  dashboard: ['broker', 'rules', 'config'],
  simulator: [
    'agents',
    'openwhisk-plugin/(decision|control|host/ports)',
    'broker',
    'rules',
    'config',
  ],
  runtime: ['agents', 'openwhisk-plugin', 'simulator', 'dashboard', 'broker', 'rules', 'config'],
  experiments: ['runtime', 'agents', 'openwhisk-plugin', 'simulator', 'broker', 'rules', 'config'],
  cli: [
    'experiments',
    'runtime',
    'agents',
    'openwhisk-plugin',
    'simulator',
    'dashboard',
    'broker',
    'rules',
    'config',
  ],
  bench: [
    'cli',
    'experiments',
    'runtime',
    'agents',
    'openwhisk-plugin',
    'simulator',
    'dashboard',
    'broker',
    'rules',
    'config',
  ],
};
/** Inside the plug-in: folder → what it may import of the plug-in. */
const allowedInPlugin = {
  decision: [],
  control: ['decision'],
  'host/ports': ['decision'],
  'host/engine': ['host/ports'],
  'host/docker': ['host/engine', 'host/ports', 'decision'],
  'host/kubernetes': ['host/engine', 'host/ports', 'decision'],
  'host/tap': ['host/ports', 'decision'],
  'host/cgroup': ['host/ports', 'decision'],
  'host/lock': [],
  'openwhisk-api': ['host/lock', 'decision'],
  daemon: ['control', 'host/[^/]+', 'openwhisk-api', 'decision'],
};

const folders = Object.keys(allowed);
const any = (names) => `^(${names.join('|')})/`;
const inside = (folder) =>
  readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `${folder}/${name}`);
/** From outside of it, only its index.ts is imported. */
export const doors = [
  'config',
  'dashboard',
  'rules',
  ...['agents', 'broker', 'experiments', 'openwhisk-plugin', 'runtime', 'simulator'].flatMap(
    inside,
  ),
  ...inside('openwhisk-plugin/host'),
].filter((folder) => folder !== 'openwhisk-plugin/host');

const directions = folders.map((folder) => ({
  name: `${folder} imports only from ${allowed[folder].join(', ') || 'itself'}`,
  severity: 'error',
  from: { path: `^${folder}/` },
  to: { path: any(folders), pathNot: any([folder, ...allowed[folder]]) },
}));

const pluginDirections = Object.entries(allowedInPlugin).map(([folder, others]) => ({
  name: `openwhisk-plugin/${folder} imports only from ${others.join(', ') || 'itself'}`,
  severity: 'error',
  from: { path: `^openwhisk-plugin/${folder}/` },
  to: {
    path: '^openwhisk-plugin/',
    pathNot: any([folder, ...others].map((name) => `openwhisk-plugin/${name}`)),
  },
}));

const throughDoors = doors.map((folder) => ({
  name: `${folder} is imported through its index.ts`,
  severity: 'error',
  from: { pathNot: `^${folder}/` },
  // A dynamic import may load one module, so that a process holds only what it runs.
  to: { path: `^${folder}/`, pathNot: `^${folder}/index\\.ts$`, dynamic: false },
}));

export default {
  forbidden: [
    ...directions,
    ...pluginDirections,
    ...throughDoors,
    {
      name: 'agents/host and agents/tuning know no rule-based manager',
      severity: 'error',
      from: { path: '^agents/(host|tuning)/' },
      to: { path: '^agents/managers/' },
    },
    {
      name: 'rules do no I/O',
      severity: 'error',
      from: { path: '^rules/' },
      to: { dependencyTypes: ['core', 'npm', 'npm-optional'] },
    },
    {
      name: 'decision and control do no I/O',
      severity: 'error',
      from: { path: '^openwhisk-plugin/(decision|control)/' },
      to: {
        dependencyTypes: ['core', 'npm', 'npm-optional'],
        pathNot: 'node_modules/(lru-cache|zod)/',
      },
    },
    { name: 'no cycles', severity: 'error', from: {}, to: { circular: true } },
  ],
  options: {
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)assembly/|^dashboard/web/|^test/|^dist/' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
    },
  },
};
