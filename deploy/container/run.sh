#!/bin/sh
# Runs the hook of an image made from the Dockerfile beside this. Each flag is needed; docs/install.md says for what.
set -eu
image=${1:?usage: run.sh <image> [command...]}
shift
# Where systemd owns the containers' cgroups it is told of memory limits over the system bus, and its record says which weight a container was given.
systemd=
[ -S /run/dbus/system_bus_socket ] && systemd='--volume /run/dbus/system_bus_socket:/run/dbus/system_bus_socket --volume /run/systemd:/run/systemd:ro'
# Whatever the state folder, the locks of engines are the host's: they exclude other hooks of root, in a container or not.
# Host network: tcpdump listens on Docker's bridges. Host pid: cgroups are found in /proc/<pid>. Host cgroup namespace and a writable tree: limits are
# written there. Root without its powers: it owns the cgroup files and the socket; the five capabilities start tcpdump as another user with NET_RAW, and signal it.
# A hook that was killed is followed by a restore (hook.sh) and starts again, as under systemd; a stop may take as long as there, twice 90 s. One command, such as
# `restore --local`, runs once.
entry=--rm
if [ $# -eq 0 ]; then
  docker rm gleaner-hook >/dev/null 2>&1 || true
  entry='--restart unless-stopped --entrypoint sh'
  set -- /opt/gleaner/current/deploy/container/hook.sh
fi
exec docker run $entry --name gleaner-hook \
  --network host --pid host --cgroupns host \
  --volume /sys/fs/cgroup:/sys/fs/cgroup:rw \
  --volume "${DOCKER_SOCKET:-/var/run/docker.sock}":/var/run/docker.sock:ro \
  --volume "${GLEANER_ETC:-/etc/gleaner}":/etc/gleaner:ro \
  --volume "${GLEANER_STATE:-/var/lib/gleaner}":/var/lib/gleaner \
  --volume /var/lib/gleaner/engines:/var/lib/gleaner/engines \
  --cap-drop ALL --cap-add NET_RAW --cap-add SETUID --cap-add SETGID --cap-add SETPCAP --cap-add KILL \
  --security-opt no-new-privileges --read-only --tmpfs /tmp \
  --stop-timeout 180 $systemd ${GLEANER_RUN_FLAGS:-} \
  "$image" "$@"
