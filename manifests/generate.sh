#!/bin/sh
# Prints base/trainer.yaml: the objects of the chart with its default values, without the CRDs, the hooks, and the labels
# about Helm. Needs helm; the variable HELM names the program if it is not in the PATH.
#
#   sh manifests/generate.sh >manifests/base/trainer.yaml
set -eu
cd "$(dirname "$0")/.."
echo '# Generated from charts/kubeflow-trainer by manifests/generate.sh; do not edit.'
rendered=$("${HELM:-helm}" template kubeflow-trainer charts/kubeflow-trainer \
  --namespace kubeflow-system --no-hooks --set crds.enabled=false)
printf '%s\n' "$rendered" |
  grep -v -e '^ *helm\.sh/chart: ' -e '^ *app\.kubernetes\.io/managed-by: Helm$' -e '^# Source: ' -e '^$'
