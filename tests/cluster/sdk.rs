//! The Kubeflow SDK, as PyPI has it, on the controller: what a data scientist does with its `TrainerClient`.
//!
//! Each test runs scripts of the folder `sdk`, which say what the SDK must show. Their user has the rights of an ordinary
//! user of one namespace: Kubernetes' role `edit` with what the chart adds to it, and what the chart gives everybody.

use std::process::Command;
use std::thread;

use serde_json::{Value, json};
use tempfile::NamedTempFile;
use trainer::api::names::{ANCESTOR_LABEL, FRAMEWORK_LABEL};

use crate::support::{
    Cluster, Controller, account_kubeconfig, env, helm, kubectl, kubectl_command, repository, run, runtime,
    token, until,
};

/// Where the SDK looks for the version of the controller.
const SYSTEM: &str = "kubeflow-system";

#[tokio::test]
async fn the_sdk_trains_functions_under_torchrun_and_mpirun() {
    let story = Story::begin().await;
    story.runs(&["train.py", "mpi.py"]);
    story.end().await;
}

#[tokio::test]
async fn the_sdk_runs_containers_with_options_and_brings_in_data_and_models() {
    let story = Story::begin().await;
    story
        .cluster
        .apply_runtime(&runtime_with_data(&story.cluster.namespace))
        .await;
    story.runs(&["container.py", "initializers.py"]);

    // A fine-tuning needs images, accelerators and a model that are not here. It says what would run.
    let fine_tune = story.cluster.jobset_when("fine-tune", "is there", |_| true).await;
    let built = serde_json::to_string(&fine_tune.spec).unwrap();
    for word in [
        "lora_finetune_distributed",
        "llama3_2/1B_lora",
        "epochs=2",
        "model.lora_rank=8",
        "dataset.data_files=/workspace/dataset/part.json",
        "hf://meta-llama/Llama-3.2-1B-Instruct",
    ] {
        assert!(built.contains(&format!("\"{word}\"")), "{word}: {built}");
    }
    kubectl(&["delete", "trainjob", "fine-tune", "-n", &story.cluster.namespace]);
    story.end().await;
}

#[tokio::test]
async fn the_sdk_tells_what_went_wrong() {
    let story = Story::begin().await;
    story.cluster.apply_runtime(&plain_runtime()).await;
    story.runs(&["trouble.py"]);
    story.end().await;
}

/// A runtime for programs that need no framework, which the SDK starts with `python`.
pub(crate) fn plain_runtime() -> Value {
    let mut object = runtime("plain", "true");
    object["metadata"]["labels"] = json!({(FRAMEWORK_LABEL): "plain"});
    object
}

/// The same, after an initializer that brings in a line of data.
fn runtime_with_data(namespace: &str) -> Value {
    let step = "dataset-initializer";
    let bring = "mkdir -p /workspace/dataset && echo $STORAGE_URI without $IGNORE_PATTERNS | tee /workspace/dataset/line";
    let mut object = plain_runtime();
    object["metadata"]["name"] = json!("with-data");
    let jobs = &mut object["spec"]["template"]["spec"]["replicatedJobs"];
    let pod = &mut jobs[0]["template"]["spec"]["template"]["spec"];
    // There is one node and no storage class: a folder of the node is what both Pods see.
    pod["volumes"] = json!([{
        "name": "initializer", "hostPath": {"path": format!("/run/{namespace}"), "type": "DirectoryOrCreate"},
    }]);
    pod["containers"][0]["volumeMounts"] = json!([{"name": "initializer", "mountPath": "/workspace"}]);

    let mut initializer = jobs[0].clone();
    initializer["name"] = json!(step);
    initializer["template"]["metadata"]["labels"][ANCESTOR_LABEL] = json!(step);
    let container = &mut initializer["template"]["spec"]["template"]["spec"]["containers"][0];
    container["name"] = json!(step);
    container["command"] = json!(["sh", "-c", bring]);
    jobs[0]["dependsOn"] = json!([{"name": step, "status": "Complete"}]);
    jobs.as_array_mut().unwrap().insert(0, initializer);
    object
}

/// A data scientist on a cluster where the controller, its runtimes and what its chart has for users are installed.
struct Story {
    scientist: Scientist,
    cluster: Cluster,
    _controller: Controller,
    _for_users: ForUsers,
}

impl Story {
    async fn begin() -> Self {
        let cluster = Cluster::take().await;
        let for_users = ForUsers::install();
        kubectl(&[
            "apply",
            "--server-side",
            "-f",
            repository("runtimes").to_str().unwrap(),
        ]);
        Self {
            scientist: Scientist::of(&cluster).await,
            _controller: Controller::start(),
            _for_users: for_users,
            cluster,
        }
    }

    /// Runs scripts side by side: most of their time they wait for Pods.
    fn runs(&self, scripts: &[&str]) {
        thread::scope(|scope| {
            for script in scripts {
                scope.spawn(|| self.scientist.runs(script, &[]));
            }
        });
    }

    /// Ends the test. The scientist has deleted all jobs, and everything must go with them.
    async fn end(self) {
        let namespace = &self.cluster.namespace;
        until("the jobs have left nothing behind", async || {
            let kinds = "trainjobs,jobsets,jobs,pods,services,secrets,configmaps";
            let found = kubectl(&["get", kinds, "-n", namespace, "-o", "name"]);
            (found.trim() == "configmap/kube-root-ca.crt").then_some(())
        })
        .await;
        self.cluster.leave().await;
    }
}

/// What the chart has for users, without its controller. It is removed at the end, since a release of the chart does not
/// take over what others have made.
struct ForUsers(NamedTempFile);

impl ForUsers {
    fn install() -> Self {
        let chart = repository("charts/kubeflow-trainer");
        let objects = helm(&[
            "template",
            "kubeflow-trainer",
            chart.to_str().unwrap(),
            "--namespace",
            SYSTEM,
            "--show-only=templates/user-roles.yaml",
            "--show-only=templates/manager/version.yaml",
        ]);
        let file = NamedTempFile::new().unwrap();
        std::fs::write(file.path(), objects).unwrap();
        // It may be there from another test.
        let _ = kubectl_command(&["create", "namespace", SYSTEM]).output();
        let installed = Self(file);
        kubectl(&["apply", "--server-side", "-f", installed.path()]);
        installed
    }

    fn path(&self) -> &str {
        self.0.path().to_str().unwrap()
    }
}

impl Drop for ForUsers {
    fn drop(&mut self) {
        // A test that fails has something else to say.
        let _ = kubectl_command(&["delete", "--wait=false", "-f", self.path()]).output();
    }
}

/// A user who may edit one namespace.
pub(crate) struct Scientist {
    kubeconfig: NamedTempFile,
}

impl Scientist {
    const NAME: &str = "ada";

    pub(crate) async fn of(cluster: &Cluster) -> Self {
        let (namespace, name) = (cluster.namespace.as_str(), Self::NAME);
        kubectl(&["create", "serviceaccount", name, "-n", namespace]);
        let account = format!("{namespace}:{name}");
        kubectl(&[
            "create",
            "rolebinding",
            "edits",
            "--clusterrole=edit",
            &format!("--serviceaccount={account}"),
            "-n",
            namespace,
        ]);
        let kubeconfig = NamedTempFile::new().unwrap();
        let text = account_kubeconfig(namespace, &token(namespace, name)).to_string();
        std::fs::write(kubeconfig.path(), text).unwrap();
        // Kubernetes adds the chart's roles to its own in its own time.
        until("the role edit has the chart's part", async || {
            let question = [
                "auth",
                "can-i",
                "create",
                "trainjobs.trainer.kubeflow.org",
                "-n",
                namespace,
            ];
            let mut question = kubectl_command(&question);
            question.arg(format!("--as=system:serviceaccount:{account}"));
            question.output().unwrap().status.success().then_some(())
        })
        .await;
        Self { kubeconfig }
    }

    /// Runs a script of the folder `sdk` to its end, which must be a good one.
    pub(crate) fn runs(&self, script: &str, arguments: &[&str]) {
        run(Command::new(env("SDK_PYTHON"))
            .arg(repository("tests/cluster/sdk").join(script))
            .args(arguments)
            // Proxies and settings of the SDK that a developer may have are not for it.
            .env_clear()
            .env("KUBECONFIG", self.kubeconfig.path())
            .env("PYTHONDONTWRITEBYTECODE", "1"));
    }
}
