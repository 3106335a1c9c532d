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
        let Some(source) = source else { continue };
        for container in draft.overridden(part) {
            fetch_from(draft.container_mut(container), source);
        }
    }
}

fn fetch_from(container: &mut Map<String, Value>, source: &InitializerSource) {
    let uri = source.storage_uri.as_ref();
    env::upsert(
        container,
        uri.map(|uri| json!({"name": names::STORAGE_URI, "value": uri})),
    );
    let entries = source.env.iter().flatten();
    env::upsert(container, entries.map(|entry| entry.value().clone()));
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
        for container in takers(draft, framework, Part::Image) {
            draft
                .container_mut(container)
                .insert("image".to_owned(), json!(image));
        }
    }
    for container in takers(draft, framework, Part::Command) {
        let container = draft.container_mut(container);
        set_or_clear(container, "command", section.command.as_deref());
        set_or_clear(container, "args", section.args.as_deref());
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
    for container in takers(draft, framework, Part::Env) {
        let entries = entries.iter().map(Raw::value);
        env::upsert(draft.container_mut(container), entries.cloned());
    }
}
