//! `cargo xtask test`: everything that must pass, in order, with the runners' own output.
//!
//! Nothing is skipped when something is missing: what the tests need is built, and a step that cannot run fails. The
//! cluster's programs are built in the background while the first steps run.

use std::path::PathBuf;
use std::thread;

use anyhow::{Context, Result, anyhow, bail};

use crate::build::go::{self, Toolchain};
use crate::cache::Cache;
use crate::cluster::programs::Programs;
use crate::cluster::{Cluster, Options};
use crate::console::say;
use crate::generate::Generate;
use crate::image::catalog::Extra;
use crate::image::controller;
use crate::layout;
use crate::process::Task;

const CLUSTER: &str = "test";
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run only these steps
    #[arg(long, value_enum, value_name = "STEP")]
    only: Vec<Step>,
    /// Leave the cluster up at the end, and tell how to use it
    #[arg(long)]
    keep: bool,
    /// Arguments for the test programs, such as a part of a test's name
    #[arg(last = true)]
    filter: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Step {
    /// The code is formatted
    Format,
    /// No warnings from the compiler and clippy
    Lint,
    /// The library builds without client and async runtime
    Features,
    /// Generated files are up to date
    Generated,
    /// Unit, golden, contract, chart and architecture tests
    Unit,
    /// Tests with a real API server and real pods
    Cluster,
}

const ALL: [Step; 6] = [
    Step::Format,
    Step::Lint,
    Step::Features,
    Step::Generated,
    Step::Unit,
    Step::Cluster,
];

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let steps: Vec<Step> = ALL
        .into_iter()
        .filter(|step| arguments.only.is_empty() || arguments.only.contains(step))
        .collect();
    thread::scope(|scope| {
        let wanted = steps.clone();
        let background = thread::Builder::new()
            .name("tools".to_owned())
            .spawn_scoped(scope, move || Tools::make(&wanted))?;
        let mut tools = Lazy::Coming(background);
        for step in steps {
            say!("== {step:?}");
            step.run(&mut tools, arguments)
                .with_context(|| format!("step {step:?}"))?;
        }
        // A tool that nobody waited for must not fail unseen.
        tools.get()?;
        say!("all passed");
        Ok(())
    })
}

impl Step {
    fn run(self, tools: &mut Lazy<'_>, arguments: &Arguments) -> Result<()> {
        match self {
            Self::Format => cargo(["fmt", "--all", "--check"]).shown(),
            Self::Lint => {
                cargo(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]).shown()?;
                // Not among `--all-targets`, since a plain `cargo test` cannot run them.
                let on_cluster = ["--test", "cluster", "--bench", "load"];
                cargo(["clippy"])
                    .args(on_cluster)
                    .args(["--", "-D", "warnings"])
                    .shown()
            }
            Self::Features => cargo(["check", "--no-default-features"]).shown(),
            Self::Generated => Generate::check().run(layout::repository()),
            Self::Unit => {
                let tools = tools.get()?;
                // The ignored tests are those that need these programs.
                cargo(["test", "--workspace", "--", "--include-ignored"])
                    .args(&arguments.filter)
                    .env("HELM", &tools.helm)
                    .env("KUBECTL", &tools.kubectl)
                    .shown()
            }
            Self::Cluster => on_cluster(tools.get()?, arguments),
        }
    }
}

/// Programs that the tests run, beside the cluster's own.
struct Tools {
    helm: PathBuf,
    kubectl: PathBuf,
}

impl Tools {
    fn make(steps: &[Step]) -> Result<Self> {
        let (toolchain, cache) = (Toolchain::find()?, Cache::open()?);
        if !steps.contains(&Step::Unit) && !steps.contains(&Step::Cluster) {
            return Ok(Self {
                helm: PathBuf::new(),
                kubectl: PathBuf::new(),
            });
        }
        let kubectl = toolchain.build(&cache, go::KUBECTL)?;
        let helm = toolchain.build(&cache, go::HELM)?;
        if steps.contains(&Step::Cluster) {
            Programs::prepare(&cache, true, &[Extra::Torch])?;
        }
        Ok(Self { helm, kubectl })
    }
}

/// The tools, or the thread that makes them.
enum Lazy<'scope> {
    Coming(thread::ScopedJoinHandle<'scope, Result<Tools>>),
    There(Tools),
    Failed,
}

impl Lazy<'_> {
    fn get(&mut self) -> Result<&Tools> {
        if matches!(self, Self::Coming(_)) {
            let Self::Coming(thread) = std::mem::replace(self, Self::Failed) else {
                bail!("the tools were taken twice");
            };
            if !thread.is_finished() {
                say!("waiting for the tools of the tests");
            }
            *self = Self::There(thread.join().map_err(|_| anyhow!("making the tools failed"))??);
        }
        match self {
            Self::There(tools) => Ok(tools),
            _ => bail!("the tools of the tests could not be made"),
        }
    }
}

/// Runs the tests of `tests/cluster` on a cluster made for them.
fn on_cluster(tools: &Tools, arguments: &Arguments) -> Result<()> {
    let program = controller::build_for_tests()?;
    let cluster = Cluster::up(&Options {
        name: CLUSTER.to_owned(),
        node: true,
        images: vec![Extra::Torch],
    })?;
    let tested = (|| {
        let image = controller::image(&program)?;
        cluster.import(&image)?;
        // One by one: each of these tests has the cluster for itself.
        cargo([
            "test",
            "--workspace",
            "--test",
            "cluster",
            "--",
            "--test-threads=1",
        ])
        .args(&arguments.filter)
        .env("TRAINER_TEST_KUBECONFIG", cluster.kubeconfig())
        .env("TRAINER_TEST_IMAGE", &image.reference)
        .env("TRAINER_TEST_AUDIT_LOG", cluster.audit_log())
        .env("HELM", &tools.helm)
        .env("KUBECTL", &tools.kubectl)
        .shown()
    })();
    if arguments.keep {
        crate::console::print(&cluster.exports());
        return tested;
    }
    let removed = match &tested {
        Ok(()) => cluster.down(),
        Err(_) => cluster
            .down_keeping_logs()
            .map(|logs| say!("the cluster's logs are in {}", logs.display())),
    };
    tested.and(removed)
}

fn cargo<const N: usize>(arguments: [&str; N]) -> Task {
    Task::cargo().args(arguments).current_dir(layout::repository())
}
