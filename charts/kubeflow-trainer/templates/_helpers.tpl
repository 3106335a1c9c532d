{{/* Prefix of the objects' names, short enough that the longest suffix, "-controller-manager", fits into 63 characters. */}}
{{- define "trainer.fullname" -}}
{{- $chart := default .Chart.Name .Values.nameOverride -}}
{{- $name := .Values.fullnameOverride -}}
{{- if not $name -}}
{{- $name = ternary .Release.Name (printf "%s-%s" .Release.Name $chart) (contains $chart .Release.Name) -}}
{{- end -}}
{{- $name | trunc 44 | trimSuffix "-" -}}
{{- end }}

{{- define "trainer.manager.name" -}}
{{ include "trainer.fullname" . }}-controller-manager
{{- end }}

{{- define "trainer.installer.name" -}}
{{ include "trainer.fullname" . }}-runtimes-installer
{{- end }}

{{/* The version, as the image's tag and the version ConfigMap write it. */}}
{{- define "trainer.version" -}}
v{{ .Chart.Version }}
{{- end }}

{{- define "trainer.image" -}}
{{- $tag := default (include "trainer.version" .) .Values.image.tag -}}
{{- $separator := ternary "@" ":" (contains ":" $tag) -}}
{{- with .Values.image.registry }}{{ . }}/{{ end -}}
{{ .Values.image.repository }}{{ $separator }}{{ $tag }}
{{- end }}

{{/* Labels of every object, as a map in YAML. */}}
{{- define "trainer.labels" -}}
{{- $labels := dict
  "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_")
  "app.kubernetes.io/name" "trainer"
  "app.kubernetes.io/instance" .Release.Name
  "app.kubernetes.io/version" (.Chart.Version | replace "+" "_")
  "app.kubernetes.io/part-of" "kubeflow"
  "app.kubernetes.io/managed-by" .Release.Service -}}
{{- toYaml (merge $labels (default (dict) .Values.commonLabels)) -}}
{{- end }}

{{/* Labels by which the Deployment and the Service select the controller's Pods. A Deployment's selector is immutable. */}}
{{- define "trainer.manager.selector" -}}
app.kubernetes.io/name: trainer
app.kubernetes.io/component: manager
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/part-of: kubeflow
{{- end }}

{{/*
The values of a runtime, as JSON: (list $ "torch-distributed"). `wanted` applies if the runtime's own `enabled` is null.
*/}}
{{- define "trainer.runtime.values" -}}
{{- $root := index . 0 -}}
{{- $name := index . 1 -}}
{{- $torchtune := dict
  "torchtune-llama3.2-1b" "llama3_2_1B"
  "torchtune-llama3.2-3b" "llama3_2_3B"
  "torchtune-qwen2.5-1.5b" "qwen2_5_1_5B" -}}
{{- $path := "runtimes" -}}
{{- $key := $name | camelcase | untitle -}}
{{- $wanted := $root.Values.runtimes.defaultEnabled -}}
{{- $of := $root.Values.runtimes -}}
{{- if hasKey $torchtune $name -}}
{{- $path = "runtimes.torchtuneDistributed" -}}
{{- $key = get $torchtune $name -}}
{{- $of = $root.Values.runtimes.torchtuneDistributed -}}
{{- else if eq $name "torch-distributed-with-cache" -}}
{{- $path = "dataCache.runtimes" -}}
{{- $of = $root.Values.dataCache.runtimes -}}
{{- $wanted = false -}}
{{- end -}}
{{- if not (hasKey $of $key) -}}
{{- fail (printf "the runtime %s has no value %s.%s.enabled" $name $path $key) -}}
{{- end -}}
{{- $values := index $of $key -}}
{{- $enabled := ternary $values.enabled $wanted (kindIs "bool" $values.enabled) -}}
{{- if and $enabled (eq $path "dataCache.runtimes") (not $root.Values.dataCache.enabled) -}}
{{- fail (printf "%s.%s.enabled needs dataCache.enabled" $path $key) -}}
{{- end -}}
{{- toJson (dict "enabled" $enabled "image" (default (dict) $values.image)) -}}
{{- end }}

{{/* An image with registry, repository and tag replaced by the given ones: (list "ghcr.io/a/b:1" .image). */}}
{{- define "trainer.runtime.image" -}}
{{- $image := index . 0 -}}
{{- $given := index . 1 -}}
{{- $registry := regexFind "^[^/:]*[.][^/]*/" $image -}}
{{- $parts := splitList ":" (trimPrefix $registry $image) -}}
{{- $registry = default (trimSuffix "/" $registry) $given.registry -}}
{{- with $registry }}{{ . }}/{{ end -}}
{{- default (first $parts) $given.repository -}}
:{{ default (last $parts) $given.tag -}}
{{- end }}

{{/* A runtime as it is applied, as JSON: (list $ "torch-distributed"). */}}
{{- define "trainer.runtime" -}}
{{- $root := index . 0 -}}
{{- $name := index . 1 -}}
{{- $runtime := include "trainer.file" (list $root (printf "files/runtimes/%s.yaml" $name)) | fromJson -}}
{{- $values := include "trainer.runtime.values" (list $root $name) | fromJson -}}
{{- range $job := $runtime.spec.template.spec.replicatedJobs -}}
{{- range $container := $job.template.spec.template.spec.containers -}}
{{- if eq $container.name "node" -}}
{{- $_ := set $container "image" (include "trainer.runtime.image" (list $container.image $values.image)) -}}
{{- end -}}
{{- range $variable := $container.env -}}
{{- if eq $variable.name "CACHE_IMAGE" -}}
{{- $_ := set $variable "value" (include "trainer.runtime.image" (list $variable.value $root.Values.dataCache.cacheImage)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $labels := merge (dict) $runtime.metadata.labels (default (dict) $root.Values.runtimes.commonLabels) (default (dict) $root.Values.commonLabels) -}}
{{- toJson (mergeOverwrite $runtime (dict "metadata" (dict "labels" $labels))) -}}
{{- end }}

{{/* The names of the enabled runtimes, as JSON: {"names": [...]}. */}}
{{- define "trainer.runtimes.wanted" -}}
{{- $names := list -}}
{{- range $path, $_ := .Files.Glob "files/runtimes/*.yaml" -}}
{{- $name := base $path | trimSuffix ".yaml" -}}
{{- if (include "trainer.runtime.values" (list $ $name) | fromJson).enabled -}}
{{- $names = append $names $name -}}
{{- end -}}
{{- end -}}
{{- toJson (dict "names" $names) -}}
{{- end }}

{{/* A file of the chart, parsed. Fails on invalid YAML, where Helm's fromYaml would return the error as content. */}}
{{- define "trainer.file" -}}
{{- $root := index . 0 -}}
{{- $path := index . 1 -}}
{{- $object := $root.Files.Get $path | fromYaml -}}
{{- if not (hasKey $object "kind") -}}
{{- fail (printf "%s holds no Kubernetes object: %v" $path (get $object "Error")) -}}
{{- end -}}
{{- toJson $object -}}
{{- end }}
