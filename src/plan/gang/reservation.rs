//! What a gang is: its pods, what they request together, and who is not in it.

use serde_json::{Map, Value, json};

use crate::k8s::requests::Amounts;

/// Pods that are placed all together or not at all.
#[derive(Clone, Debug)]
pub struct Gang {
    /// Name of the policy that places them, such as `volcano`.
    pub scheduler: &'static str,
    /// The replicated jobs whose pods are members.
    pub members: Vec<Member>,
    /// The replicated jobs whose pods are placed one by one, each with the reason.
    pub left_out: Vec<(String, String)>,
}

/// A replicated job whose pods are members of a gang.
#[derive(Clone, Debug)]
pub struct Member {
    pub(in crate::plan) index: usize,
    /// Its name.
    pub name: String,
    /// Number of its pods.
    pub pods: i64,
    /// Number of its pods that the gang waits for: fewer, where the framework can work with fewer.
    pub awaited: i64,
    /// What one pod requests.
    pub requests: Amounts,
}

impl Member {
    /// Gives what the awaited pods request together.
    pub fn reserves(&self) -> Amounts {
        self.requests.times(self.awaited)
    }
}

impl Gang {
    /// Gives the number of pods that the gang waits for.
    pub fn awaited(&self) -> i64 {
        self.members.iter().map(|member| member.awaited).sum()
    }

    /// Gives what the awaited pods request together.
    pub fn reserves(&self) -> Amounts {
        let sums = self.members.iter().map(Member::reserves);
        sums.fold(Amounts::default(), |sum, one| sum.plus(&one))
    }

    /// Starts the spec of a PodGroup that counts pods and resources, as those outside of Kubernetes do.
    pub(in crate::plan) fn counted(&self) -> Map<String, Value> {
        let mut spec = Map::new();
        spec.insert("minMember".to_owned(), json!(self.awaited()));
        let resources = self.reserves();
        if !resources.is_empty() {
            spec.insert("minResources".to_owned(), resources.to_json());
        }
        spec
    }
}
