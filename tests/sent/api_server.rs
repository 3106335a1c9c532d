//! An API server in memory: it lists, watches without an end, reads, and keeps what it is sent.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request, Response, StatusCode};
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::NOW;
use crate::input::owner;

/// The API server; clones share their objects.
#[derive(Clone, Default)]
pub(crate) struct ApiServer(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    /// The objects by their paths.
    objects: BTreeMap<String, Value>,
    /// The bodies that were sent, in order, without Events and status.
    sent: Vec<Value>,
}

impl ApiServer {
    /// Stores an object as it is, in the place of an older one.
    pub(crate) fn store(&self, mut object: Value) {
        let path = path_of(&object);
        stamp(&mut object, &path);
        self.0.state.lock().unwrap().objects.insert(path, object);
    }

    /// Returns the bodies that were sent, as soon as each of the jobs has its JobSet.
    pub(crate) async fn sent_by<'a>(
        &self,
        jobs: impl Iterator<Item = &'a String> + Clone,
        patience: Duration,
    ) -> Vec<Value> {
        let all = async {
            loop {
                let changed = self.0.changed.notified();
                let sent = self.0.state.lock().unwrap().sent.clone();
                let has_jobset = |job| {
                    sent.iter()
                        .any(|object| object["kind"] == "JobSet" && owner(object) == job)
                };
                if jobs.clone().all(has_jobset) {
                    return sent;
                }
                changed.await;
            }
        };
        match tokio::time::timeout(patience, all).await {
            Ok(sent) => sent,
            Err(_) => self.0.state.lock().unwrap().sent.clone(),
        }
    }

    /// Returns a client whose requests this server answers.
    pub(crate) fn client(&self) -> Client {
        let server = self.clone();
        let answer = move |request| server.clone().answer(request);
        Client::new(tower::service_fn(answer), "default")
    }

    async fn answer(self, request: Request<kube::client::Body>) -> Result<Response<Body>, Infallible> {
        let (parts, body) = request.into_parts();
        let body = body.collect_bytes().await.unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let query = parts.uri.query().unwrap_or_default();
        let path = parts.uri.path();
        Ok(match parts.method {
            Method::GET if query.contains("watch=") => {
                Response::new(Body::from_stream(futures::stream::pending::<
                    Result<String, Infallible>,
                >()))
            }
            Method::GET => self.read(path),
            Method::POST => self.create(path, body, query.contains("dryRun=")),
            Method::PATCH => self.patch(path, body),
            _ => refusal(StatusCode::METHOD_NOT_ALLOWED, ""),
        })
    }

    /// Reads an object, or lists a kind in all namespaces.
    fn read(&self, path: &str) -> Response<Body> {
        let state = self.0.state.lock().unwrap();
        if let Some(object) = state.objects.get(path) {
            return found(object);
        }
        let segments = path
            .trim_start_matches("/api")
            .trim_start_matches('s')
            .split('/')
            .count();
        // /api/v1/<kind> and /apis/<group>/<version>/<kind> are lists.
        let is_list = !path.contains("/namespaces/") && (segments == 3 || segments == 4);
        if !is_list {
            return refusal(StatusCode::NOT_FOUND, path);
        }
        let (group, kind) = path.rsplit_once('/').unwrap();
        let of_kind = |other: &&String| other.starts_with(group) && other.rsplit('/').nth(1) == Some(kind);
        let items: Vec<&Value> = state
            .objects
            .iter()
            .filter(|(path, _)| of_kind(path))
            .map(|(_, object)| object)
            .collect();
        found(
            &json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items}),
        )
    }

    fn create(&self, path: &str, mut object: Value, dry: bool) -> Response<Body> {
        let path = format!(
            "{path}/{}",
            object["metadata"]["name"].as_str().unwrap_or_default()
        );
        let mut state = self.0.state.lock().unwrap();
        if state.objects.contains_key(&path) {
            return refusal(StatusCode::CONFLICT, &path);
        }
        if !dry && !path.contains("/events/") {
            state.sent.push(object.clone());
        }
        stamp(&mut object, &path);
        let answer = found(&object);
        if !dry {
            state.objects.insert(path, object);
        }
        self.0.changed.notify_waiters();
        answer
    }

    /// Merges a body into an object; nothing here removes a field.
    fn patch(&self, path: &str, body: Value) -> Response<Body> {
        let mut state = self.0.state.lock().unwrap();
        let of_status = path.strip_suffix("/status");
        let Some(object) = state.objects.get_mut(of_status.unwrap_or(path)) else {
            return refusal(StatusCode::NOT_FOUND, path);
        };
        merge(object, &body);
        let answer = found(object);
        if of_status.is_none() {
            state.sent.push(body);
        }
        answer
    }
}

fn merge(object: &mut Value, change: &Value) {
    match (object, change) {
        (Value::Object(object), Value::Object(change)) => {
            for (field, value) in change {
                merge(object.entry(field).or_insert(Value::Null), value);
            }
        }
        (object, change) => *object = change.clone(),
    }
}

/// Returns the path of an object.
fn path_of(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let version = text(&object["apiVersion"]);
    let root = if version.contains('/') { "/apis" } else { "/api" };
    let namespace = match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("/namespaces/{namespace}"),
        None => String::new(),
    };
    let kind = text(&object["kind"]).to_lowercase();
    let plural = if kind.ends_with('s') { "es" } else { "s" };
    format!(
        "{root}/{version}{namespace}/{kind}{plural}/{}",
        text(&object["metadata"]["name"])
    )
}

/// Sets what an API server sets.
fn stamp(object: &mut Value, path: &str) {
    let metadata = &mut object["metadata"];
    for (field, value) in [
        ("uid", path),
        ("resourceVersion", "1"),
        ("creationTimestamp", NOW),
    ] {
        if metadata[field].is_null() {
            metadata[field] = json!(value);
        }
    }
    metadata["generation"] = json!(1);
}

fn found(object: &Value) -> Response<Body> {
    Response::new(Body::from(object.to_string()))
}

fn refusal(code: StatusCode, path: &str) -> Response<Body> {
    let name = path.rsplit('/').next();
    let reason = if code == StatusCode::CONFLICT {
        "AlreadyExists"
    } else {
        "NotFound"
    };
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code.as_u16(),
        "reason": reason, "message": reason, "details": {"name": name}});
    Response::builder()
        .status(code)
        .body(Body::from(status.to_string()))
        .unwrap()
}
