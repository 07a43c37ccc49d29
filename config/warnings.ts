import type { Config } from './schema.js';

/** Values that are valid and probably not meant, one line each. */
export function configWarnings({ decision, functions }: Config): string[] {
  const floor = decision.cpuFloorMillicores;
  return functions.overrides.flatMap(({ match, cpuMillicores }, i) =>
    cpuMillicores === undefined || cpuMillicores >= floor
      ? []
      : [
          `functions.overrides.${i}.cpuMillicores: ${cpuMillicores} millicores for ${match} are ` +
            `below decision.cpuFloorMillicores, ${floor}; a core is 1000`,
        ],
  );
}
