//! The client of the API server: where it comes from, how fast it may go, and what it counts.
//!
//! Client. Requests are never repeated here: a failed one ends its reconcile, which is tried again later and then
//! holds no worker meanwhile.

pub(crate) mod throttle;
pub(crate) mod write;

use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Method, Request, Response};
use kube::client::{Body, ClientBuilder};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tower::util::option_layer;
use tower::{Layer, Service};

use crate::controller::metrics::{Metrics, RequestLabels};
use throttle::Throttle;

/// Connects to the cluster that `kubeconfig` names, else to the one that `$KUBECONFIG`, `~/.kube/config` or the
/// pod's service account name.
pub(crate) async fn connect(
    kubeconfig: Option<&Path>,
    throttle: Option<Throttle>,
    metrics: &Metrics,
) -> Result<Client, kube::Error> {
    let mut config = match kubeconfig {
        Some(path) => {
            let file = Kubeconfig::read_from(path)?;
            Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?
        }
        None => Config::infer().await.map_err(kube::Error::InferConfig)?,
    };
    config.default_retry = false;
    let count = Count(metrics.clone());
    Ok(ClientBuilder::try_from(config)?
        .with_layer(&count)
        .with_layer(&option_layer(throttle))
        .build())
}

/// Counts requests by verb, resource and answer.
#[derive(Clone)]
struct Count(Metrics);

impl<S> Layer<S> for Count {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Counted<S> {
        Counted {
            inner,
            metrics: self.0.clone(),
        }
    }
}

struct Counted<S> {
    inner: S,
    metrics: Metrics,
}

impl<S, B> Service<Request<Body>> for Counted<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: 'static,
    B: 'static,
{
    type Response = Response<B>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<B>, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (verb, resource) = verb_and_resource(request.method(), request.uri());
        let metrics = self.metrics.clone();
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            let code = answer
                .as_ref()
                .map_or_else(|_| "error".to_owned(), |a| a.status().as_u16().to_string());
            metrics.requested(&RequestLabels { verb, resource, code });
            answer
        })
    }
}

/// Names a request as access rules do: the verb, and the resource with its subresource.
fn verb_and_resource(method: &Method, uri: &http::Uri) -> (&'static str, String) {
    let path: Vec<&str> = uri.path().split('/').filter(|s| !s.is_empty()).collect();
    let rest = match path.as_slice() {
        ["api", _, rest @ ..] | ["apis", _, _, rest @ ..] => rest,
        other => return ("get", format!("/{}", other.join("/"))),
    };
    let (resource, named) = match rest {
        ["namespaces", _, resource, name @ ..] | [resource, name @ ..] => match name {
            [_, sub, ..] => (format!("{resource}/{sub}"), true),
            [_] => ((*resource).to_owned(), true),
            [] => ((*resource).to_owned(), false),
        },
        [] => (String::new(), false),
    };
    let watches = uri
        .query()
        .is_some_and(|q| q.split('&').any(|p| p == "watch=true"));
    let verb = match *method {
        Method::POST => "create",
        Method::PATCH => "patch",
        Method::PUT => "update",
        Method::DELETE if named => "delete",
        Method::DELETE => "deletecollection",
        _ if watches => "watch",
        _ if named => "get",
        _ => "list",
    };
    (verb, resource)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_named_as_access_rules_name_them() {
        let name = |method: Method, uri: &str| {
            let (verb, resource) = verb_and_resource(&method, &uri.parse().unwrap());
            format!("{verb} {resource}")
        };
        let group = "/apis/trainer.kubeflow.org/v1alpha1";
        assert_eq!(
            name(Method::GET, &format!("{group}/trainjobs?watch=true&limit=5")),
            "watch trainjobs"
        );
        assert_eq!(
            name(Method::GET, &format!("{group}/trainjobs?limit=500")),
            "list trainjobs"
        );
        assert_eq!(
            name(
                Method::PATCH,
                &format!("{group}/namespaces/ml/trainjobs/a/status?fieldManager=trainer")
            ),
            "patch trainjobs/status"
        );
        assert_eq!(
            name(Method::GET, "/api/v1/namespaces/ml/configmaps/a"),
            "get configmaps"
        );
        assert_eq!(
            name(Method::POST, "/api/v1/namespaces/ml/events"),
            "create events"
        );
        assert_eq!(
            name(Method::GET, &format!("{group}/clustertrainingruntimes/torch")),
            "get clustertrainingruntimes"
        );
    }
}
