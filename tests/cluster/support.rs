//! What the tests share: the cluster that the environment names, the controller as a process of its own under the
//! rights that the chart gives it, and objects to apply.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{ConfigMap, Event, Namespace, Pod};
use kube::api::{DeleteParams, ListParams, LogParams, Patch, PatchParams};
use kube::{Api, Client, Config, ResourceExt, config::Kubeconfig};
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard};
use trainer::api::{ClusterTrainingRuntime, JobSet, TrainJob, TrainingRuntime};

/// How long anything may take here.
const PATIENCE: Duration = Duration::from_secs(120);
/// The controller's user.
const ACCOUNT: &str = "trainer-test-controller-manager";

/// The label of the tests' namespaces, by which those of failed tests are found.
const TEST_LABEL: &str = "trainer.kubeflow.org/test";

/// What the task that runs these tests must set.
pub(crate) fn env(name: &str) -> String {
    std::env::var(name)
        .unwrap_or_else(|_| panic!("{name} is not set: run these tests with `cargo xtask test`"))
}

/// A path in the repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Runs a program to its end and gives what it printed.
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(
        output.status.success(),
        "{command:?}: {}\n{out}\n{err}",
        output.status
    );
    out.into_owned()
}

/// kubectl as the cluster's admin.
pub(crate) fn kubectl(arguments: &[&str]) -> String {
    run(&mut kubectl_command(arguments))
}

/// The same, not run yet.
pub(crate) fn kubectl_command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env("KUBECTL"));
    command
        .args(["--kubeconfig", &env("TRAINER_TEST_KUBECONFIG")])
        .args(arguments);
    command
}

/// helm as the cluster's admin.
pub(crate) fn helm(arguments: &[&str]) -> String {
    run(Command::new(env("HELM"))
        .args(["--kubeconfig", &env("TRAINER_TEST_KUBECONFIG")])
        .args(arguments))
}

/// The cluster, for one test at a time: each has a controller of its own, which takes care of all namespaces.
pub(crate) struct Cluster {
    pub(crate) client: Client,
    pub(crate) namespace: String,
    _alone: MutexGuard<'static, ()>,
}

impl Cluster {
    /// Takes the cluster, with CRDs and the controller's rights in place, and a new namespace.
    pub(crate) async fn take() -> Self {
        static ALONE: Mutex<()> = Mutex::const_new(());
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let alone = ALONE.lock().await;
        prepare();
        let client = admin().await;
        let namespace = format!(
            "t{}-{}",
            std::process::id(),
            NUMBER.fetch_add(1, Ordering::Relaxed)
        );
        let object = Namespace {
            metadata: kube::core::ObjectMeta {
                name: Some(namespace.clone()),
                labels: Some([(TEST_LABEL.to_owned(), String::new())].into()),
                ..Default::default()
            },
            ..Default::default()
        };
        Api::all(client.clone())
            .create(&Default::default(), &object)
            .await
            .unwrap();
        let cluster = Self {
            client,
            namespace,
            _alone: alone,
        };
        until("the namespace has its service account", async || {
            let accounts: Api<k8s_openapi::api::core::v1::ServiceAccount> = cluster.api();
            accounts.get_opt("default").await.unwrap()
        })
        .await;
        cluster
    }

    /// The API of a kind in the test's namespace.
    pub(crate) fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub(crate) fn jobs(&self) -> Api<TrainJob> {
        self.api()
    }

    pub(crate) fn jobsets(&self) -> Api<JobSet> {
        self.api()
    }

    pub(crate) async fn has_no_jobsets(&self) {
        let found = self.jobsets().list(&ListParams::default()).await.unwrap().items;
        assert!(found.is_empty(), "{found:?}");
    }

    /// Creates a runtime without a framework: one pod a node that runs a shell script.
    pub(crate) async fn create_runtime(&self, name: &str, script: &str) {
        self.apply_runtime(&runtime(name, script)).await;
    }

    /// Creates a TrainingRuntime, or makes it what it is to be.
    pub(crate) async fn apply_runtime(&self, object: &Value) {
        let params = PatchParams::apply("test").force();
        let name = object["metadata"]["name"].as_str().unwrap();
        self.api::<TrainingRuntime>()
            .patch(name, &params, &Patch::Apply(object))
            .await
            .unwrap();
    }

    /// Creates a TrainJob on a runtime of the namespace, with more fields of its spec.
    pub(crate) async fn create_job(&self, name: &str, runtime: &str, more: Value) {
        self.try_create_job(name, runtime, more).await.unwrap();
    }

    pub(crate) async fn try_create_job(
        &self,
        name: &str,
        runtime: &str,
        more: Value,
    ) -> kube::Result<TrainJob> {
        let mut spec = json!({"runtimeRef": {"kind": "TrainingRuntime", "name": runtime}});
        merge(&mut spec, more);
        let object = json!({
            "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
            "metadata": {"name": name, "namespace": self.namespace}, "spec": spec,
        });
        self.jobs()
            .patch(name, &PatchParams::apply("test"), &Patch::Apply(&object))
            .await
    }

    /// Sends a merge patch to a TrainJob.
    pub(crate) async fn patch_job(&self, name: &str, patch: Value) -> TrainJob {
        self.jobs()
            .patch(name, &PatchParams::default(), &Patch::Merge(&patch))
            .await
            .unwrap()
    }

    /// Waits until a TrainJob is as wanted.
    pub(crate) async fn job_when(
        &self,
        name: &str,
        what: &str,
        wanted: impl Fn(&TrainJob) -> bool,
    ) -> TrainJob {
        until(&format!("TrainJob {name}: {what}"), async || {
            self.jobs().get_opt(name).await.unwrap().filter(&wanted)
        })
        .await
    }

    /// Waits until a JobSet is as wanted.
    pub(crate) async fn jobset_when(
        &self,
        name: &str,
        what: &str,
        wanted: impl Fn(&JobSet) -> bool,
    ) -> JobSet {
        until(&format!("JobSet {name}: {what}"), async || {
            match self.jobsets().get_opt(name).await {
                // The kind has just been installed, and its path is not served yet.
                Err(kube::Error::Api(status)) if status.code == 404 => None,
                found => found.unwrap().filter(&wanted),
            }
        })
        .await
    }

    /// Waits for an Event on a TrainJob that says something.
    pub(crate) async fn event(&self, job: &str, says: &str) -> Event {
        until(&format!("an Event on {job} that says {says:?}"), async || {
            let events = self.api::<Event>().list(&ListParams::default()).await.unwrap();
            events.into_iter().find(|e| {
                e.involved_object.name.as_deref() == Some(job)
                    && e.involved_object.kind.as_deref() == Some("TrainJob")
                    && e.message.as_deref().is_some_and(|m| m.contains(says))
            })
        })
        .await
    }

    pub(crate) async fn snapshot(&self, job: &str) -> Option<ConfigMap> {
        self.api::<ConfigMap>()
            .get_opt(&format!("{job}-runtime-snapshot"))
            .await
            .unwrap()
    }

    /// Gives the pods of a job, or all of the namespace, by name.
    pub(crate) async fn pods(&self, job: Option<&str>) -> Vec<Pod> {
        let mut wanted = ListParams::default();
        if let Some(job) = job {
            wanted = wanted.labels(&format!("jobset.sigs.k8s.io/jobset-name={job}"));
        }
        let mut pods = self.api::<Pod>().list(&wanted).await.unwrap().items;
        pods.sort_by_key(ResourceExt::name_any);
        pods
    }

    /// Gives the log of all pods of a job, by the name of the pod.
    pub(crate) async fn logs(&self, job: &str) -> String {
        let api: Api<Pod> = self.api();
        let mut text = String::new();
        for pod in self.pods(Some(job)).await {
            let log = api
                .logs(&pod.name_any(), &LogParams::default())
                .await
                .unwrap_or_else(|e| e.to_string());
            text = format!("{text}{}:\n{log}\n", pod.name_any());
        }
        text
    }

    /// Ends the test: its namespace goes, with all that is in it.
    pub(crate) async fn leave(self) {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        namespaces
            .delete(&self.namespace, &DeleteParams::background())
            .await
            .unwrap();
        // The controller of the next test should not be busy with what goes away.
        let patience = PATIENCE.saturating_mul(3);
        until_within(patience, "the TrainJobs of the test are gone", async || {
            let left = self.jobs().list(&ListParams::default()).await.unwrap();
            left.items.is_empty().then_some(())
        })
        .await;
    }
}

/// Puts `more` into an object, member by member.
fn merge(object: &mut Value, more: Value) {
    match (object, more) {
        (Value::Object(object), Value::Object(more)) => {
            for (key, value) in more {
                merge(object.entry(key).or_insert(Value::Null), value);
            }
        }
        (object, more) => *object = more,
    }
}

/// A runtime without a framework, for pods that run a shell script.
pub(crate) fn runtime(name: &str, script: &str) -> Value {
    json!({
        "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime", "metadata": {"name": name},
        "spec": {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": [{
            "name": "node",
            "template": {
                "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                "spec": {"backoffLimit": 0, "template": {"spec": {
                    "restartPolicy": "Never",
                    "terminationGracePeriodSeconds": 0,
                    "containers": [{"name": "node", "image": "localhost/python:1", "command": ["sh", "-c", script]}],
                }}},
            },
        }]}}},
    })
}

/// Tries until there is an answer.
pub(crate) async fn until<T>(what: &str, attempt: impl AsyncFn() -> Option<T>) -> T {
    until_within(PATIENCE, what, attempt).await
}

/// The same, for what may take longer than anything else.
pub(crate) async fn until_within<T>(
    patience: Duration,
    what: &str,
    attempt: impl AsyncFn() -> Option<T>,
) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = attempt().await {
            return found;
        }
        assert!(start.elapsed() < patience, "waited {patience:?} for this: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// A client with all rights. It is made anew for each test, as each has an async runtime of its own.
async fn admin() -> Client {
    let file = Kubeconfig::read_from(env("TRAINER_TEST_KUBECONFIG")).unwrap();
    let config = Config::from_custom_kubeconfig(file, &Default::default())
        .await
        .unwrap();
    Client::try_from(config).unwrap()
}

/// Installs the CRDs and the rights that the chart gives the controller; once for all tests.
fn prepare() {
    static DONE: OnceLock<()> = OnceLock::new();
    DONE.get_or_init(|| {
        kubectl(&[
            "apply",
            "--server-side",
            "--force-conflicts",
            "-f",
            repository("crds").to_str().unwrap(),
        ]);
        kubectl(&[
            "wait",
            "--for=condition=Established",
            "--timeout=60s",
            "crd",
            "--all",
        ]);
        let chart = repository("charts/kubeflow-trainer");
        let rights = run(Command::new(env("HELM"))
            // Names of its own: the chart is installed beside it by the test of the release.
            .args(["template", "trainer-test", "--set=fullnameOverride=trainer-test"])
            .arg(&chart)
            .args([
                "--namespace=trainer-test",
                "--show-only=templates/manager/rbac.yaml",
            ]));
        let file = std::env::temp_dir().join(format!("trainer-rights-{}.yaml", std::process::id()));
        std::fs::write(
            &file,
            format!("{rights}\n---\n{{apiVersion: v1, kind: Namespace, metadata: {{name: trainer-test}}}}\n"),
        )
        .unwrap();
        // The namespace may come after what is in it.
        let apply = [
            "apply",
            "--server-side",
            "--force-conflicts",
            "-f",
            file.to_str().unwrap(),
        ];
        let _ = Command::new(env("KUBECTL"))
            .args(["--kubeconfig", &env("TRAINER_TEST_KUBECONFIG")])
            .args(apply)
            .output();
        kubectl(&apply);
        std::fs::remove_file(&file).unwrap();
    });
}

/// The controller as a process of its own, with the rights that the chart gives it. It is killed at the end.
pub(crate) struct Controller {
    process: Child,
    folder: tempfile::TempDir,
}

impl Controller {
    /// Starts the controller on the cluster.
    pub(crate) fn start() -> Self {
        Self::start_through(None)
    }

    /// Starts the controller with another address of the API server.
    pub(crate) fn start_through(server: Option<&str>) -> Self {
        Self::start_with(server, &["--kube-api-qps=300"])
    }

    /// Starts the controller with flags that limit its requests.
    pub(crate) fn start_with(server: Option<&str>, limits: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = folder.path().join("kubeconfig");
        std::fs::write(&kubeconfig, controller_kubeconfig(server).to_string()).unwrap();
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let process = Command::new(env!("CARGO_BIN_EXE_trainer"))
            .args([
                "controller",
                "--log-format=text",
                "--log-level=info,trainer=debug",
            ])
            .args(limits)
            .args([
                "--health-bind-address=0",
                "--metrics-bind-address=0",
                "--kubeconfig",
            ])
            .arg(&kubeconfig)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        Self { process, folder }
    }

    /// Ends it as a power cut would.
    pub(crate) fn kill(mut self) -> String {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.log()
    }

    /// Ends it as Kubernetes ends a pod, and gives its log; it must end well and in the time that a pod has.
    pub(crate) fn end(mut self) -> String {
        let start = Instant::now();
        run(Command::new("kill").args(["-TERM", &self.process.id().to_string()]));
        let status = self.process.wait().unwrap();
        assert!(
            status.success() && start.elapsed() < Duration::from_secs(10),
            "{status}"
        );
        self.log()
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    /// Waits until the log says something.
    pub(crate) async fn says(&self, text: &str) {
        until(&format!("the controller's log says {text:?}"), async || {
            self.log().contains(text).then_some(())
        })
        .await;
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        if std::thread::panicking() {
            let log = self.log();
            let tail: Vec<&str> = log.lines().rev().take(40).collect();
            eprintln!(
                "the controller's log ends so:\n{}",
                tail.into_iter().rev().collect::<Vec<_>>().join("\n")
            );
        }
    }
}

/// The name by which the API server's audit log knows the controller.
pub(crate) fn account() -> String {
    format!("system:serviceaccount:trainer-test:{ACCOUNT}")
}

/// A kubeconfig of the controller's service account.
fn controller_kubeconfig(server: Option<&str>) -> Value {
    static TOKEN: OnceLock<String> = OnceLock::new();
    let token = TOKEN.get_or_init(|| token("trainer-test", ACCOUNT));
    let mut kubeconfig = account_kubeconfig("trainer-test", token);
    if let Some(server) = server {
        kubeconfig["clusters"][0]["cluster"] = json!({ "server": server });
    }
    kubeconfig
}

/// A token of a service account, for as long as the tests may run.
pub(crate) fn token(namespace: &str, account: &str) -> String {
    let token = kubectl(&["create", "token", account, "-n", namespace, "--duration=8h"]);
    token.trim().to_owned()
}

/// A kubeconfig for the token of a service account, with a namespace to work in.
pub(crate) fn account_kubeconfig(namespace: &str, token: &str) -> Value {
    let admin = Kubeconfig::read_from(env("TRAINER_TEST_KUBECONFIG")).unwrap();
    let cluster = serde_json::to_value(&admin.clusters[0].cluster).unwrap();
    let context = json!({"cluster": "test", "user": "test", "namespace": namespace});
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "test", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": context}],
    })
}

/// Requests of the controller that change something, from the API server's audit log, since `from`.
pub(crate) fn writes_since(from: usize, namespace: &str) -> Vec<String> {
    requests_since(from, namespace)
        .into_iter()
        .filter(|r| !["get", "list", "watch"].iter().any(|verb| r.starts_with(verb)))
        .collect()
}

/// Requests of the controller, as "verb resource".
pub(crate) fn requests_since(from: usize, namespace: &str) -> Vec<String> {
    let user = account();
    entries_since(from, namespace)
        .into_iter()
        .filter(|entry| entry["user"]["username"] == user)
        .map(|entry| {
            let subresource = entry["objectRef"]["subresource"]
                .as_str()
                .map(|s| format!("/{s}"))
                .unwrap_or_default();
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            format!(
                "{} {}{subresource}",
                text(&entry["verb"]),
                text(&entry["objectRef"]["resource"])
            )
        })
        .collect()
}

/// What the audit log says of a namespace; what earlier tests have left behind still goes away in others.
fn entries_since(from: usize, namespace: &str) -> Vec<Value> {
    let log = std::fs::read(env("TRAINER_TEST_AUDIT_LOG")).unwrap();
    let lines = log[from.min(log.len())..].split(|b| *b == b'\n');
    lines
        .filter_map(|line| serde_json::from_slice::<Value>(line).ok())
        .filter(|entry| entry["objectRef"]["namespace"] == namespace)
        .collect()
}

/// Waits until no controller has asked for anything in a namespace for a while, however busy the machine is.
pub(crate) async fn until_quiet(namespace: &str) {
    let (start, begin) = (audit_position(), Instant::now());
    let (mut seen, mut since) = (0, begin);
    while since.elapsed() < Duration::from_secs(3) {
        assert!(begin.elapsed() < PATIENCE, "{namespace} is never quiet");
        tokio::time::sleep(Duration::from_millis(500)).await;
        let now = entries_since(start, namespace).len();
        if now != seen {
            (seen, since) = (now, Instant::now());
        }
    }
}

/// Where the audit log ends now.
pub(crate) fn audit_position() -> usize {
    usize::try_from(std::fs::metadata(env("TRAINER_TEST_AUDIT_LOG")).unwrap().len()).unwrap()
}

/// The shipped runtimes' API.
pub(crate) fn cluster_runtimes(client: &Client) -> Api<ClusterTrainingRuntime> {
    Api::all(client.clone())
}
