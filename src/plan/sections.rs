//! The sections of a TrainJob that override containers: `spec.initializer` and `spec.trainer`.

use serde_json::{Map, Value, json};

use super::draft::Draft;
use super::env;
use super::framework::{Framework, Part, takers};
use super::replicated_job::Section;
use crate::api::names;
use crate::api::raw::Raw;
use crate::api::trainjob::InitializerSource;
use crate::k8s::json::list_mut;

/// Applies `spec.initializer` to the containers of the initializers.
pub(super) fn initializer(draft: &mut Draft<'_>) {
    let Some(section) = &draft.job.spec.initializer else {
        return;
    };
    let parts = [
        (Section::DatasetInitializer, &section.dataset),
        (Section::ModelInitializer, &section.model),
    ];
    for (part, source) in parts {
        let Some(source) = source else {
            continue;
        };
        for index in draft.indexes(part) {
            if let Some(container) = draft.container_mut(index, part.container()) {
                fetch_from(container, source);
            }
        }
    }
}

fn fetch_from(container: &mut Map<String, Value>, source: &InitializerSource) {
    if let Some(uri) = &source.storage_uri {
        env::upsert(container, &[env::value(names::STORAGE_URI, uri)]);
    }
    if let Some(entries) = source.env.as_deref().filter(|entries| !entries.is_empty()) {
        env::upsert(container, entries.iter().map(Raw::value));
    }
    if let Some(secret) = &source.secret_ref {
        list_mut(container, "envFrom").push(json!({"secretRef": secret}));
    }
}

/// Applies image, command and arguments of `spec.trainer` to the containers that take them; an empty list is a value.
pub(super) fn program(draft: &mut Draft<'_>, framework: &dyn Framework) {
    let Some(section) = &draft.job.spec.trainer else {
        return;
    };
    if let Some(image) = &section.image {
        for index in takers(draft, framework, Part::Image) {
            if let Some(container) = draft.container_mut(index, names::NODE) {
                container.insert("image".to_owned(), json!(image));
            }
        }
    }
    for index in takers(draft, framework, Part::Command) {
        if let Some(container) = draft.container_mut(index, names::NODE) {
            set_or_clear(container, "command", section.command.as_deref());
            set_or_clear(container, "args", section.args.as_deref());
        }
    }
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

/// Applies `spec.trainer.env` to the containers that take it.
pub(super) fn trainer_env(draft: &mut Draft<'_>, framework: &dyn Framework) {
    let entries = draft.job.trainer_env();
    if entries.is_empty() {
        return;
    }
    for index in takers(draft, framework, Part::Env) {
        if let Some(container) = draft.container_mut(index, names::NODE) {
            env::upsert(container, entries.iter().map(Raw::value));
        }
    }
}
