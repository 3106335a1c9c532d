{{/* Prefix of the objects' names. Short enough for the longest suffix, "-controller-manager", to fit into 63. */}}
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

{{/* What the image and the version ConfigMap call this version. */}}
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

{{/* What the Deployment and the Service select the controller's Pods by. Immutable in a Deployment. */}}
{{- define "trainer.manager.selector" -}}
app.kubernetes.io/name: trainer
app.kubernetes.io/component: manager
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/part-of: kubeflow
{{- end }}

{{/* Whether the runtime of this name is wanted: (list $ "torch-distributed"). Empty means no. */}}
{{- define "trainer.runtime.enabled" -}}
{{- $root := index . 0 -}}
{{- $key := index . 1 | camelcase | untitle -}}
{{- if not (hasKey $root.Values.runtimes $key) -}}
{{- fail (printf "the runtime %s has no value runtimes.%s.enabled" (index . 1) $key) -}}
{{- end -}}
{{- $own := (index $root.Values.runtimes $key).enabled -}}
{{- if ternary $own $root.Values.runtimes.defaultEnabled (kindIs "bool" $own) -}}true{{- end -}}
{{- end }}

{{/* The names of the wanted runtimes, as {"names": [...]} in JSON. */}}
{{- define "trainer.runtimes.wanted" -}}
{{- $names := list -}}
{{- range $path, $_ := .Files.Glob "files/runtimes/*.yaml" -}}
{{- $name := base $path | trimSuffix ".yaml" -}}
{{- if include "trainer.runtime.enabled" (list $ $name) -}}
{{- $names = append $names $name -}}
{{- end -}}
{{- end -}}
{{- toJson (dict "names" $names) -}}
{{- end }}

{{/* A file of the chart, parsed; fails where Helm's fromYaml would go on with an error message in place of the content. */}}
{{- define "trainer.file" -}}
{{- $root := index . 0 -}}
{{- $path := index . 1 -}}
{{- $object := $root.Files.Get $path | fromYaml -}}
{{- if not (hasKey $object "kind") -}}
{{- fail (printf "%s holds no Kubernetes object: %v" $path (get $object "Error")) -}}
{{- end -}}
{{- toJson $object -}}
{{- end }}
