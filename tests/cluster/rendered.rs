//! What `render` prints is what a real API server has: golden inputs are applied to it, and what the controller makes of
//! them is compared.

use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, ObjectMeta, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use trainer::k8s::diff::{self, Unkeyed};

use crate::input::{self, Input};
use crate::support::{Cluster, Controller, until};

/// How many inputs are compared.
const INPUTS: usize = 30;

#[tokio::test]
async fn the_cluster_has_what_render_prints() {
    let cluster = Cluster::take().await;
    let inputs = inputs(&cluster.namespace);
    assert_eq!(inputs.len(), INPUTS);
    let _controller = Controller::start();
    for (namespace, input) in &inputs {
        create_namespace(&cluster, namespace).await;
        for object in &input.objects {
            create(&cluster, object).await;
        }
    }
    let mut wrong = Vec::new();
    for (namespace, input) in &inputs {
        for rendered in input.rendered.values().flatten() {
            let found = find(&cluster, namespace, rendered).await;
            wrong.extend(differences(&found, rendered).map(|what| format!("{}: {what}", input.name)));
        }
        let namespaces: Api<Namespace> = Api::all(cluster.client.clone());
        namespaces
            .delete(namespace, &DeleteParams::background())
            .await
            .unwrap();
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    cluster.leave().await;
}

/// Chooses inputs that need nothing outside of their namespace. Each has a namespace of its own,
/// and its jobs are suspended, so that no pods start.
fn inputs(prefix: &str) -> Vec<(String, Input)> {
    let mut found = Vec::new();
    for (at, file) in input::files().iter().enumerate().rev().step_by(2) {
        let namespace = format!("{prefix}-{at}");
        let input = Input::read(file, &namespace, |object| {
            object["metadata"]["namespace"] = json!(namespace);
            if object["kind"] == "TrainJob" {
                object["spec"]["suspend"] = json!(true);
            }
        });
        found.extend(input.filter(is_self_contained).map(|input| (namespace, input)));
    }
    found.truncate(INPUTS);
    found
}

fn is_self_contained(input: &Input) -> bool {
    let mut names = Vec::new();
    input.objects.iter().all(|object| {
        let is_new = !names.contains(&(&object["kind"], &object["metadata"]["name"]));
        names.push((&object["kind"], &object["metadata"]["name"]));
        let fits = match object["kind"].as_str() {
            Some("TrainJob") => object["spec"]["runtimeRef"]["kind"] == "TrainingRuntime",
            Some("TrainingRuntime") => object["spec"]["podGroupPolicy"].is_null(),
            _ => false,
        };
        is_new && fits
    })
}

async fn create_namespace(cluster: &Cluster, name: &str) {
    let namespace = Namespace {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    };
    let namespaces = Api::all(cluster.client.clone());
    namespaces
        .create(&PostParams::default(), &namespace)
        .await
        .unwrap();
}

async fn create(cluster: &Cluster, object: &Value) {
    let namespace = object["metadata"]["namespace"].as_str().unwrap();
    let typed: DynamicObject = serde_json::from_value(object.clone()).unwrap();
    let api = api_of(cluster, namespace, object);
    api.create(&PostParams::default(), &typed).await.unwrap();
}

/// Waits for the object that was rendered.
async fn find(cluster: &Cluster, namespace: &str, rendered: &Value) -> Value {
    let name = rendered["metadata"]["name"].as_str().unwrap();
    let what = format!("{} {namespace}/{name}", rendered["kind"]);
    let api = api_of(cluster, namespace, rendered);
    let found = until(&what, async || api.get_opt(name).await.unwrap()).await;
    serde_json::to_value(found).unwrap()
}

fn api_of(cluster: &Cluster, namespace: &str, object: &Value) -> Api<DynamicObject> {
    let version = object["apiVersion"].as_str().unwrap();
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let kind = object["kind"].as_str().unwrap();
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    Api::namespaced_with(cluster.client.clone(), namespace, &resource)
}

/// Lists what the cluster's object lacks; what it has besides was set by defaults.
fn differences(found: &Value, rendered: &Value) -> impl Iterator<Item = String> {
    let found = input::masked(found);
    diff::differences(&found, rendered, Unkeyed::ByIndex)
        .into_iter()
        .filter(|difference| difference.change.is_material())
        .map(|difference| {
            format!(
                "{} {}: {:?}",
                rendered["kind"], difference.path, difference.change
            )
        })
        .collect::<Vec<_>>()
        .into_iter()
}
