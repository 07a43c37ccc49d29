/** Version of the network's inputs; weights and experiences of another layout are refused. */
export const FEATURE_LAYOUT = 1;
/** Features that all options share [FaaSRM]; an option's CPU and memory follow them. */
export const STATE_FEATURES = 9;
/** Amounts per resource; 64 pairs, as published [FaaSRM]. */
export const LEVELS = 8;
