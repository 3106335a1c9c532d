//! Any other framework: its processes are told of each other in the words of whoever wrote the runtime.
//!
//! Each node gets variables of fixed names, and behind them those of the runtime, which refer to them as Kubernetes has
//! it, `$(NAME)`; so there is no template language of our own. The rank of a node is only known to its own pod, and the
//! kubelet puts it in.

mod host_list;
mod names;
mod policy;
mod rules;
mod variables;

use crate::api::raw::Raw;
use crate::api::runtime::CustomPolicy;
use crate::k8s::json as k8s_json;
use crate::k8s::problem::Problems;
use crate::plan::draft::{Draft, ReplicatedJob};
use crate::plan::framework::Framework;
use crate::plan::injection::{CheckedInjection, Injection};
use crate::plan::inputs::Runtime;
use crate::plan::node_groups::{self, NodeGroup};
use crate::plan::nodes::Nodes;
use policy::{ports, role};

/// Name of the policy.
const NAME: &str = "custom";

impl Framework for CustomPolicy {
    fn name(&self) -> &'static str {
        NAME
    }

    fn reserves(&self, name: &str) -> bool {
        let is_named = |env: &[_]| {
            env.iter()
                .any(|entry: &Raw<_>| k8s_json::name(entry.value()) == Some(name))
        };
        let of_roles = self.roles.iter().flatten().filter_map(|role| role.env.as_deref());
        name.starts_with(names::PREFIX) || self.env.as_deref().into_iter().chain(of_roles).any(is_named)
    }

    fn takes_processes(&self) -> bool {
        true
    }

    fn is_node(&self, _draft: &Draft<'_>, rjob: &ReplicatedJob) -> bool {
        rjob.trains() || role(self, &rjob.name).is_some()
    }

    fn check_runtime(&self, runtime: &Runtime, found: &mut Problems) {
        rules::check(runtime, self, found);
    }

    fn injection(&self, draft: &Draft<'_>) -> Result<CheckedInjection, Problems> {
        let mut problems = Nodes::find(draft, NAME).err().unwrap_or_default();
        let groups = groups(self, draft, &mut problems);
        let host_list = self.host_list.as_ref();
        let files = host_list.map(|list| host_list::inject(self, draft, list, &groups));
        let files = problems.collect(files.transpose()).flatten();
        let containers = groups.iter().map(|group| {
            let env = variables::of(self, draft, &groups, group, &mut problems);
            group.injection(env, ports(self, group))
        });
        let mut injection = Injection {
            containers: containers.collect(),
            ..Injection::default()
        };
        injection.extend(files.unwrap_or_default());
        injection.check(draft, self.name(), problems)
    }
}

/// Lists the replicated jobs whose pods are nodes; each is a role of its own.
fn groups(policy: &CustomPolicy, draft: &Draft<'_>, problems: &mut Problems) -> Vec<NodeGroup> {
    let named = |rjob: &ReplicatedJob| role(policy, &rjob.name);
    let is_node = |rjob: &ReplicatedJob| rjob.trains() || named(rjob).is_some();
    node_groups::find(
        draft,
        NAME,
        |rjob| is_node(rjob).then(|| rjob.name.clone()),
        |rjob| named(rjob)?.container.as_deref(),
        problems,
    )
}
