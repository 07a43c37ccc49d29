/** The folders of the product's own code: neither benches nor tests. */
export const PRODUCT_FOLDERS = [
  'agents',
  'broker',
  'cli',
  'config',
  'dashboard',
  'experiments',
  'openwhisk-plugin',
  'runtime',
  'simulator',
];
