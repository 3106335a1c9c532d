//! Defaults, unknown fields and pruning.

use serde_json::{Value, json};
use trainer::schema;

use super::object;

fn defaulted(kind: &str, yaml: &str) -> Value {
    let mut object = object(kind, yaml);
    schema::of(kind)
        .expect("the kind is ours")
        .set_defaults(&mut object);
    object["spec"].take()
}

#[test]
fn a_job_gets_its_defaults() {
    let spec = defaulted("TrainJob", "spec: {runtimeRef: {name: torch}}");
    let expected = json!({
        "runtimeRef": { "name": "torch", "apiGroup": "trainer.kubeflow.org", "kind": "ClusterTrainingRuntime" },
        "suspend": false,
        "managedBy": "trainer.kubeflow.org/trainjob-controller",
    });
    assert_eq!(spec, expected);
}

#[test]
fn defaults_are_set_only_in_objects_that_exist() {
    let spec = defaulted(
        "TrainingRuntime",
        "spec: {mlPolicy: {mpi: {}, flux: null}, podGroupPolicy: {volcano: {}}}",
    );
    let mpi = json!({
        "numProcPerNode": 1,
        "mpiImplementation": "OpenMPI",
        "sshAuthMountPath": "/root/.ssh",
        "runLauncherAsNode": false,
    });
    assert_eq!(
        spec,
        json!({ "mlPolicy": { "mpi": mpi }, "podGroupPolicy": { "volcano": {} } })
    );
}

#[test]
fn defaults_reach_into_lists() {
    let spec = defaulted(
        "TrainingRuntime",
        "spec: {template: {spec: {replicatedJobs: [{name: a, template: {spec: {template: {spec: {containers: \
         [{name: a, ports: [{containerPort: 1}], env: [{name: A, valueFrom: {secretKeyRef: {key: k}}}]}]}}}}}]}}}",
    );
    let job = &spec["template"]["spec"]["replicatedJobs"][0];
    assert_eq!(job["replicas"], 1);
    assert_eq!(job["groupName"], "default");
    let container = &job["template"]["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["ports"][0]["protocol"], "TCP");
    assert_eq!(container["env"][0]["valueFrom"]["secretKeyRef"]["name"], "");
}

#[test]
fn a_null_is_replaced_by_the_default_or_removed() {
    let spec = defaulted(
        "TrainJob",
        "spec: {runtimeRef: {name: torch, kind: null}, suspend: null, trainer: null}",
    );
    assert_eq!(spec["runtimeRef"]["kind"], "ClusterTrainingRuntime");
    assert_eq!(spec["suspend"], false);
    assert_eq!(spec.get("trainer"), None);
}

#[test]
fn unknown_fields_are_refused_with_a_suggestion() {
    let object = object(
        "TrainJob",
        "spec: {runtimeRef: {name: a}, podTemplateOverrides: [], trainer: {numNode: 1, env: [{name: A, vlaue: b}], \
         resourcesPerNode: {limits: {cpu: 1}}}}",
    );
    let problems = schema::of("TrainJob")
        .expect("the kind is ours")
        .unknown_fields(&object);
    let told: Vec<_> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "spec.podTemplateOverrides: unknown field; remove it",
            "spec.trainer.numNode: unknown field; did you mean \"numNodes\"?",
            "spec.trainer.env[0].vlaue: unknown field; did you mean \"value\"?",
        ]
    );
}

#[test]
fn an_object_without_fields_accepts_none() {
    let object = object("TrainingRuntime", "spec: {mlPolicy: {jax: {numProcPerNode: 1}}}");
    let problems = schema::of("TrainingRuntime")
        .expect("the kind is ours")
        .unknown_fields(&object);
    assert_eq!(problems.len(), 1);
    assert!(
        problems.to_string().contains("nothing can be set here"),
        "{problems}"
    );
}

#[test]
fn pruning_keeps_what_is_known_and_empty() {
    let schema = schema::of("TrainingRuntime").expect("the kind is ours");
    let mut object = object(
        "TrainingRuntime",
        "{metadata: {name: a, managedFields: [{fieldsV1: {'f:spec': {}}}]}, \
         spec: {mlPolicy: {torch: {numProcPerNode: auto}}, template: {metadata: {uid: a, labels: {b: c}}}}}",
    );
    schema.prune(&mut object);
    assert_eq!(
        object["spec"],
        json!({ "mlPolicy": { "torch": {} }, "template": { "metadata": { "labels": { "b": "c" } } } })
    );
    assert_eq!(
        object["metadata"]["managedFields"][0]["fieldsV1"],
        json!({ "f:spec": {} })
    );
}

#[test]
fn other_kinds_have_no_schema() {
    assert!(schema::of("JobSet").is_none());
}
