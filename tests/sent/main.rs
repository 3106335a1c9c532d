//! What `render` prints is what the controller sends: every golden input that ends in objects is rendered, and given
//! to a controller whose API server is in memory and keeps the bodies.

#![cfg(feature = "controller")]
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod api_server;
mod controller;
mod input;
#[path = "../program/mod.rs"]
mod program;

use std::time::Duration;

use api_server::ApiServer;
use controller::Controller;
use input::Input;

/// How long the controller may take for one input.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_body_is_what_render_prints() {
    let inputs = Input::all("golden");
    assert!(inputs.len() >= 130, "only {} inputs end in objects", inputs.len());
    let mut wrong = Vec::new();
    for input in inputs {
        let server = ApiServer::default();
        for object in input.stored() {
            server.store(object);
        }
        let controller = Controller::start(&server).await;
        let sent = server.sent_by(input.jobs(), PATIENCE).await;
        controller.stop().await;
        for (job, rendered) in &input.rendered {
            let sent: Vec<_> = sent
                .iter()
                .filter(|object| input::owner(object) == job)
                .map(input::masked)
                .collect();
            if sent != *rendered {
                wrong.push(format!(
                    "{}, TrainJob {job}:\n{}",
                    input.name,
                    input::first_difference(&sent, rendered)
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
