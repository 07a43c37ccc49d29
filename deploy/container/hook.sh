#!/bin/sh
# Main process of a hook's container that nothing else supervises: however the hook ended, every user limit is back before the container ends.
set -u
hook= asked=
pass() {
  asked=$1
  [ -z "$hook" ] || kill "-$asked" "$hook" 2>/dev/null
}
for signal in TERM INT HUP; do trap "pass $signal" "$signal"; done
# The flags of every other start (cli/up/children.ts): about 30 MiB less beside 2000 containers.
node --optimize-for-size --v8-pool-size=1 "$(command -v gleaner)" hook "$@" &
hook=$!
# A signal that came before the hook was there.
[ -z "$asked" ] || pass "$asked"
# A signal ends `wait`, and not the hook.
while :; do
  wait "$hook"
  code=$?
  kill -0 "$hook" 2>/dev/null || break
done
# As systemd names the reason to ExecStopPost.
[ "$code" -eq 0 ] || SERVICE_RESULT=exit-code gleaner restore --local
exit "$code"
