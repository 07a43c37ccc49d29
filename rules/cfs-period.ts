/** CFS period of containers that are made without one, us: the default of [Linux sched-bwc]. */
export const CFS_PERIOD_MICROS = 100_000;
