//! What the real API server makes of the CRDs: no controller runs here.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::support::{Cluster, kubectl, repository, runtime};

const API_VERSION: &str = "trainer.kubeflow.org/v1alpha1";

/// Asks the API server what it would store.
async fn stored(cluster: &Cluster, object: &Value) -> Result<Value, String> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let plural = text(&object["kind"]).to_lowercase() + "s";
    let kind = ApiResource {
        group: "trainer.kubeflow.org".to_owned(),
        version: "v1alpha1".to_owned(),
        api_version: API_VERSION.to_owned(),
        kind: text(&object["kind"]),
        plural,
    };
    let api: Api<DynamicObject> = Api::namespaced_with(cluster.client.clone(), &cluster.namespace, &kind);
    let params = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let object: DynamicObject = serde_json::from_value(object.clone()).unwrap();
    match api.create(&params, &object).await {
        Ok(stored) => Ok(serde_json::to_value(stored).unwrap()),
        Err(error) => Err(error.to_string()),
    }
}

fn job(name: &str, more: &Value) -> Value {
    let mut spec = json!({"runtimeRef": {"name": "torch-distributed"}});
    let (Some(spec_fields), Some(more)) = (spec.as_object_mut(), more.as_object()) else {
        panic!("{more} is no object");
    };
    spec_fields.extend(more.clone());
    json!({"apiVersion": API_VERSION, "kind": "TrainJob", "metadata": {"name": name}, "spec": spec})
}

#[tokio::test]
async fn the_crds_are_structural_and_their_names_accepted() {
    let cluster = Cluster::take().await;
    let crds: Api<CustomResourceDefinition> = Api::all(cluster.client.clone());
    for plural in ["trainjobs", "trainingruntimes", "clustertrainingruntimes"] {
        let crd = crds.get(&format!("{plural}.trainer.kubeflow.org")).await.unwrap();
        let conditions = crd.status.unwrap().conditions.unwrap_or_default();
        let is = |kind: &str| conditions.iter().any(|c| c.type_ == kind && c.status == "True");
        assert!(
            is("Established") && is("NamesAccepted"),
            "{plural}: {conditions:?}"
        );
        assert!(!is("NonStructuralSchema"), "{plural}: {conditions:?}");
    }
    cluster.leave().await;
}

#[tokio::test]
async fn defaults_are_filled_in_and_nothing_else() {
    let cluster = Cluster::take().await;
    let stored = stored(&cluster, &job("short", &json!({}))).await.unwrap();
    let expected = json!({
        "managedBy": "trainer.kubeflow.org/trainjob-controller",
        "runtimeRef": {
            "apiGroup": "trainer.kubeflow.org",
            "kind": "ClusterTrainingRuntime",
            "name": "torch-distributed",
        },
        "suspend": false,
    });
    assert_eq!(stored["spec"], expected);
    assert!(stored.get("status").is_none(), "{stored:#}");
    cluster.leave().await;
}

#[tokio::test]
async fn fields_of_other_releases_are_dropped_not_refused() {
    let cluster = Cluster::take().await;
    let newer = job("newer", &json!({"podTemplateOverrides": [{"targetJobs": []}]}));
    let stored = stored(&cluster, &newer).await.unwrap();
    assert!(stored["spec"].get("podTemplateOverrides").is_none(), "{stored:#}");
    cluster.leave().await;
}

#[tokio::test]
async fn names_that_cannot_be_host_names_are_refused() {
    let cluster = Cluster::take().await;
    for name in ["1st", "dotted.name", &"a".repeat(64)] {
        let complaint = stored(&cluster, &job(name, &json!({}))).await.unwrap_err();
        assert!(complaint.contains("name"), "{name}: {complaint}");
    }
    cluster.leave().await;
}

#[tokio::test]
async fn two_frameworks_in_one_runtime_are_refused() {
    let cluster = Cluster::take().await;
    let mut both = runtime("both", "true");
    both["spec"]["mlPolicy"] = json!({"numNodes": 1, "torch": {}, "jax": {}});
    let complaint = stored(&cluster, &both).await.unwrap_err();
    assert!(complaint.contains("spec.mlPolicy"), "{complaint}");
    cluster.leave().await;
}

#[tokio::test]
async fn what_a_job_is_made_of_cannot_change() {
    let cluster = Cluster::take().await;
    let spec = json!({"trainer": {"numNodes": 2}, "activeDeadlineSeconds": 60, "suspend": true});
    cluster.create_job("fixed", "plain", spec).await;
    for change in [
        json!({"runtimeRef": {"name": "another"}}),
        json!({"trainer": {"numNodes": 7}}),
        json!({"managedBy": "kueue.x-k8s.io/multikueue"}),
        json!({"activeDeadlineSeconds": 7}),
    ] {
        let patch = Patch::Merge(json!({"spec": change}));
        let refused = cluster
            .jobs()
            .patch("fixed", &PatchParams::default(), &patch)
            .await;
        let complaint = refused.unwrap_err().to_string();
        assert!(complaint.contains("immutable"), "{change}: {complaint}");
    }
    cluster
        .patch_job("fixed", json!({"spec": {"suspend": false}}))
        .await;
    cluster.leave().await;
}

#[tokio::test]
async fn quantities_may_be_numbers_as_the_sdk_sends_them() {
    let cluster = Cluster::take().await;
    let resources = json!({"limits": {"cpu": 2.0, "memory": "1Gi"}, "requests": {"cpu": 1}});
    let numbers = job("numbers", &json!({"trainer": {"resourcesPerNode": resources}}));
    stored(&cluster, &numbers).await.unwrap();
    cluster.leave().await;
}

#[tokio::test]
async fn every_example_is_accepted_strictly() {
    let cluster = Cluster::take().await;
    for entry in std::fs::read_dir(repository("examples")).unwrap() {
        let file = entry.unwrap().path();
        // Strictly: a field that the schema does not know is an error.
        let strict = [
            "create",
            "--dry-run=server",
            "--validate=strict",
            "-f",
            file.to_str().unwrap(),
        ];
        kubectl(&[&["-n", &cluster.namespace], &strict[..]].concat());
    }
    cluster.leave().await;
}

#[tokio::test]
async fn kubectl_explain_describes_the_fields() {
    let cluster = Cluster::take().await;
    let tree = kubectl(&["explain", "trainjob.spec", "--recursive"]);
    for field in [
        "runtimeRef",
        "runtimePatches",
        "numProcPerNode",
        "activeDeadlineSeconds",
    ] {
        assert!(tree.contains(field), "no {field} in {tree}");
    }
    let field = kubectl(&["explain", "trainjob.spec.trainer.numNodes"]);
    assert!(
        field.contains("DESCRIPTION") && !field.contains("<empty>"),
        "{field}"
    );
    cluster.leave().await;
}
