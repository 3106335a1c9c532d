//! What `render` prints is what the controller sends: every golden input that ends in objects is rendered, and given
//! to a controller whose API server is in memory and keeps the bodies.

#![cfg(feature = "controller")]
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod api_server;
mod input;
#[path = "../program/mod.rs"]
mod program;

use std::time::Duration;

use api_server::ApiServer;
use input::Input;
use serde_json::Value;
use trainer::catalog;
use trainer::controller::{BindAddress, Clock, Controller, LogFormat, Options};
use trainer::k8s::diff::{self, Unkeyed};

/// How long the controller may take for one input.
const PATIENCE: Duration = Duration::from_secs(60);
/// The time at which all objects are created, and at which the controller works.
const NOW: &str = "2026-01-01T00:00:00Z";

#[tokio::test]
async fn every_body_is_what_render_prints() {
    let files = input::files();
    let inputs: Vec<_> = files
        .iter()
        .filter_map(|file| Input::read(file, "golden", |_| {}))
        .collect();
    assert!(inputs.len() >= 130, "only {} inputs end in objects", inputs.len());
    let mut wrong = Vec::new();
    for input in inputs {
        let sent = sent_for(&input).await;
        for (job, rendered) in &input.rendered {
            let sent = sent.iter().filter(|object| input::owner(object) == job);
            let sent: Vec<_> = sent.map(input::masked).collect();
            if sent != *rendered {
                let differences = describe(&sent, rendered);
                wrong.push(format!("{}, TrainJob {job}:\n{differences}", input.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Returns the bodies that the controller sends for an input.
async fn sent_for(input: &Input) -> Vec<Value> {
    let server = ApiServer::default();
    let shipped = catalog::runtimes().unwrap().into_iter().map(input::with_defaults);
    for object in shipped.chain(input.objects.iter().cloned()) {
        server.store(object);
    }
    let clock = Clock::new(|| NOW.parse().unwrap());
    let controller = Controller::start_with(server.client(), clock, &options());
    let sent = server.sent_by(input.rendered.keys(), PATIENCE).await;
    controller.stop().await;
    sent
}

fn options() -> Options {
    Options {
        kubeconfig: None,
        health_bind_address: BindAddress(None),
        metrics_bind_address: BindAddress(None),
        concurrency: 1,
        kube_api_qps: 0.0,
        kube_api_burst: 0,
        accelerator_resources: Vec::new(),
        log_level: String::new(),
        log_format: LogFormat::Text,
    }
}

/// Returns how the sent objects differ from the rendered ones, for people.
fn describe(sent: &[Value], rendered: &[Value]) -> String {
    let titles = |objects: &[Value]| -> Vec<String> {
        let title = |object: &Value| format!("{} {}", object["kind"], object["metadata"]["name"]);
        objects.iter().map(title).collect()
    };
    if titles(sent) != titles(rendered) {
        return format!("  sent {:?}\n  rendered {:?}", titles(sent), titles(rendered));
    }
    let mut text = String::new();
    for (sent, rendered) in sent.iter().zip(rendered) {
        for found in diff::differences(rendered, sent, Unkeyed::ByIndex) {
            text = format!("{text}  {} {}: {:?}\n", sent["kind"], found.path, found.change);
        }
    }
    text
}
