/**
 * A workload that is none of the shipped ones, with its own host: an activation takes 100 ms of one
 * core, 10 a second, which is a load of .5 on two cores. Without an objective.
 */
export const OWN_WORKLOAD = {
  version: 1,
  name: 'own',
  host: { cores: 2, memoryMiB: 4096, userMemoryMiB: 2048 },
  functions: [
    {
      name: '/guest/own',
      userCpuMillicores: 1000,
      memoryMiB: 128,
      profile: {
        parallelism: 1,
        cpuMs: 100,
        memory: { baseMiB: 40, peakMiB: 60 },
        initMs: 10,
        coldStartMs: 100,
      },
      arrivals: { ratePerSecond: 10, seconds: 60 },
    },
  ],
};
