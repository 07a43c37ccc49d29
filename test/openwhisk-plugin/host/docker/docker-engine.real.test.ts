import test from 'ava';
import { millis } from '../../../../config/index.js';
import { DockerEngine } from '../../../../openwhisk-plugin/host/docker/index.js';
import { dockerAlone, missing } from '../../../support/real-parts.js';
import { allowed } from '../../../support/slowness.js';
import {
  containerName,
  docker,
  eventually,
  IDLE,
  nodeImage,
  removeContainers,
  runContainer,
} from '../cgroup/real-containers.js';
import { Recorder } from './recorder.js';

const DEADLINE = millis(allowed(5000));

test.serial(
  'a real container is announced at its start and ended at its death, by events alone',
  async (t) => {
    if (missing(t, dockerAlone)) return;
    await nodeImage();
    const name = containerName('events');
    const network = containerName('net');
    const engine = new DockerEngine({ managed: (each) => each === name, deadline: DEADLINE });
    const recorder = new Recorder();
    try {
      await engine.start(recorder);
      await docker('network', 'create', network);
      await recorder.until((r) => r.bridges.some((bridge) => bridge.networkName === network));
      const bridge = recorder.bridges.find((each) => each.networkName === network);
      const flags = [
        '--network',
        network,
        '--cpus',
        '0.66667',
        '--cpu-shares',
        '170',
        '-m',
        '300m',
        '--memory-swap',
        '300m',
      ];
      await runContainer(name, IDLE, flags);
      await recorder.until((r) => r.started.length === 1);
      const [container] = recorder.started;
      t.is(container?.bridge, bridge?.interfaceName);
      t.is(
        container?.address,
        await docker(
          'inspect',
          '-f',
          `{{(index .NetworkSettings.Networks "${network}").IPAddress}}`,
          name,
        ),
      );
      t.is(
        bridge?.gateway,
        await docker('network', 'inspect', '-f', '{{(index .IPAM.Config 0).Gateway}}', network),
      );
      // what --cpus 0.66667 and 300m mean.
      t.deepEqual(container?.user as unknown, {
        shares: 170,
        quota: 666.67,
        memory: 314572800,
        memoryAndSwap: 314572800,
        periodMicros: 100000,
      });
      const begun = (container?.startedAt ?? 0) / 1000;
      t.true(Math.abs(begun - Date.now()) < 10_000);
      await docker('pause', name);
      await recorder.until((r) => r.count(`paused ${name}`) === 1);
      await docker('unpause', name);
      await recorder.until((r) => r.count(`resumed ${name}`) === 1);
      await docker('restart', '-t', '0', name);
      await recorder.until((r) => r.started.length === 2 && r.ended.length === 1);
      await docker('rm', '-f', name);
      await recorder.until((r) => r.ended.length === 2);
      t.is(recorder.ended[1]?.id, recorder.started[1]?.id);
      await docker('network', 'rm', network);
      t.true(
        await eventually(() => !recorder.bridges.some((each) => each.networkName === network)),
      );
    } finally {
      await engine.stop();
      await removeContainers([name]);
      await docker('network', 'rm', network).catch(() => '');
    }
  },
);

test.serial(
  'an OOM kill of a child process is announced, and the container continues',
  async (t) => {
    if (missing(t, dockerAlone)) return;
    await nodeImage();
    const name = containerName('oom');
    const engine = new DockerEngine({ managed: (each) => each === name, deadline: DEADLINE });
    const recorder = new Recorder();
    try {
      await engine.start(recorder);
      const fill = "['-e', 'Buffer.alloc(150 * 1048576, 1)']";
      const child = `require('child_process').spawn(process.execPath, ${fill})`;
      await runContainer(name, `${child}; ${IDLE}`, ['-m', '128m', '--memory-swap', '128m']);
      await recorder.until((r) => r.count(`oom ${name}`) >= 1);
      t.is(
        await docker('inspect', '-f', '{{.State.Running}} {{.State.OOMKilled}}', name),
        'true false',
      );
    } finally {
      await engine.stop();
      await removeContainers([name]);
    }
  },
);
