//! A proxy before the API server that makes chosen requests fail, on loopback.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Response, StatusCode, header};
use kube::Client;
use tokio::net::TcpListener;
use tokio::sync::broadcast;

/// Requests that fail.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) method: &'static str,
    /// A part of the path.
    pub(crate) path: &'static str,
    pub(crate) code: u16,
    pub(crate) times: usize,
}

/// The proxy.
pub(crate) struct Faults {
    pub(crate) address: String,
    shared: Arc<Shared>,
}

struct Shared {
    client: Client,
    faults: Mutex<Vec<Fault>>,
    cut: broadcast::Sender<()>,
}

impl Faults {
    /// Starts a proxy; requests go on with the rights of `client`.
    pub(crate) async fn before(client: Client) -> Self {
        let shared = Arc::new(Shared {
            client,
            faults: Mutex::default(),
            cut: broadcast::channel(1).0,
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let routes = Router::new().fallback(pass).with_state(shared.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Self { address, shared }
    }

    pub(crate) fn add(&self, fault: Fault) {
        self.shared.faults.lock().unwrap().push(fault);
    }

    /// How many requests are still to fail.
    pub(crate) fn left(&self) -> usize {
        self.shared.faults.lock().unwrap().iter().map(|f| f.times).sum()
    }

    /// Ends all answers that are under way, watches above all.
    pub(crate) async fn cut(&self) {
        // Without a receiver there is none.
        let _ = self.shared.cut.send(());
        tokio::task::yield_now().await;
    }
}

async fn pass(State(shared): State<Arc<Shared>>, request: Request) -> Response<Body> {
    if let Some(code) = fault(&shared, &request) {
        let status = serde_json::json!({
            "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
            "reason": "Injected", "message": "made to fail by a test",
        });
        return Response::builder()
            .status(StatusCode::from_u16(code).unwrap())
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(status.to_string()))
            .unwrap();
    }
    let (mut parts, body) = request.into_parts();
    // The client brings its own credentials and address.
    parts.headers.remove(header::AUTHORIZATION);
    parts.headers.remove(header::HOST);
    let body = axum::body::to_bytes(body, 8 << 20).await.unwrap();
    let uri = parts.uri.path_and_query().unwrap().to_string();
    let mut onward = axum::http::Request::builder().method(parts.method).uri(uri);
    *onward.headers_mut().unwrap() = parts.headers;
    match shared
        .client
        .send(onward.body(kube::client::Body::from(body.to_vec())).unwrap())
        .await
    {
        Ok(answer) => {
            let mut cut = shared.cut.subscribe();
            let (parts, body) = answer.into_parts();
            let data = futures::StreamExt::take_until(Body::new(body).into_data_stream(), async move {
                let _ = cut.recv().await;
            });
            Response::from_parts(parts, Body::from_stream(data))
        }
        Err(error) => Response::builder()
            .status(StatusCode::BAD_GATEWAY)
            .body(Body::from(error.to_string()))
            .unwrap(),
    }
}

/// Takes the first fault that fits.
fn fault(shared: &Shared, request: &Request) -> Option<u16> {
    let mut faults = shared.faults.lock().unwrap();
    let fits =
        |f: &&mut Fault| f.times > 0 && request.method() == f.method && request.uri().path().contains(f.path);
    let fault = faults.iter_mut().find(fits)?;
    fault.times -= 1;
    Some(fault.code)
}
