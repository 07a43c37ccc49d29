import test, { type ExecutionContext } from 'ava';
import { type KubernetesNode, missingForNode } from '../../bench/kubernetes/node.js';

/** `npm run test:kubernetes`, which has more time than CI. */
export const isWhole = process.env.GLEANER_TEST_KUBERNETES_ALL === '1';

/** Starts the node before the tests of a file and removes it after them. Returns `test`. */
export function onNode(node: KubernetesNode) {
  const missing = missingForNode();
  let isStarted = false;
  test.before(async () => {
    if (missing.length > 0) return;
    await node.start();
    isStarted = true;
  });
  test.after.always(async () => {
    if (isStarted) await node.remove();
  });
  return (title: string, run: (t: ExecutionContext) => Promise<void>): void =>
    void test.serial(title, async (t) => {
      if (missing.length === 0) return run(t);
      if (process.env.CI) t.fail(`needs ${missing.join(', ')}`);
      else t.log(`NOT RUN: needs ${missing.join(', ')}`);
      t.pass();
    });
}
