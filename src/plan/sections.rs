//! The sections of a TrainJob that override containers: `spec.initializer` and `spec.trainer`.

use serde_json::{Map, Value, json};

use super::draft::{Draft, Role};
use crate::api::names;
use crate::api::raw::Raw;
use crate::api::trainjob::InitializerSource;
use crate::k8s::json::list_mut;
use crate::k8s::upsert;

/// Puts environment entries into a container, each in the place of the one with its name, else at the end.
pub(super) fn upsert_env<'e>(container: &mut Map<String, Value>, env: impl IntoIterator<Item = &'e Value>) {
    let list = list_mut(container, "env");
    for entry in env {
        upsert::by_key(list, "name", entry.clone());
    }
}

/// Applies `spec.initializer` to the containers of the initializers.
pub(super) fn initializer(draft: &mut Draft<'_>) {
    let Some(section) = &draft.job.spec.initializer else {
        return;
    };
    let parts = [
        (Role::DatasetInitializer, &section.dataset),
        (Role::ModelInitializer, &section.model),
    ];
    for (role, source) in parts {
        let (Some(source), Some(name)) = (source, role.container()) else {
            continue;
        };
        for index in draft.indexes(role) {
            if let Some(container) = draft.container_mut(index, name) {
                fetch_from(container, source);
            }
        }
    }
}

fn fetch_from(container: &mut Map<String, Value>, source: &InitializerSource) {
    if let Some(uri) = &source.storage_uri {
        let entry = json!({"name": names::STORAGE_URI, "value": uri});
        upsert::by_key(list_mut(container, "env"), "name", entry);
    }
    if let Some(env) = source.env.as_deref().filter(|env| !env.is_empty()) {
        upsert_env(container, env.iter().map(Raw::value));
    }
    if let Some(secret) = &source.secret_ref {
        list_mut(container, "envFrom").push(json!({"secretRef": secret}));
    }
}

/// Applies image, command and arguments of `spec.trainer` to the training containers; an empty list is a value.
pub(super) fn trainer(draft: &mut Draft<'_>) {
    let Some(section) = &draft.job.spec.trainer else {
        return;
    };
    for index in draft.indexes(Role::Trainer) {
        let Some(container) = draft.container_mut(index, names::NODE) else {
            continue;
        };
        if let Some(image) = &section.image {
            container.insert("image".to_owned(), json!(image));
        }
        set_or_clear(container, "command", section.command.as_deref());
        set_or_clear(container, "args", section.args.as_deref());
    }
    trainer_env(draft);
}

/// Replaces a list where the section has one; an empty one takes the runtime's away.
fn set_or_clear(container: &mut Map<String, Value>, key: &str, list: Option<&[String]>) {
    match list {
        None => {}
        Some([]) => {
            container.shift_remove(key);
        }
        Some(list) => {
            container.insert(key.to_owned(), json!(list));
        }
    }
}

/// Applies `spec.trainer.env` to the training containers.
pub(super) fn trainer_env(draft: &mut Draft<'_>) {
    let env = draft.job.trainer_env();
    if env.is_empty() {
        return;
    }
    for index in draft.indexes(Role::Trainer) {
        if let Some(container) = draft.container_mut(index, names::NODE) {
            upsert_env(container, env.iter().map(Raw::value));
        }
    }
}
