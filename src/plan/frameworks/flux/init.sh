#!/bin/bash
# Brings Flux into the pod: runs before the program's container, in the image that has the view of Flux.
set -euo pipefail

root=/mnt/flux
config=$root/config
export PATH=/opt/view/bin:$PATH

mkdir -p \
  "$config/etc/flux/system/cron.d" \
  "$config/etc/flux/config" \
  "$config/etc/curve" \
  "$config/var/lib/flux" \
  "$config/run/flux"

echo '@HOSTS@' >"$config/etc/flux/system/hostlist"

cat >"$config/etc/flux/config/broker.toml" <<'TOML'
[access]
allow-guest-user = true
allow-root-owner = true

[resource]
path = "/mnt/flux/config/etc/flux/system/R"

[bootstrap]
curve_cert = "/mnt/flux/config/etc/curve/curve.cert"
default_port = 8050
default_bind = "tcp://@DEVICE@:%p"
default_connect = "tcp://%h.@DOMAIN@:%p"
hosts = [
  { host = "@HOSTS@" },
]

[archive]
dbpath = "/mnt/flux/config/var/lib/flux/job-archive.sqlite"
period = "1m"
busytimeout = "50s"

[sched-fluxion-qmanager]
queue-policy = "@POLICY@"
TOML

# The view is links into /opt/software; both go along.
views=(/opt/views/._view/*/)
[ "${#views[@]}" -eq 1 ] || {
  echo "expected one view of Flux in /opt/views/._view, found: ${views[*]}" >&2
  exit 1
}
mkdir -p "$root/view" "$root/software"
cp -R "${views[0]}." "$root/view/"
cp -R /opt/software/. "$root/software/"

touch "$root/flux-operator-done.txt"
