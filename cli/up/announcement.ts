import type { Config } from '../../config/index.js';

const PLATFORMS: Readonly<Record<Config['platform'], (config: Config) => string>> = {
  simulated: () =>
    'platform simulated: plays a workload on a simulated host; touches no container of this machine',
  docker: ({ simulator }) =>
    `platform docker: starts containers named ${simulator.prefix}… and manages those alone`,
  host: ({ hook }) =>
    `platform host: manages the containers named ${hook.containerPrefix}<n>_… on ${hook.engineSocket}`,
};

const MODES: Readonly<Record<Config['mode'], string>> = {
  observe: 'mode observe: watches, writes no limit',
  recommend: 'mode recommend: decides and publishes, writes no limit',
  enforce: 'mode enforce: writes CPU and memory limits; Ctrl-C restores them',
};

const SIMULATED_ENFORCE = 'mode enforce: sets limits of the simulated containers alone';

/** What `gleaner up` tells before it starts anything: on what it runs, and what it writes. */
export function announcement(config: Config): string[] {
  const simulated = config.platform === 'simulated' && config.mode === 'enforce';
  const lines = [
    PLATFORMS[config.platform](config),
    simulated ? SIMULATED_ENFORCE : MODES[config.mode],
  ];
  const own = config.functions.overrides.filter(
    ({ mode }) => mode !== undefined && mode !== config.mode,
  );
  if (own.length > 0)
    lines.push(
      `except ${own.map(({ match, mode }) => `${match}: ${mode}`).join(', ')} (functions.overrides)`,
    );
  if (config.platform === 'host')
    lines.push(
      'to try it without touching this machine: `gleaner up --platform simulated`, or `npm start`',
    );
  return lines;
}
