//! How objects are written: always under our field manager.

use std::fmt::Debug;

use http::Request;
use http::header::CONTENT_TYPE;
use k8s_openapi::NamespaceResourceScope;
use kube::api::{PatchParams, PostParams};
use kube::{Client, Resource};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::api::names;
use crate::controller::key::Key;

/// Returns the parameters of a creation.
pub(crate) fn post() -> PostParams {
    PostParams {
        field_manager: Some(names::FIELD_MANAGER.to_owned()),
        ..PostParams::default()
    }
}

/// Returns the parameters of a patch.
pub(crate) fn patch() -> PatchParams {
    PatchParams {
        field_manager: Some(names::FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    }
}

/// Creates an object of a namespace, every field of which the API server must know. The client library's own way drops
/// fields that the stored schema does not have.
pub(crate) async fn create_strictly<K>(client: &Client, key: &Key, object: &Value) -> Result<K, kube::Error>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
{
    let body = serde_json::to_vec(object).map_err(kube::Error::SerdeError)?;
    let path = K::url_path(&(), key.namespace.as_deref());
    let request = Request::post(format!(
        "{path}?fieldManager={}&fieldValidation=Strict",
        names::FIELD_MANAGER
    ))
    .header(CONTENT_TYPE, "application/json")
    .body(body)
    .map_err(|error| kube::Error::BuildRequest(kube::core::request::Error::BuildRequest(error)))?;
    client.request(request).await
}
