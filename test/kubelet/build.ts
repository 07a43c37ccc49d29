import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

/** Of Kubernetes; its staging modules have the same minor and patch version. */
const VERSION = '1.34.2';
const MODULE = 'k8s.io/kubernetes';
const NAMES = 'k8s.io/component-base/version';
/** Of Go's own installation, which puts nothing on PATH. */
const GO = '/usr/local/go/bin';

/** GLEANER_KUBELET_FOLDER: where the built program is kept, also from another machine. */
const folder = (): string =>
  process.env.GLEANER_KUBELET_FOLDER ?? join(homedir(), '.cache', 'gleaner-kubelet');

/**
 * Path of a kubelet, built from the modules of Go's proxy if the folder does not have it: nothing
 * else offers the program alone. Some minutes of two cores, once.
 */
export function kubeletProgram(log: (line: string) => void): string {
  // `gleaner doctor` knows a kubelet by its name.
  const program = join(folder(), VERSION, 'kubelet');
  if (existsSync(program)) return program;
  const env = { ...process.env, PATH: `${process.env.PATH}:${GO}`, CGO_ENABLED: '0' };
  if (spawnSync('go', ['version'], { env }).status !== 0)
    throw new Error(`kubelet is missing: install Go 1.24 or later, or put it at ${program}`);
  const source = join(folder(), 'source');
  mkdirSync(source, { recursive: true });
  const go = (...args: string[]): string => {
    const options = { cwd: source, env, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 } as const;
    const { status, stdout, stderr } = spawnSync('go', args, options);
    if (status !== 0) throw new Error(`go ${args[0]} failed:\n${stderr.slice(-2000)}`);
    return stdout;
  };
  log(`building kubelet ${VERSION}, which takes some minutes`);
  writeFileSync(join(source, 'main.go'), MAIN);
  writeFileSync(
    join(source, 'go.mod'),
    `module kubelet\ngo 1.24.0\nrequire ${MODULE} v${VERSION}\n`,
  );
  const { GoMod } = JSON.parse(go('mod', 'download', '-json', `${MODULE}@v${VERSION}`)) as {
    GoMod: string;
  };
  // Kubernetes replaces its staging modules by folders, which the proxy does not have.
  const staged = readFileSync(GoMod, 'utf8').matchAll(/^\s*(k8s\.io\/\S+) => \.\/staging\//gm);
  const released = `v0.${VERSION.replace(/^\d+\./, '')}`;
  for (const [, name] of staged) go('mod', 'edit', `-replace=${name}=${name}@${released}`);
  go('mod', 'tidy', '-e');
  const [major, minor] = VERSION.split('.');
  const values = { gitVersion: `v${VERSION}`, gitMajor: major, gitMinor: minor };
  const named = Object.entries(values).map(([name, value]) => `-X ${NAMES}.${name}=${value}`);
  const built = join(source, 'kubelet');
  go(
    'build',
    '-mod=mod',
    '-buildvcs=false',
    '-ldflags',
    `-s -w ${named.join(' ')}`,
    '-o',
    built,
    '.',
  );
  mkdirSync(dirname(program), { recursive: true });
  renameSync(built, program);
  rmSync(source, { recursive: true });
  return program;
}

const MAIN = `package main

import (
	"context"
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	os.Exit(cli.Run(app.NewKubeletCommand(context.Background())))
}
`;
