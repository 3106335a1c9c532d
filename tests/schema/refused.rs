//! What the API server refuses, and the messages of the engine. A real API server (1.37) with these CRDs refuses
//! each case, and accepts the objects in `accepts_what_the_api_server_accepts`: both were tried.

use serde_json::Value;
use trainer::k8s::problem::{Problem, Problems};
use trainer::schema;

use super::object;

/// Checks an object as the API server does when it is created.
fn create(kind: &str, yaml: &str) -> Vec<Problem> {
    check(&object(kind, yaml), None)
}

/// Checks a change as the API server does.
fn update(kind: &str, old: &str, new: &str) -> Vec<Problem> {
    let schema = schema::of(kind).expect("the kind is ours");
    let mut old = object(kind, old);
    schema.set_defaults(&mut old);
    assert_eq!(
        schema.validate(&old, None),
        Problems::default(),
        "the old object is right"
    );
    check(&object(kind, new), Some(&old))
}

fn check(object: &Value, old: Option<&Value>) -> Vec<Problem> {
    let schema = schema::of(object["kind"].as_str().expect("a kind")).expect("the kind is ours");
    let mut problems = schema.unknown_fields(object);
    let mut object = object.clone();
    schema.prune(&mut object);
    schema.set_defaults(&mut object);
    problems.extend(schema.validate(&object, old));
    problems.into_iter().collect()
}

/// Asserts the fields that are refused, and that the first message has these words.
#[track_caller]
fn refused(problems: &[Problem], fields: &[&str], words: &str) {
    let found: Vec<_> = problems.iter().map(|problem| problem.field.to_string()).collect();
    assert_eq!(found, fields, "{problems:?}");
    assert!(problems[0].message.contains(words), "{}", problems[0]);
}

fn job(trainer: &str) -> String {
    format!("spec: {{runtimeRef: {{name: torch}}, {trainer}}}")
}

fn pod_patch(pod: &str) -> String {
    job(&format!(
        "runtimePatches: [{{manager: a.io/b, trainingRuntimeSpec: {{template: {{spec: {{replicatedJobs: \
         [{{name: node, template: {{spec: {{template: {{spec: {pod}}}}}}}}}]}}}}}}}}]"
    ))
}

fn pods(pod: &str) -> String {
    format!(
        "spec: {{template: {{spec: {{replicatedJobs: [{{name: node, template: {{spec: {{template: {{spec: \
         {pod}}}}}}}}}]}}}}}}"
    )
}

const POD: &str = "spec.template.spec.replicatedJobs[0].template.spec.template.spec";

#[test]
fn storage_uris_need_a_scheme() {
    let yaml = job("initializer: {dataset: {storageUri: /local/path}, model: {storageUri: '1http://x'}}");
    refused(
        &create("TrainJob", &yaml),
        &[
            "spec.initializer.dataset.storageUri",
            "spec.initializer.model.storageUri",
        ],
        r#"must be empty or a URI with a scheme, such as hf://org/name or s3://bucket/path, got "/local/path""#,
    );
}

#[test]
fn there_are_at_most_sixteen_patches() {
    let patches: Vec<_> = (0..17).map(|i| format!("{{manager: a.io/x{i}}}")).collect();
    let yaml = job(&format!("runtimePatches: [{}]", patches.join(", ")));
    refused(
        &create("TrainJob", &yaml),
        &["spec.runtimePatches"],
        "must have at most 16 items, got 17",
    );
}

#[test]
fn a_patch_has_a_manager() {
    let yaml = job("runtimePatches: [{manager: ''}, {}]");
    let fields = ["spec.runtimePatches[0].manager", "spec.runtimePatches[1].manager"];
    refused(&create("TrainJob", &yaml), &fields, "must not be empty");
}

#[test]
fn numbers_have_bounds() {
    for (trainer, field, words) in [
        (
            "trainer: {numNodes: -1}",
            "spec.trainer.numNodes",
            "must be 0 or more, got -1",
        ),
        (
            "trainer: {numProcPerNode: 0}",
            "spec.trainer.numProcPerNode",
            "must be 1 or more, got 0",
        ),
        (
            "activeDeadlineSeconds: 0",
            "spec.activeDeadlineSeconds",
            "must be 1 or more, got 0",
        ),
        (
            "trainer: {numNodes: 3000000000}",
            "spec.trainer.numNodes",
            "a whole number of 32 bits",
        ),
        (
            "activeDeadlineSeconds: 9223372036854775808",
            "spec.activeDeadlineSeconds",
            "a whole number",
        ),
        (
            "activeDeadlineSeconds: 1.5",
            "spec.activeDeadlineSeconds",
            "a whole number, got 1.5",
        ),
    ] {
        refused(&create("TrainJob", &job(trainer)), &[field], words);
    }
}

#[test]
fn values_have_types() {
    for (trainer, field, words) in [
        (
            "trainer: {numProcPerNode: auto}",
            "spec.trainer.numProcPerNode",
            r#"got the string "auto""#,
        ),
        (
            "trainer: {env: [{name: A, value: 1}]}",
            "spec.trainer.env[0].value",
            "a string, got 1; put it in quotes",
        ),
        (
            "trainer: {args: [null]}",
            "spec.trainer.args[0]",
            "a string, got null",
        ),
        ("trainer: []", "spec.trainer", "an object, got a list"),
        ("suspend: 'no'", "spec.suspend", "true or false"),
        (
            "trainer: {resourcesPerNode: {limits: {cpu: 0.5}}}",
            "spec.trainer.resourcesPerNode.limits[cpu]",
            "a whole number or a string, got 0.5; put it in quotes",
        ),
        (
            "trainer: {resourcesPerNode: {limits: {memory: 1 GB}}}",
            "spec.trainer.resourcesPerNode.limits[memory]",
            r#""1 GB" is not a quantity"#,
        ),
    ] {
        refused(&create("TrainJob", &job(trainer)), &[field], words);
    }
}

#[test]
fn a_jobs_name_is_a_label() {
    let named = |name: &str| format!("{{metadata: {{name: {name}}}, spec: {{runtimeRef: {{name: torch}}}}}}");
    refused(
        &create("TrainJob", &named("Abc")),
        &["metadata.name", "metadata.name"],
        "RFC 1123 subdomain",
    );
    refused(
        &create("TrainJob", &named("a.b")),
        &["metadata.name"],
        "RFC 1035 label",
    );
    refused(
        &create("TrainJob", &named("1a")),
        &["metadata.name"],
        "RFC 1035 label",
    );
    refused(
        &create("TrainJob", &named(&"n".repeat(64))),
        &["metadata.name"],
        "no more than 63 characters",
    );
    assert_eq!(create("TrainJob", &named(&"n".repeat(63))), []);
    assert_eq!(
        create(
            "TrainingRuntime",
            "{metadata: {name: 1.b}, spec: {template: {spec: {}}}}"
        ),
        []
    );
}

#[test]
fn values_are_chosen_from_lists() {
    let managed = job("managedBy: foo.io/bar");
    refused(
        &create("TrainJob", &managed),
        &["spec.managedBy"],
        r#"use one of "trainer.kubeflow.org/trainjob-c"#,
    );
    let mode = "spec: {podGroupPolicy: {volcano: {networkTopology: {mode: medium}}}}";
    let field = "spec.podGroupPolicy.volcano.networkTopology.mode";
    refused(
        &create("TrainingRuntime", mode),
        &[field],
        r#""medium" is not supported; use one of "hard", "soft""#,
    );
    let mpi = "spec: {mlPolicy: {mpi: {mpiImplementation: LAM}}}";
    refused(
        &create("TrainingRuntime", mpi),
        &["spec.mlPolicy.mpi.mpiImplementation"],
        r#"one of "OpenMPI", "Intel", "MPICH", """#,
    );
}

#[test]
fn texts_and_lists_have_lengths() {
    let image = job(&format!("trainer: {{image: {}}}", "i".repeat(501)));
    refused(
        &create("TrainJob", &image),
        &["spec.trainer.image"],
        "must have at most 500 characters, got 501",
    );
    let args = job(&format!("trainer: {{args: [{}]}}", vec!["a"; 129].join(", ")));
    refused(
        &create("TrainJob", &args),
        &["spec.trainer.args"],
        "must have at most 128 items, got 129",
    );
    let names = "spec: {mlPolicy: {torch: {envInjection: {targets: [{jobName: a, containerNames: []}]}}}}";
    let field = "spec.mlPolicy.torch.envInjection.targets[0].containerNames";
    refused(
        &create("TrainingRuntime", names),
        &[field],
        "must have at least 1 item, got 0",
    );
    refused(
        &create("TrainingRuntime", "spec: {}"),
        &["spec"],
        "must have at least 1 field, got 0",
    );
}

#[test]
fn duplicates_of_items_are_refused() {
    let env = job("trainer: {env: [{name: A}, {name: B}, {name: A}, {name: A}]}");
    refused(
        &create("TrainJob", &env),
        &["spec.trainer.env[2]"],
        r#"duplicate of item 0 (name "A"); remove one of the two"#,
    );
    let ports =
        pods("{containers: [{name: a, ports: [{containerPort: 1}, {containerPort: 1, protocol: TCP}]}]}");
    let field = format!("{POD}.containers[0].ports[1]");
    refused(
        &create("TrainingRuntime", &ports),
        &[&field],
        r#"containerPort 1, protocol "TCP""#,
    );
    let names =
        "spec: {mlPolicy: {torch: {envInjection: {targets: [{jobName: a, containerNames: [x, x]}]}}}}";
    let field = "spec.mlPolicy.torch.envInjection.targets[0].containerNames[1]";
    refused(
        &create("TrainingRuntime", names),
        &[field],
        r#"duplicate of item 0 ("x")"#,
    );
}

#[test]
fn a_job_names_its_runtime() {
    refused(
        &create("TrainJob", "spec: {runtimeRef: {}}"),
        &["spec.runtimeRef.name"],
        "is required",
    );
    refused(
        &create("TrainJob", "spec: {runtimeRef: null}"),
        &["spec.runtimeRef"],
        "is required",
    );
}

#[test]
fn a_job_cannot_become_another_job() {
    for (old, new, field) in [
        ("trainer: {numNodes: 2}", "trainer: {numNodes: 3}", "spec.trainer"),
        (
            "initializer: {model: {}}",
            "initializer: {dataset: {}}",
            "spec.initializer",
        ),
        (
            "suspend: true",
            "managedBy: kueue.x-k8s.io/multikueue",
            "spec.managedBy",
        ),
        (
            "activeDeadlineSeconds: 10",
            "activeDeadlineSeconds: 20",
            "spec.activeDeadlineSeconds",
        ),
    ] {
        let problems = update("TrainJob", &job(old), &job(new));
        refused(&problems, &[field], "is immutable; create a new TrainJob");
    }
    let other = "spec: {runtimeRef: {name: other}}";
    refused(
        &update("TrainJob", &job(""), other),
        &["spec.runtimeRef"],
        "is immutable",
    );
}

#[test]
fn fields_of_a_patch_that_define_its_pods_are_immutable() {
    let field = "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].template.spec.template.spec";
    for (old, new, name) in [
        (
            "{serviceAccountName: one}",
            "{serviceAccountName: two}",
            "serviceAccountName",
        ),
        ("{volumes: [{name: a}]}", "{volumes: [{name: b}]}", "volumes"),
        (
            "{containers: [{name: a}]}",
            "{containers: [{name: a, env: [{name: B}]}]}",
            "containers",
        ),
        (
            "{securityContext: {}}",
            "{securityContext: {runAsUser: 1}}",
            "securityContext",
        ),
        (
            "{terminationGracePeriodSeconds: 1}",
            "{terminationGracePeriodSeconds: 2}",
            "terminationGracePeriodSeconds",
        ),
    ] {
        let problems = update("TrainJob", &pod_patch(old), &pod_patch(new));
        refused(
            &problems,
            &[&format!("{field}.{name}")],
            "is immutable; remove the patch",
        );
    }
}

#[test]
fn fields_of_a_patch_that_place_its_pods_may_change() {
    let old = pod_patch("{tolerations: [{key: a}], nodeSelector: {a: b}, volumes: [{name: a}]}");
    let new = pod_patch("{tolerations: [{key: b}], nodeSelector: {a: c}, volumes: [{name: a}]}");
    assert_eq!(update("TrainJob", &old, &new), []);
    assert_eq!(
        update("TrainJob", &old, &job("suspend: true")),
        [],
        "a patch may go"
    );
    assert_eq!(
        update("TrainJob", &job(""), &job("trainer: {numNodes: 1}")),
        [],
        "what is absent may come"
    );
}

#[test]
fn the_order_of_a_keyed_list_does_not_matter() {
    let old = job("trainer: {env: [{name: A}, {name: B}]}");
    assert_eq!(
        update("TrainJob", &old, &job("trainer: {env: [{name: B}, {name: A}]}")),
        []
    );
    let old = job("trainer: {args: [a, b]}");
    refused(
        &update("TrainJob", &old, &job("trainer: {args: [b, a]}")),
        &["spec.trainer"],
        "is immutable",
    );
}

#[test]
fn what_an_update_does_not_touch_is_not_checked_again() {
    let schema = schema::of("TrainJob").expect("the kind is ours");
    let old = object("TrainJob", &job("trainer: {numNodes: -1}"));
    let mut new = old.clone();
    new["spec"]["suspend"] = true.into();
    assert!(schema.validate(&new, Some(&old)).is_empty());
}

#[test]
fn policies_exclude_each_other() {
    let torch = "spec: {mlPolicy: {torch: {}, mpi: {}}}";
    refused(
        &create("TrainingRuntime", torch),
        &["spec.mlPolicy"],
        "at most one of torch, mpi, jax",
    );
    let gang = "spec: {podGroupPolicy: {coscheduling: {}, volcano: {}}}";
    refused(
        &create("TrainingRuntime", gang),
        &["spec.podGroupPolicy"],
        "at most one of coscheduling, volcano and workload",
    );
    let order = "spec: {template: {spec: {startupPolicy: {startupPolicyOrder: InOrder}, replicatedJobs: \
                 [{name: a, template: {}, dependsOn: [{name: b, status: Ready}]}]}}}";
    refused(
        &create("TrainingRuntime", order),
        &["spec.template.spec"],
        "startupPolicy InOrder and dependsOn",
    );
}

#[test]
fn names_of_a_runtime_have_rules() {
    let node =
        "spec: {mlPolicy: {torch: {envInjection: {targets: [{jobName: a, containerNames: [x, node]}]}}}}";
    let field = "spec.mlPolicy.torch.envInjection.targets[0].containerNames";
    refused(
        &create("TrainingRuntime", node),
        &[field],
        "must not name the container node",
    );
    let claim =
        "spec: {template: {spec: {volumeClaimPolicies: [{templates: [{metadata: {namespace: a}}]}]}}}";
    refused(
        &create("TrainingRuntime", claim),
        &["spec.template.spec.volumeClaimPolicies[0]"],
        "metadata.namespace",
    );
}

#[test]
fn times_have_a_date_a_time_and_a_zone() {
    let at = |time: &str| job(&format!("runtimePatches: [{{manager: a.io/b, time: '{time}'}}]"));
    for time in [
        "2026-01-01",
        "2026-01-01T00:00:00",
        "2026-02-30T00:00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01T00:00:60Z",
    ] {
        refused(
            &create("TrainJob", &at(time)),
            &["spec.runtimePatches[0].time"],
            "must be a time such as",
        );
    }
    for time in [
        "2026-01-01T00:00:00Z",
        "2026-01-01t23:59:59.123456+02:00",
        "2026-02-28T00:00:00-99:00",
    ] {
        assert_eq!(create("TrainJob", &at(time)), [], "{time}");
    }
}

#[test]
fn metadata_has_the_rules_of_any_object() {
    let with = |metadata: &str| {
        format!("{{metadata: {{name: a, {metadata}}}, spec: {{runtimeRef: {{name: torch}}}}}}")
    };
    for (metadata, field, words) in [
        ("labels: {a b: c}", "metadata.labels", r#"got "a b""#),
        (
            "labels: {A.IO/b: c}",
            "metadata.labels",
            "keys must be name or domain/name",
        ),
        ("labels: {a: c d}", "metadata.labels[a]", "at most 63 letters"),
        (
            "labels: {a: 1}",
            "metadata.labels[a]",
            "a string, got 1; put it in quotes",
        ),
        (
            "annotations: {a/b/c: d}",
            "metadata.annotations",
            "keys must be name or domain/name",
        ),
        ("namespace: A", "metadata.namespace", "RFC 1123 label"),
        ("lables: {a: b}", "metadata.lables", "did you mean \"labels\"?"),
    ] {
        refused(&create("TrainJob", &with(metadata)), &[field], words);
    }
    assert_eq!(
        create(
            "TrainJob",
            &with("labels: {a: ''}, annotations: {A.IO/b: c d}, creationTimestamp: null")
        ),
        []
    );
    let cluster = "{metadata: {name: a, namespace: b}, spec: {mlPolicy: {}}}";
    refused(
        &create("ClusterTrainingRuntime", cluster),
        &["metadata.namespace"],
        "objects of this kind have no namespace",
    );
    let big = format!("annotations: {{a: {}}}", "x".repeat(256 * 1024));
    refused(
        &create("TrainJob", &with(&big)),
        &["metadata.annotations"],
        "must have at most 262144 bytes in total",
    );
}

#[test]
fn an_object_has_a_name_and_its_kind() {
    let schema = schema::of("TrainJob").expect("the kind is ours");
    let problems = schema.validate(
        &serde_json::json!({ "spec": { "runtimeRef": { "name": "t" } } }),
        None,
    );
    refused(
        &problems.into_iter().collect::<Vec<_>>(),
        &["apiVersion", "kind", "metadata.name"],
        "must be trainer.kubeflow.org/v1alpha1, got nothing",
    );
    let generated = "{metadata: {generateName: a-, name: null}, spec: {runtimeRef: {name: torch}}}";
    let mut object = object("TrainJob", generated);
    object["metadata"]["name"] = Value::Null;
    assert_eq!(check(&object, None), []);
}

#[test]
fn all_problems_are_reported_at_once() {
    let yaml = "{metadata: {name: Abc}, spec: {runtimeRef: {}, trainer: {numNode: 1, numNodes: -1, env: [{name: A}, \
                {name: A}]}, initializer: {model: {storageUri: x}}}}";
    let mut fields: Vec<_> = create("TrainJob", yaml)
        .into_iter()
        .map(|problem| problem.field.to_string())
        .collect();
    fields.sort();
    let expected = [
        "metadata.name",
        "metadata.name",
        "spec.initializer.model.storageUri",
        "spec.runtimeRef.name",
        "spec.trainer.env[1]",
        "spec.trainer.numNode",
        "spec.trainer.numNodes",
    ];
    assert_eq!(fields, expected);
}

#[test]
fn accepts_what_the_api_server_accepts() {
    for trainer in [
        "trainer: {numNodes: 2.0, resourcesPerNode: {limits: {cpu: 2.0, memory: 1Gi, nvidia.com/gpu: 1, x/y: 1e3}}}",
        "trainer: null, suspend: null",
        "trainer: {numNodes: 0}",
        "initializer: {dataset: {storageUri: '', env: [], secretRef: {}}}",
        "runtimePatches: [{manager: a.io/b, trainingRuntimeSpec: {template: {spec: {}}}}]",
    ] {
        assert_eq!(create("TrainJob", &job(trainer)), [], "{trainer}");
    }
    let script = job(&format!(
        "trainer: {{command: [bash, -c, {}]}}",
        "x".repeat(1_048_576)
    ));
    assert_eq!(create("TrainJob", &script), []);
    let mounts = "{containers: [{name: a, volumeMounts: [{name: v, mountPath: /a}, {name: v, mountPath: /b}], \
                  livenessProbe: {httpGet: {port: http}}, readinessProbe: {httpGet: {port: 80}}}]}";
    assert_eq!(create("TrainingRuntime", &pods(mounts)), []);
    assert_eq!(
        create("TrainJob", "spec: null"),
        [],
        "nothing is required at the top"
    );
}
