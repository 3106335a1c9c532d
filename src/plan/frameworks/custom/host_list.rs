//! The file that lists the nodes: a ConfigMap of the job, mounted into all of them.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;

use super::policy::{port, processes};
use crate::api::runtime::{CustomPolicy, HostList};
use crate::k8s::json as k8s_json;
use crate::k8s::problem::{Problem, Problems};
use crate::plan::draft::Draft;
use crate::plan::injection::{ContainerInjection, Injection, Mount, PodInjection};
use crate::plan::node_groups::NodeGroup;
use crate::plan::replicated_job::ReplicatedJobSpec;
use crate::plan::resolve::RUNTIME_REF;
use crate::plan::{files, ownership};

/// Suffix of the ConfigMap.
const SUFFIX: &str = "-host-list";
/// Volume of the ConfigMap.
const VOLUME: &str = "host-list";
/// Key of the file.
const KEY: &str = "hosts";
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
    let hosts = rjobs.into_iter().flat_map(|rjob| draft.hosts(rjob));
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

/// Says what in a replicated job takes the place of the file.
pub(super) fn clash(rjob: ReplicatedJobSpec<'_>, container: Option<&str>, list: &HostList) -> Option<String> {
    let volumes = k8s_json::list(rjob.pod(), &["volumes"]);
    if k8s_json::named(volumes, VOLUME).is_some() {
        return Some(format!(
            "has a volume {VOLUME:?}, the name of the host list's own; rename it"
        ));
    }
    let container = rjob.container(container?)?;
    let mut mounts = k8s_json::list(container, &["volumeMounts"]).iter();
    let taken = mounts.any(|mount| k8s_json::text(mount, &["mountPath"]) == Some(list.path.as_str()));
    taken.then(|| format!("mounts something at {:?} already; use another path", list.path))
}

/// Mounts the file into the nodes, or refuses more nodes than it can list.
pub(super) fn inject(
    policy: &CustomPolicy,
    draft: &Draft<'_>,
    list: &HostList,
    groups: &[NodeGroup],
) -> Result<Injection, Problems> {
    let name = format!("{}{SUFFIX}", draft.job_name());
    let content = content(policy, draft, list).ok_or_else(too_large)?;
    let mut injection = Injection {
        config_maps: vec![ConfigMap {
            metadata: ownership::owned(draft.job, name.clone()),
            data: Some(BTreeMap::from([(KEY.to_owned(), content)])),
            ..ConfigMap::default()
        }],
        ..Injection::default()
    };
    for group in groups {
        // The rules of the runtime refuse what takes its place there; what patches add is found with all injections.
        let program = k8s_json::name(draft.container(group.container));
        if clash(draft.runtime_spec(group.rjob.index), program, list).is_some() {
            continue;
        }
        let volume = json!({"name": VOLUME, "configMap": {"name": name}});
        let pod = PodInjection {
            volumes: vec![(volume, "the file of mlPolicy.custom.hostList")],
            ..PodInjection::default()
        };
        let mount = Mount {
            sub_path: Some(KEY),
            read_only: true,
            ..Mount::volume(VOLUME, &list.path)
        };
        let container = ContainerInjection {
            mounts: vec![mount],
            ..ContainerInjection::default()
        };
        injection.pods.push((group.rjob.index, pod));
        injection.containers.push((group.container, container));
    }
    Ok(injection)
}

fn too_large() -> Problem {
    let message = format!(
        "the host list of the runtime's mlPolicy.custom.hostList would be larger than the {} bytes that a ConfigMap can \
         hold; use fewer nodes or a shorter line",
        files::LARGEST
    );
    Problem::invalid(RUNTIME_REF, message)
}
