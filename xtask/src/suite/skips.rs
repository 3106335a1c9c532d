//! Tests that cannot run on every existing cluster, and why.

use std::fmt;

/// What a test needs that an existing cluster may lack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Need {
    /// Counts requests in the API server's audit log.
    AuditLog,
    /// Ends and starts the API server.
    ApiServerProcess,
    /// Uses an API and a feature gate with which the API server and the scheduler must be started.
    GangScheduling,
    /// Uses an image with the tag `latest`, which only a policy keeps the kubelet from pulling.
    ImagePolicy,
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AuditLog => "it counts requests in the API server's audit log",
            Self::ApiServerProcess => "it restarts the API server",
            Self::GangScheduling => {
                "the cluster does not serve scheduling.k8s.io/v1beta1: the API server and the scheduler need the feature \
                 gate GenericWorkload"
            }
            Self::ImagePolicy => {
                "the cluster does not serve MutatingAdmissionPolicy (admissionregistration.k8s.io/v1), so it would pull \
                 the image"
            }
        })
    }
}

/// The tests with needs, by a part of their names that no other test has.
const NEEDS: [(&str, Need); 11] = [
    (
        "two_hundred_jobs_at_once_all_get_their_jobset_and_a_restart_writes_nothing",
        Need::AuditLog,
    ),
    (
        "after_a_restart_a_new_job_goes_before_those_that_were_there",
        Need::AuditLog,
    ),
    (
        "the_gang_of_a_suspended_job_follows_what_it_is_counted_from",
        Need::AuditLog,
    ),
    ("it_outlives_a_restart_of_the_api_server", Need::ApiServerProcess),
    (
        "one_by_one_two_jobs_block_each_other_and_as_gangs_they_run_one_after_the_other",
        Need::GangScheduling,
    ),
    (
        "a_gang_forms_again_after_a_suspension_and_after_a_restart",
        Need::GangScheduling,
    ),
    ("a_gang_of_real_pods_runs_to_its_end", Need::GangScheduling),
    (
        "what_the_api_server_drops_of_a_gang_is_told_before_anything_is_made",
        Need::GangScheduling,
    ),
    ("small::xgboost", Need::ImagePolicy),
    ("large::deepspeed", Need::ImagePolicy),
    ("large::mlx", Need::ImagePolicy),
];

/// Lists the tests that cannot run on a cluster, given what it has.
pub(super) fn skips(has: impl Fn(Need) -> bool) -> Vec<(&'static str, Need)> {
    NEEDS.into_iter().filter(|(_, need)| !has(*need)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;
    use crate::layout;

    /// Reads the tests on clusters: `module::name`, and their code.
    fn tests() -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        for program in ["cluster", "frameworks", "kueue"] {
            for entry in fs::read_dir(layout::repository().join("tests").join(program)).unwrap() {
                let path = entry.unwrap().path();
                let Some(module) = path
                    .file_stem()
                    .filter(|_| path.extension().is_some_and(|end| end == "rs"))
                else {
                    continue;
                };
                let text = fs::read_to_string(&path).unwrap();
                for test in text.split("#[tokio::test").skip(1) {
                    let (_, code) = test.split_once("async fn ").unwrap();
                    let (name, _) = code.split_once('(').unwrap();
                    let body = code.split("\n}\n").next().unwrap();
                    found.insert(format!("{}::{name}", module.display()), body.to_owned());
                }
            }
        }
        found
    }

    #[test]
    fn each_skip_is_one_test() {
        let tests = tests();
        assert!(tests.len() > 50, "{}", tests.len());
        for (part, _) in NEEDS {
            let found: Vec<&String> = tests.keys().filter(|name| name.contains(part)).collect();
            assert_eq!(found.len(), 1, "{part}: {found:?}");
        }
    }

    #[test]
    fn every_test_that_looks_into_the_api_server_is_skipped() {
        let looks = [
            ("ApiServer::find(", Need::ApiServerProcess),
            ("audit_position(", Need::AuditLog),
            ("requests_since(", Need::AuditLog),
            ("writes_since(", Need::AuditLog),
            ("until_quiet(", Need::AuditLog),
        ];
        for (name, code) in tests() {
            for (call, need) in looks {
                let skipped = NEEDS
                    .iter()
                    .any(|(part, its)| name.contains(part) && *its == need);
                assert!(!code.contains(call) || skipped, "{name} calls {call}");
            }
        }
    }

    #[test]
    fn a_cluster_that_has_everything_skips_nothing() {
        assert_eq!(skips(|_| true), []);
        assert_eq!(skips(|_| false).len(), NEEDS.len());
    }
}
