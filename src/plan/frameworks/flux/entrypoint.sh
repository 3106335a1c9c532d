#!/bin/bash
# Starts Flux on this node, and on the first one the program in it: the arguments of this script are its words.
set -uo pipefail

root=/mnt/flux
view=$root/view
config=$root/config
export PATH=$PATH:$view/bin

mkdir -p /opt/software
cp -Rn "$root/software/." /opt/software/

# Flux is to run with the Python that it was built for, whatever the program's image has.
site=$(find "$view/lib" -maxdepth 2 -type d -path '*/python3*/site-packages' | sort | head -n 1)
version=$(basename "$(dirname "${site:-/python3/none}")")
if [ -e "$view/bin/$version" ]; then
  ln -sfn "$version" "$view/bin/python3"
  ln -sfn "$version" "$view/lib/python3"
fi
flux_environment() {
  cat <<ENVIRONMENT
export PATH=$view/bin:\$PATH
export PYTHONPATH=$site\${PYTHONPATH:+:\$PYTHONPATH}
export FLUX_RC_EXTRA=$view/etc/flux/rc1.d
ENVIRONMENT
}
flux_environment >"$root/load-fluxion.sh"
{
  flux_environment
  echo "export FLUX_URI=local://$config/run/flux/local"
} >"$root/flux-view.sh"
export PYTHONPATH=$site
export FLUX_RC_EXTRA=$view/etc/flux/rc1.d

install -m 0600 /curve/curve.cert "$config/etc/curve/curve.cert"
chown "$(id -u):$(id -g)" "$config/etc/curve/curve.cert"

flux R encode --hosts='@HOSTS@' @RESOURCES@ >"$config/etc/flux/system/R"

options=(
  -Scron.directory="$config/etc/flux/system/cron.d"
  -Stbon.fanout=256
  -Srundir="$config/run/flux"
  -Sstatedir="$config/var/lib/flux"
  -Slocal-uri="local://$config/run/flux/local"
  -Slog-stderr-level=0
  -Slog-stderr-mode=local
)

if [ "$(hostname)" = '@LEAD@' ]; then
  if [ "$#" -eq 0 ]; then
    flux broker --config-path "$config/etc/flux/config" "${options[@]}"
  else
    flux start -o --config "$config/etc/flux/config" "${options[@]}" flux run @FLAGS@ "$@"
  fi
  code=$?
else
  # The first node may not listen yet.
  until flux start -o --config "$config/etc/flux/config" "${options[@]}"; do
    echo "Flux ended with $?; it is started again in 15 s" >&2
    sleep 15
  done
  code=0
fi

touch "$root/flux-operator-complete.txt"
exit "$code"
