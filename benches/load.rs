//! How fast, and at what cost, a controller turns many TrainJobs into JobSets on a real cluster.
//!
//! `cargo xtask bench` brings a cluster up and runs this. It knows nothing of the controller but its API, so that
//! others with the same API are measured alike, one after the other in one run:
//!
//!     cargo xtask bench -- --jobs 500 --controller "other=/path/to/manager --kubeconfig {kubeconfig}"
//!
//! The jobs are suspended, as Kueue makes them: each becomes a JobSet and a snapshot, and no pods keep the machine
//! busy. Each controller has a service account of its own, by which the API server's audit log knows its requests.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::print_stdout,
    missing_docs,
    reason = "a measurement that fails ends by panicking, and prints its result"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use clap::Parser;
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Config, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use trainer::api::{JobSet, TrainJob, TrainingRuntime};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(900);
/// A controller that has sent nothing for so long has done its work.
const QUIET: Duration = Duration::from_secs(5);

#[derive(Parser)]
struct Arguments {
    /// How many TrainJobs are created.
    #[arg(long, default_value_t = 500)]
    jobs: usize,

    /// How many are created at a time.
    #[arg(long, default_value_t = 16)]
    at_once: usize,

    /// Another controller: its name and command, in which {kubeconfig} stands for the path of its kubeconfig.
    #[arg(long = "controller", value_name = "NAME=COMMAND")]
    others: Vec<String>,

    /// More flags for this controller, such as `--concurrency=20`.
    #[arg(long, default_value = "", allow_hyphen_values = true)]
    flags: String,

    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

/// What was measured.
struct Measured {
    name: String,
    jobs: usize,
    /// From the request that creates a TrainJob to the watch event of its JobSet, sorted.
    latencies: Vec<Duration>,
    /// From the first request to the last JobSet.
    took: Duration,
    requests: BTreeMap<String, usize>,
    cpu: Duration,
    peak_kib: u64,
    restart: BTreeMap<String, usize>,
}

fn main() {
    let arguments = Arguments::parse();
    let own = format!(
        "trainer={} controller --kubeconfig={{kubeconfig}} --health-bind-address=0 --metrics-bind-address=0 \
         --log-level=warn {}",
        env!("CARGO_BIN_EXE_trainer"),
        arguments.flags
    );
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let measured: Vec<_> = std::iter::once(&own)
        .chain(&arguments.others)
        .map(|controller| {
            let (name, command) = controller.split_once('=').unwrap();
            runtime.block_on(measure(name, command, &arguments))
        })
        .collect();
    print(&measured);
}

async fn measure(name: &str, command: &str, arguments: &Arguments) -> Measured {
    let client = admin().await;
    // A name may hold what no namespace may, such as the dots of a version.
    let safe = name
        .to_lowercase()
        .replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let namespace = format!("load-{safe}-{}", std::process::id());
    let cluster = Cluster { client, namespace };
    cluster.prepare().await;
    let mut process = cluster.start(command).await;
    // A first job shows that the controller is at work.
    cluster.create("probe").await;
    cluster.jobsets_of(["probe".to_owned()].into()).await;
    let (cpu, audit) = (cpu(process.0.id()), audit_position());

    let start = Instant::now();
    let names: BTreeSet<String> = (0..arguments.jobs).map(|i| format!("job-{i}")).collect();
    let create = stream::iter(names.clone())
        .map(async |name| {
            let asked = Instant::now();
            cluster.create(&name).await;
            (name, asked)
        })
        .buffer_unordered(arguments.at_once)
        .collect::<BTreeMap<String, Instant>>();
    let (asked, seen) = tokio::join!(create, cluster.jobsets_of(names));
    let took = seen.values().max().unwrap().duration_since(start);
    let mut latencies: Vec<_> = seen
        .iter()
        .map(|(name, at)| at.duration_since(asked[name]))
        .collect();
    latencies.sort();
    let requests = cluster.requests_when_quiet(audit).await;
    let (cpu, peak_kib) = (
        self::cpu(process.0.id()).checked_sub(cpu).unwrap(),
        peak_kib(process.0.id()),
    );

    let audit = audit_position();
    process.end();
    process = cluster.start(command).await;
    tokio::time::sleep(QUIET).await;
    let restart = cluster.requests_when_quiet(audit).await;
    drop(process);
    cluster.leave().await;
    Measured {
        name: name.to_owned(),
        jobs: arguments.jobs,
        latencies,
        took,
        requests,
        cpu,
        peak_kib,
        restart,
    }
}

fn print(measured: &[Measured]) {
    let row = |what: &str, of: &dyn Fn(&Measured) -> String| {
        let cells: Vec<String> = measured.iter().map(of).collect();
        println!("| {what} | {} |", cells.join(" | "));
    };
    row("", &|m| m.name.clone());
    println!("|---|{}", "---|".repeat(measured.len()));
    row("TrainJobs", &|m| m.jobs.to_string());
    #[allow(clippy::cast_precision_loss, reason = "numbers of jobs are small")]
    row("JobSets a second", &|m| {
        format!("{:.1}", m.jobs as f64 / m.took.as_secs_f64())
    });
    for percent in [50, 99, 100] {
        row(&format!("TrainJob to JobSet, p{percent}"), &|m| {
            let at = (m.latencies.len() * percent / 100).min(m.latencies.len() - 1);
            format!("{} ms", m.latencies[at].as_millis())
        });
    }
    row("peak memory", &|m| format!("{} MiB", m.peak_kib / 1024));
    #[allow(clippy::cast_precision_loss, reason = "numbers of jobs are small")]
    row("CPU time for 1,000 TrainJobs", &|m| {
        format!("{:.1} s", m.cpu.as_secs_f64() * 1000.0 / m.jobs as f64)
    });
    counts(measured, "requests for a TrainJob", |m| (&m.requests, m.jobs));
    counts(measured, "requests of a restart", |m| (&m.restart, 1));
}

/// Prints a row for each kind of request, and the sum.
fn counts(measured: &[Measured], what: &str, of: impl Fn(&Measured) -> (&BTreeMap<String, usize>, usize)) {
    #[allow(clippy::cast_precision_loss, reason = "numbers of requests are small")]
    let print = |label: &str, count: &dyn Fn(&BTreeMap<String, usize>) -> usize| {
        let cells: Vec<String> = measured
            .iter()
            .map(|m| {
                let (requests, by) = of(m);
                let each = count(requests) as f64 / by as f64;
                if by == 1 {
                    format!("{each}")
                } else {
                    format!("{each:.2}")
                }
            })
            .collect();
        println!("| {label} | {} |", cells.join(" | "));
    };
    print(what, &|requests| requests.values().sum());
    let kinds: BTreeSet<&String> = measured.iter().flat_map(|m| of(m).0.keys()).collect();
    for kind in kinds {
        print(&format!("- {kind}"), &|requests| {
            requests.get(kind).copied().unwrap_or_default()
        });
    }
}

/// The cluster, and the namespace that one controller is measured in.
struct Cluster {
    client: Client,
    namespace: String,
}

impl Cluster {
    fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Makes CRDs, namespace, runtime, and an account that may do anything.
    async fn prepare(&self) {
        let crds = Path::new(env!("CARGO_MANIFEST_DIR")).join("crds");
        kubectl(&[
            "apply",
            "--server-side",
            "--force-conflicts",
            "-f",
            crds.to_str().unwrap(),
        ]);
        kubectl(&[
            "wait",
            "--for=condition=Established",
            "--timeout=60s",
            "crd",
            "--all",
        ]);
        let name = &self.namespace;
        apply(
            &Api::<Namespace>::all(self.client.clone()),
            name,
            json!({"apiVersion": "v1", "kind": "Namespace"}),
        )
        .await;
        apply(
            &self.api::<ServiceAccount>(),
            "controller",
            json!({"apiVersion": "v1", "kind": "ServiceAccount"}),
        )
        .await;
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", "name": "controller", "namespace": name}],
        });
        apply(
            &Api::<ClusterRoleBinding>::all(self.client.clone()),
            name,
            binding,
        )
        .await;
        let runtime = json!({
            "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime",
            "spec": {"mlPolicy": {"numNodes": 2, "torch": {}}, "template": {"spec": {"replicatedJobs": [{
                "name": "node",
                "template": {
                    "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                    "spec": {"template": {"spec": {"containers": [
                        {"name": "node", "image": "localhost/python:1", "command": ["sleep", "1"]},
                    ]}}},
                },
            }]}}},
        });
        apply(&self.api::<TrainingRuntime>(), "load", runtime).await;
    }

    /// Starts a controller under the account of the namespace.
    async fn start(&self, command: &str) -> Process {
        let token = TokenRequest {
            spec: Some(TokenRequestSpec {
                expiration_seconds: Some(8 * 3600),
                ..TokenRequestSpec::default()
            }),
            ..TokenRequest::default()
        };
        let token = self
            .api::<ServiceAccount>()
            .create_token_request("controller", &PostParams::default(), &token)
            .await
            .unwrap();
        let mut kubeconfig = serde_json::to_value(kubeconfig()).unwrap();
        let user = &mut kubeconfig["users"][0]["user"];
        *user = json!({"token": token.status.map(|s| s.token)});
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kubeconfig");
        std::fs::write(&path, kubeconfig.to_string()).unwrap();
        let command = command.replace("{kubeconfig}", path.to_str().unwrap());
        let mut words = command.split_whitespace();
        let child = Command::new(words.next().unwrap())
            .args(words)
            .env("KUBECONFIG", &path)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        Process(child, folder)
    }

    async fn create(&self, name: &str) {
        let job: TrainJob = serde_json::from_value(json!({
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {
                "runtimeRef": {"kind": "TrainingRuntime", "name": "load", "apiGroup": "trainer.kubeflow.org"},
                "suspend": true,
                "trainer": {"env": [{"name": "EPOCHS", "value": "3"}], "resourcesPerNode": {"requests": {"cpu": "1"}}},
            },
        }))
        .unwrap();
        // A controller's webhooks may need a moment.
        let start = Instant::now();
        while let Err(error) = self.api::<TrainJob>().create(&PostParams::default(), &job).await {
            assert!(start.elapsed() < Duration::from_secs(60), "{error}");
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    /// Waits for these JobSets, and tells when each was seen first.
    async fn jobsets_of(&self, names: BTreeSet<String>) -> BTreeMap<String, Instant> {
        let events = watcher(self.api::<JobSet>(), watcher::Config::default()).default_backoff();
        let mut events = std::pin::pin!(events.applied_objects());
        let mut seen = BTreeMap::new();
        let all = async {
            while seen.len() < names.len() {
                let name = events.try_next().await.unwrap().unwrap().name_any();
                if names.contains(&name) {
                    seen.entry(name).or_insert_with(Instant::now);
                }
            }
        };
        tokio::time::timeout(PATIENCE, all).await.unwrap();
        seen
    }

    /// Counts the requests of the controller once it has stopped sending any that are not watches or leases.
    async fn requests_when_quiet(&self, from: usize) -> BTreeMap<String, usize> {
        let user = format!("system:serviceaccount:{}:controller", self.namespace);
        let (mut requests, mut since) = (BTreeMap::new(), Instant::now());
        while since.elapsed() < QUIET {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let now = requests_of(&user, from);
            if now != requests {
                (requests, since) = (now, Instant::now());
            }
        }
        requests
    }

    /// Takes everything away.
    async fn leave(&self) {
        let background = DeleteParams::background();
        for kind in ["trainjobs", "jobsets"] {
            kubectl(&[
                "delete",
                kind,
                "--all",
                "--wait=false",
                "--namespace",
                &self.namespace,
            ]);
        }
        let bindings = Api::<ClusterRoleBinding>::all(self.client.clone());
        bindings.delete(&self.namespace, &background).await.unwrap();
        let namespaces = Api::<Namespace>::all(self.client.clone());
        namespaces.delete(&self.namespace, &background).await.unwrap();
        let start = Instant::now();
        while !self
            .api::<JobSet>()
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .is_empty()
        {
            assert!(start.elapsed() < PATIENCE, "the JobSets stay");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}

async fn apply<K>(api: &Api<K>, name: &str, mut object: Value)
where
    K: Resource + Clone + std::fmt::Debug + DeserializeOwned,
{
    object["metadata"] = json!({ "name": name });
    let params = PatchParams::apply("load").force();
    api.patch(name, &params, &Patch::Apply(&object)).await.unwrap();
}

/// A controller that runs; it is killed at the end.
struct Process(
    Child,
    #[allow(dead_code, reason = "it holds the kubeconfig")] tempfile::TempDir,
);

impl Process {
    fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// The CPU time that a process has used.
fn cpu(process: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    // The name of the program, in brackets, may hold blanks; user and system time are the 12th and 13th after it.
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    // Linux tells it in hundredths of a second on every machine.
    Duration::from_millis(ticks * 10)
}

/// The most memory that a process has had in use.
fn peak_kib(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// What a user has asked of the API server, as "verb resource". Watches are counted when they end, and so left out.
fn requests_of(user: &str, from: usize) -> BTreeMap<String, usize> {
    let log = std::fs::read(audit_log()).unwrap();
    let mut requests = BTreeMap::new();
    for line in log[from.min(log.len())..].split(|b| *b == b'\n') {
        let Ok(entry) = serde_json::from_slice::<Value>(line) else {
            continue;
        };
        let text = |path: &str| {
            entry
                .pointer(path)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let (verb, resource) = (text("/verb"), text("/objectRef/resource"));
        let skip = ["", "leases", "selfsubjectreviews"].contains(&resource.as_str()) || verb == "watch";
        if text("/user/username") != user || skip {
            continue;
        }
        let subresource = text("/objectRef/subresource");
        let slash = if subresource.is_empty() { "" } else { "/" };
        *requests
            .entry(format!("{verb} {resource}{slash}{subresource}"))
            .or_default() += 1;
    }
    requests
}

fn audit_log() -> PathBuf {
    env("TRAINER_TEST_AUDIT_LOG").into()
}

fn audit_position() -> usize {
    usize::try_from(std::fs::metadata(audit_log()).unwrap().len()).unwrap()
}

fn env(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run this with `cargo xtask bench`"))
}

fn kubeconfig() -> Kubeconfig {
    Kubeconfig::read_from(env("TRAINER_TEST_KUBECONFIG")).unwrap()
}

async fn admin() -> Client {
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig(), &options)
        .await
        .unwrap();
    Client::try_from(config).unwrap()
}

fn kubectl(arguments: &[&str]) {
    let output = Command::new(env("KUBECTL"))
        .args(["--kubeconfig", &env("TRAINER_TEST_KUBECONFIG")])
        .args(arguments)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}
