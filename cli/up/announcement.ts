import type { Config } from '../../config/index.js';

const PLATFORMS: Readonly<Record<Config['platform'], (config: Config) => string>> = {
  simulated: () =>
    'platform simulated: plays a workload on a simulated host; changes no real container',
  docker: ({ simulator }) =>
    `platform docker: starts containers named ${simulator.prefix}… and manages only those`,
  host: ({ hook: { engine, containerPrefix, engineSocket } }) =>
    engine === 'docker'
      ? `platform host: manages containers named ${containerPrefix}<n>_… on ${engineSocket}`
      : `platform host: manages the action pods on ${engineSocket}`,
};

const MODES: Readonly<Record<Config['mode'], string>> = {
  observe: 'mode observe: measures, writes no limits',
  recommend: 'mode recommend: decides and publishes, writes no limits',
  enforce: 'mode enforce: writes CPU and memory limits; Ctrl-C restores them',
};

const SIMULATED_ENFORCE = 'mode enforce: writes limits of simulated containers only';

/** First lines of `gleaner up`: its platform, and whether it writes limits. */
export function announcement(config: Config): string[] {
  const simulated = config.platform === 'simulated' && config.mode === 'enforce';
  const lines = [
    PLATFORMS[config.platform](config),
    simulated ? SIMULATED_ENFORCE : MODES[config.mode],
  ];
  const own = config.functions.overrides.filter(
    ({ mode }) => mode !== undefined && mode !== config.mode,
  );
  if (own.length > 0) {
    const modes = own.map(({ match, mode }) => `${match}: ${mode}`).join(', ');
    lines.push(`except ${modes} (functions.overrides)`);
  }
  if (config.platform === 'host')
    lines.push('to try it on a simulated host: `gleaner up --platform simulated`, or `npm start`');
  return lines;
}
