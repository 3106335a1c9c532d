{{/*
The Job that runs `trainer runtimes`: a dict with root, action (install or delete), hook, and args.
The runtimes are not objects of the release: on the first install Helm does not know their kind yet, because the CRD is part
of the same release. The Job uses the controller's image and downloads nothing else.
*/}}
{{- define "trainer.installer.job" -}}
{{- $root := .root -}}
{{- $installer := $root.Values.runtimes.installer -}}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ include "trainer.fullname" $root }}-runtimes-{{ .action }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "trainer.labels" $root | nindent 4 }}
    app.kubernetes.io/component: runtimes-installer
  annotations:
    helm.sh/hook: {{ .hook }}
    helm.sh/hook-weight: "0"
    # A failed Job stays for a day, so that its log can be read.
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
spec:
  backoffLimit: 3
  activeDeadlineSeconds: 240
  ttlSecondsAfterFinished: 86400
  template:
    metadata:
      labels:
        {{- include "trainer.labels" $root | nindent 8 }}
        app.kubernetes.io/component: runtimes-installer
        sidecar.istio.io/inject: "false"
    spec:
      restartPolicy: Never
      serviceAccountName: {{ include "trainer.installer.name" $root }}
      automountServiceAccountToken: true
      enableServiceLinks: false
      {{- with $root.Values.image.pullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: installer
          image: {{ include "trainer.image" $root | quote }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          args:
            {{- toYaml .args | nindent 12 }}
          {{- with $installer.resources }}
          resources:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          {{- with $root.Values.manager.securityContext }}
          securityContext:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          {{- if eq .action "install" }}
          volumeMounts:
            - name: runtimes
              mountPath: /runtimes
              readOnly: true
          {{- end }}
      {{- if eq .action "install" }}
      volumes:
        - name: runtimes
          configMap:
            name: {{ include "trainer.installer.name" $root }}
      {{- end }}
      {{- with $installer.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $installer.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $installer.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end }}

{{/* Annotations of the objects that the Jobs need. These exist only while a hook runs. */}}
{{- define "trainer.installer.annotations" -}}
helm.sh/hook: {{ . }}
helm.sh/hook-weight: "-1"
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}
