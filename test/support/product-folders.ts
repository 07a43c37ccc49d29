import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const { productFolders } = (await import(pathToFileURL(resolve('scripts/folders.mjs')).href)) as {
  productFolders: readonly string[];
};
export const PRODUCT_FOLDERS = productFolders;
