//! The file that lists the nodes: a ConfigMap of the job, mounted into all of them.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;

use super::{port, processes};
use crate::api::names;
use crate::api::runtime::{CustomPolicy, HostList};
use crate::k8s::json as k8s_json;
use crate::k8s::json::list_mut;
use crate::k8s::problem::{Problem, Problems};
use crate::k8s::upsert;
use crate::plan::draft::Draft;
use crate::plan::files;
use crate::plan::node_groups::NodeGroup;
use crate::plan::owner;
use crate::plan::replicated_job::ReplicatedJobSpec;
use crate::plan::resolve::RUNTIME_REF;

/// Form of a line where the runtime does not say.
const DEFAULT_LINE: &str = "$(HOST)";
/// What a line may refer to.
pub(super) const VARIABLES: [&str; 4] = ["HOST", "PORT", "RANK", "NUM_PROC_PER_NODE"];
/// Returns the file, or `None` as soon as it is larger than a ConfigMap can be.
fn content(policy: &CustomPolicy, draft: &Draft<'_>, list: &HostList) -> Option<String> {
    let jobs = list.replicated_jobs.as_deref();
    let rjobs: Vec<_> = match jobs {
        Some(jobs) => jobs.iter().filter_map(|job| draft.rjob(job)).collect(),
        None => draft.rjobs.iter().filter(|rjob| rjob.trains()).collect(),
    };
    let hosts = rjobs.into_iter().flat_map(|rjob| {
        (0..rjob.replicas)
            .flat_map(move |replica| (0..rjob.count).map(move |pod| draft.host(rjob, replica, pod)))
    });
    let line = list.line.as_deref().unwrap_or(DEFAULT_LINE);
    let (port, processes) = (port(policy).to_string(), processes(policy, draft).to_string());
    files::bounded(hosts.enumerate().map(|(rank, host)| {
        line.replace("$(HOST)", &host)
            .replace("$(PORT)", &port)
            .replace("$(RANK)", &rank.to_string())
            .replace("$(NUM_PROC_PER_NODE)", &processes)
            + "\n"
    }))
}

/// Tells what in a Pod spec stands in the way of the file.
pub(super) fn clash(rjob: ReplicatedJobSpec<'_>, container: Option<&str>, list: &HostList) -> Option<String> {
    let volumes = k8s_json::list(rjob.pod(), &["volumes"]);
    if k8s_json::named(volumes, names::HOST_LIST_VOLUME).is_some() {
        return Some(format!(
            "has a volume {:?}, the name of the host list's own; rename it",
            names::HOST_LIST_VOLUME
        ));
    }
    let container = rjob.container(container?)?;
    let mut mounts = k8s_json::list(container, &["volumeMounts"]).iter();
    let taken = mounts.any(|mount| k8s_json::text(mount, &["mountPath"]) == Some(list.path.as_str()));
    taken.then(|| format!("mounts something at {:?} already; use another path", list.path))
}

/// Checks what patches have added, and the size.
pub(super) fn check(policy: &CustomPolicy, draft: &Draft<'_>, groups: &[NodeGroup], problems: &mut Problems) {
    let Some(list) = &policy.host_list else { return };
    for group in groups {
        let spec = draft.spec(group.rjob.index);
        let container = group.container.as_deref();
        let was = clash(draft.runtime_spec(&group.rjob), container, list);
        if let Some(what) = clash(spec, container, list).filter(|_| was.is_none()) {
            let message = format!("replicated job {:?} {what}", group.rjob.name);
            problems.push(Problem::invalid("spec.runtimePatches", message));
        }
    }
    if content(policy, draft, list).is_none() {
        let message = format!(
            "the host list of the runtime's mlPolicy.custom.hostList would be larger than the {} bytes that a ConfigMap \
             can hold; use fewer nodes or a shorter line",
            files::LARGEST
        );
        problems.push(Problem::invalid(RUNTIME_REF, message));
    }
}

/// Makes the file and mounts it into the nodes.
pub(super) fn mount(policy: &CustomPolicy, draft: &mut Draft<'_>, groups: &[NodeGroup]) {
    let Some(list) = &policy.host_list else { return };
    let name = format!("{}{}", draft.job_name(), names::HOST_LIST_SUFFIX);
    let volume = json!({"name": names::HOST_LIST_VOLUME, "configMap": {"name": name}});
    let mount = json!({
        "name": names::HOST_LIST_VOLUME,
        "mountPath": list.path,
        "subPath": names::HOST_LIST_KEY,
        "readOnly": true,
    });
    for group in groups {
        let Some(container) = group.container.as_deref() else {
            continue;
        };
        if let Some(spec) = draft.pod_spec_mut(group.rjob.index) {
            upsert::by_key(list_mut(spec, "volumes"), "name", volume.clone());
        }
        if let Some(container) = draft.container_mut(group.rjob.index, container) {
            upsert::by_key(list_mut(container, "volumeMounts"), "mountPath", mount.clone());
        }
    }
    draft.because(format!("volumes[{}]", names::HOST_LIST_VOLUME), || {
        "the file of mlPolicy.custom.hostList".to_owned()
    });
    let Some(data) = content(policy, draft, list) else {
        return;
    };
    draft.config_maps.push(ConfigMap {
        metadata: owner::owned(draft.job, name),
        data: Some(BTreeMap::from([(names::HOST_LIST_KEY.to_owned(), data)])),
        ..ConfigMap::default()
    });
}
