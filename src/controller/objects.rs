//! The objects beside the JobSet: Secrets, ConfigMaps, and what gang schedulers read.
//!
//! Client. Secrets are created and never read: the program needs no right to see any. The others are created, and
//! brought up to date while the job is suspended; one that belongs to someone else is left alone.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DynamicObject, Patch};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Resource};
use serde_json::{Value, json};

use super::apply::{patch_params, post};
use super::context::Context;
use super::error::{Class, Doing, Error, kind_missing};
use super::fetch::Fetched;
use super::keys;
use crate::k8s::json as k8s_json;
use crate::plan::NewSecret;

/// How long a Secret of the wanted name may still be one of an older job that is about to be collected.
const COLLECTED_WITHIN: Duration = Duration::from_secs(60);

/// Creates a Secret unless it is there.
///
/// Whose one is that exists cannot be seen. Once this job has its snapshot (`started`) it is this job's. Before, it is
/// most likely one of an older job of the same name, which goes with that; one that stays was made by this program just
/// before it was stopped, or by the job's author.
pub(super) async fn create_secret(
    ctx: &Context,
    fetched: &Fetched<'_>,
    secret: &NewSecret,
    started: bool,
) -> Result<(), Error> {
    let name = secret.metadata.name.as_deref().unwrap_or_default();
    let doing = || format!("create Secret {name}");
    let content =
        keys::content(secret.recipe, &fetched.key.name).map_err(|e| Error::Panicked(e.to_string()))?;
    let object = Secret {
        metadata: secret.metadata.clone(),
        type_: secret.recipe.secret_type().map(str::to_owned),
        immutable: Some(true),
        data: Some(bytes(content)),
        ..Secret::default()
    };
    match ctx
        .api::<Secret>(fetched.key)
        .create(&post(), &object)
        .await
        .doing(doing)
    {
        Ok(_) => Ok(()),
        Err(error) if error.class() == Class::Conflict && (started || fetched.age() > COLLECTED_WITHIN) => {
            Ok(())
        }
        Err(error) if error.class() == Class::Conflict => Err(Error::Foreign {
            kind: "Secret".to_owned(),
            name: name.to_owned(),
        }),
        Err(error) => Err(error),
    }
}

fn bytes(content: BTreeMap<&'static str, String>) -> BTreeMap<String, ByteString> {
    let entry = |(key, text): (&str, String)| (key.to_owned(), ByteString(text.into_bytes()));
    content.into_iter().map(entry).collect()
}

/// Creates an object, or brings the one that is there up to date.
pub(super) async fn ensure(ctx: &Context, fetched: &Fetched<'_>, object: Value) -> Result<(), Error> {
    let text = |path: &[&str]| k8s_json::text(&object, path).unwrap_or_default().to_owned();
    let (api_version, kind, name) = (
        text(&["apiVersion"]),
        text(&["kind"]),
        text(&["metadata", "name"]),
    );
    let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &kind));
    let namespace = fetched.key.namespace.as_deref().unwrap_or_default();
    let api = Api::<DynamicObject>::namespaced_with(ctx.client.clone(), namespace, &resource);
    let doing = |verb: &str| format!("{verb} {kind} {name}");
    let missing = |error: kube::Error| {
        if kind_missing(&error) {
            Error::KindMissing {
                kind: kind.clone(),
                api_version: api_version.clone(),
            }
        } else {
            Error::Api {
                doing: doing("create or read"),
                source: Box::new(error),
            }
        }
    };

    // While there is no JobSet, the object is most likely not there either.
    if fetched.jobset().is_none() {
        let created = match serde_json::from_value(object.clone()) {
            Ok(typed) => api.create(&post(), &typed).await.map_err(missing),
            Err(error) => return Err(Error::Panicked(error.to_string())),
        };
        match created {
            Ok(_) => return Ok(()),
            Err(error) if error.class() == Class::Conflict => {}
            Err(error) => return Err(error),
        }
    }
    match api.get_opt(&name).await.map_err(missing)? {
        Some(existing) if !fetched.job.controls(existing.meta()) => {
            return Err(Error::Foreign { kind, name });
        }
        Some(existing) if k8s_json::covers(&json!(existing), &object) => {
            return Ok(());
        }
        _ => {}
    }
    api.patch(&name, &patch_params().force(), &Patch::Apply(&object))
        .await
        .map(|_| ())
        .doing(|| doing("apply"))
}
