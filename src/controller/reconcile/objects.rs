//! The objects beside the JobSet: Secrets, ConfigMaps, and what gang schedulers read.
//!
//! Client. Secrets are created and never read: the program needs no right to see any. The others are created, and
//! brought up to date while the job is suspended; one that belongs to someone else is left alone.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DynamicObject, Patch, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Resource};
use serde_json::{Map, Value, json};

use super::fetch::{COLLECTED_WITHIN, Fetched, snapshot};
use super::keys;
use crate::controller::client::write;
use crate::controller::context::Context;
use crate::controller::error::{Class, Doing, Error, kind_missing};
use crate::controller::events::Note;
use crate::k8s::diff::{self, Change, Difference, Unkeyed};
use crate::k8s::json as k8s_json;
use crate::plan::{NewSecret, Served};

/// Creates a Secret unless it is there.
///
/// We cannot read Secrets, so we cannot tell who owns an existing one. It is this job's if the job has its snapshot, since
/// that is made later. Before, it is most likely one of an older job of the same name, which goes with that; one that stays
/// was made by this program just before it was stopped, or by the job's author.
pub(crate) async fn create_secret(
    ctx: &Context,
    fetched: &Fetched<'_>,
    secret: &NewSecret,
) -> Result<(), Error> {
    let name = secret.metadata.name.as_deref().unwrap_or_default();
    let doing = || format!("create Secret {name}");
    let content =
        keys::content(secret.recipe, &fetched.key.name).map_err(|e| Error::Internal(e.to_string()))?;
    let object = Secret {
        metadata: secret.metadata.clone(),
        type_: secret.recipe.secret_type().map(str::to_owned),
        immutable: Some(true),
        data: Some(bytes(content)),
        ..Secret::default()
    };
    match ctx
        .api::<Secret>(fetched.key)
        .create(&write::post(), &object)
        .await
        .doing(doing)
    {
        Err(error) if error.class() != Class::Conflict => Err(error),
        Err(_) if fetched.age() <= COLLECTED_WITHIN && !snapshot_is_ours(ctx, fetched).await? => {
            Err(Error::Predecessor {
                kind: "Secret".to_owned(),
                name: name.to_owned(),
            })
        }
        _ => Ok(()),
    }
}

async fn snapshot_is_ours(ctx: &Context, fetched: &Fetched<'_>) -> Result<bool, Error> {
    let found = snapshot(ctx, fetched.key).await?;
    Ok(found.is_some_and(|snapshot| fetched.job.controls(&snapshot.metadata)))
}

fn bytes(content: BTreeMap<&'static str, String>) -> BTreeMap<String, ByteString> {
    let entry = |(key, text): (&str, String)| (key.to_owned(), ByteString(text.into_bytes()));
    content.into_iter().map(entry).collect()
}

/// Creates an object, or brings the one that is there up to date.
pub(crate) async fn ensure(
    ctx: &Context,
    fetched: &Fetched<'_>,
    object: Value,
    served: Served,
) -> Result<(), Error> {
    let object = Wanted::new(ctx, fetched, object, served);
    // While there is no JobSet, the object is most likely not there either.
    if fetched.jobset().is_none() {
        match object.create().await {
            Err(error) if error.class() == Class::Conflict => {}
            created => return created,
        }
    }
    match object.get().await? {
        None => object.create().await,
        Some(existing) if !fetched.job.controls(existing.meta()) => {
            Err(fetched.not_ours(&object.kind, &object.name, existing.meta()))
        }
        Some(existing) => object.update(ctx, fetched, &json!(existing)).await,
    }
}

/// Maps that hold nothing but what is wanted: what else is in them goes.
const WHOLE: [&[&str]; 2] = [&["data"], &["spec", "minResources"]];

/// An object as it should be, and where it belongs.
struct Wanted {
    api: Api<DynamicObject>,
    api_version: String,
    kind: String,
    name: String,
    object: Value,
    served: Served,
}

impl Wanted {
    fn new(ctx: &Context, fetched: &Fetched<'_>, object: Value, served: Served) -> Self {
        let text = |path: &[&str]| k8s_json::text(&object, path).unwrap_or_default().to_owned();
        let (api_version, kind, name) = (
            text(&["apiVersion"]),
            text(&["kind"]),
            text(&["metadata", "name"]),
        );
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &kind));
        let namespace = fetched.key.namespace.as_deref().unwrap_or_default();
        Self {
            api: Api::namespaced_with(ctx.client.clone(), namespace, &resource),
            api_version,
            kind,
            name,
            object,
            served,
        }
    }

    async fn get(&self) -> Result<Option<DynamicObject>, Error> {
        self.api
            .get_opt(&self.name)
            .await
            .map_err(|e| self.failed("get", e))
    }

    /// Creates the object. Where features of the API server decide what it keeps of it, that is found out first: half
    /// an object would promise what nobody holds.
    async fn create(&self) -> Result<(), Error> {
        let typed: DynamicObject =
            serde_json::from_value(self.object.clone()).map_err(|e| Error::Internal(e.to_string()))?;
        if let Served::Gated { .. } = self.served {
            let dry = PostParams {
                dry_run: true,
                ..write::post()
            };
            let answer = self
                .api
                .create(&dry, &typed)
                .await
                .map_err(|e| self.failed("create", e))?;
            self.kept_whole(&json!(answer))?;
        }
        let created = self.api.create(&write::post(), &typed).await;
        created.map(|_| ()).map_err(|e| self.failed("create", e))
    }

    fn kept_whole(&self, answer: &Value) -> Result<(), Error> {
        let differences = diff::differences(answer, &self.object, Unkeyed::ByIndex);
        let dropped = differences.into_iter().find(|found| {
            found.change.is_material() && matches!(found.change, Change::Set { old: None, .. })
        });
        match dropped {
            None => Ok(()),
            Some(Difference { path: field, .. }) => Err(Error::Dropped {
                kind: self.kind.clone(),
                name: self.name.clone(),
                field,
            }),
        }
    }

    /// Sends what differs, if anything does. An Event reports what cannot change any more; the job goes on.
    async fn update(&self, ctx: &Context, fetched: &Fetched<'_>, existing: &Value) -> Result<(), Error> {
        let Some(change) = change(existing, &self.object) else {
            return Ok(());
        };
        let patched = self
            .api
            .patch(&self.name, &write::patch(), &Patch::Merge(&change))
            .await;
        match patched {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 422 => {
                ctx.events
                    .send(Note::kept(fetched.job, &self.kind, &status.message));
                Ok(())
            }
            Err(error) => Err(self.failed("patch", error)),
        }
    }

    fn failed(&self, verb: &str, error: kube::Error) -> Error {
        if kind_missing(&error) {
            return Error::KindMissing {
                kind: self.kind.clone(),
                api_version: self.api_version.clone(),
                served: self.served,
            };
        }
        Error::Api {
            doing: format!("{verb} {} {}", self.kind, self.name),
            source: Box::new(error),
        }
    }
}

/// Returns the merge patch from existing to desired; `None` if they are equal.
fn change(existing: &Value, wanted: &Value) -> Option<Value> {
    let mut change = wanted.clone();
    let mut surplus = false;
    for path in WHOLE {
        let old = k8s_json::at(existing, path).and_then(Value::as_object);
        let new = k8s_json::at(wanted, path);
        let keys = old.into_iter().flat_map(Map::keys);
        for key in keys.filter(|key| new.is_none_or(|new| new.get(*key).is_none())) {
            surplus = true;
            k8s_json::object_mut(&mut change, path).insert(key.clone(), Value::Null);
        }
    }
    let differs = diff::differences(existing, wanted, Unkeyed::ByIndex)
        .iter()
        .any(|found| found.change.is_material());
    if !surplus && !differs {
        return None;
    }
    // No other object of this name is meant.
    let uid = k8s_json::at(existing, &["metadata", "uid"]).cloned();
    k8s_json::object_mut(&mut change, &["metadata"]).insert("uid".to_owned(), uid.unwrap_or_default());
    Some(change)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_written_and_what_is_no_longer_counted_goes() {
        let object = |resources: Value| json!({"metadata": {"name": "a", "uid": "1"}, "spec": {"minMember": 2, "minResources": resources}});
        let wanted = |resources: Value| json!({"metadata": {"name": "a"}, "spec": {"minMember": 2, "minResources": resources}});
        let mut existing = object(json!({"cpu": "4", "memory": "2Gi"}));
        existing["spec"]["queue"] = json!("default");
        existing["status"] = json!({"phase": "Pending"});
        assert_eq!(
            change(&existing, &wanted(json!({"cpu": "4", "memory": "2Gi"}))),
            None
        );
        let less = change(&existing, &wanted(json!({"cpu": "4"}))).unwrap();
        assert_eq!(less["spec"]["minResources"], json!({"cpu": "4", "memory": null}));
        assert_eq!(less["metadata"]["uid"], "1");
        assert!(less.get("status").is_none() && less["spec"].get("queue").is_none());
        let more = change(&existing, &wanted(json!({"cpu": "6", "memory": "2Gi"}))).unwrap();
        assert_eq!(more["spec"]["minResources"]["cpu"], "6");
    }
}
