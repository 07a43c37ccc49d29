/** Constants of the market, tuned on other functions and loads than the published figures. */
export interface MarketSettings {
  readonly exponent: number;
  /** Seconds of running at the price that count as evidence beside the function's own. */
  readonly priorSeconds: number;
  /** Factors are within 1 / this and this. */
  readonly maxFactor: number;
  /** Activations at stake per second of running; null: that of the other functions. */
  readonly price: number | null;
}

export const MARKET: MarketSettings = {
  exponent: 0.75,
  priorSeconds: 1,
  maxFactor: 4,
  price: null,
};
