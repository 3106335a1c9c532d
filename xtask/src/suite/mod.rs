//! `cargo xtask test`: everything that must pass, in order, with the runners' own output.
//!
//! On a new cluster nothing is skipped: what the tests need is built, and a step that cannot run fails. On an existing
//! cluster the skipped tests are listed with the reason.

mod existing;
mod loader;
mod on_cluster;
mod skips;
mod tools;

use std::path::PathBuf;
use std::sync::LazyLock;
use std::thread;

use anyhow::{Context, Result, anyhow};
use local_cluster::say;

use crate::cargo::cargo;
use crate::generate::Generate;
use crate::layout;
use on_cluster::Programs;
use tools::{Tools, Where};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run only these steps
    #[arg(long, value_enum, value_name = "STEP")]
    only: Vec<Step>,
    /// Run training with every framework instead; its images take 7 GB of disk and 20 minutes to build
    #[arg(long, conflicts_with = "only")]
    frameworks: bool,
    /// Run the tests that need a cluster, on that of this kubeconfig; it must have JobSet, and neither Kubeflow Trainer nor
    /// Kueue
    #[arg(long, value_name = "FILE", conflicts_with = "only")]
    kubeconfig: Option<PathBuf>,
    /// How an image gets into the cluster's nodes: a shell command that reads a tar archive; kind, k3d and containerd on
    /// this machine are recognised without it
    #[arg(long, value_name = "COMMAND", requires = "kubeconfig")]
    import: Option<String>,
    /// Leave the cluster as it is at the end
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
    /// Training with every framework in real pods
    #[value(skip)]
    Frameworks,
}

const USUAL: [Step; 6] = [
    Step::Format,
    Step::Lint,
    Step::Features,
    Step::Generated,
    Step::Unit,
    Step::Cluster,
];

/// The tools, built when they are first needed.
type Lazy<'a> = LazyLock<Result<Tools>, Box<dyn FnOnce() -> Result<Tools> + Send + 'a>>;

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let steps = steps(arguments);
    let cluster = match arguments.kubeconfig {
        Some(_) => Where::Existing,
        None => Where::New,
    };
    let tools: Lazy<'_> = LazyLock::new(Box::new(|| Tools::build(&steps, cluster)));
    thread::scope(|scope| {
        if steps.iter().any(|step| step.needs_tools()) {
            // In the background, while the first steps run.
            scope.spawn(|| LazyLock::force(&tools).is_ok());
        }
        for step in &steps {
            say!("== {step:?}");
            step.run(&tools, arguments)
                .with_context(|| format!("step {step:?}"))?;
        }
        say!("all passed");
        Ok(())
    })
}

fn steps(arguments: &Arguments) -> Vec<Step> {
    if arguments.frameworks {
        return vec![Step::Frameworks];
    }
    if arguments.kubeconfig.is_some() {
        return vec![Step::Cluster];
    }
    let wanted = |step: &Step| arguments.only.is_empty() || arguments.only.contains(step);
    USUAL.into_iter().filter(wanted).collect()
}

/// Waits for the tools.
fn get<'a>(tools: &'a Lazy<'_>) -> Result<&'a Tools> {
    tools
        .as_ref()
        .map_err(|error| anyhow!("building the tests' tools: {error:#}"))
}

impl Step {
    fn run(self, tools: &Lazy<'_>, arguments: &Arguments) -> Result<()> {
        match self {
            Self::Format => cargo(["fmt", "--all", "--check"]).shown(),
            Self::Lint => lint(),
            Self::Features => cargo(["check", "--no-default-features"]).shown(),
            Self::Generated => Generate::check().run(layout::repository()),
            Self::Unit => unit(get(tools)?, &arguments.filter),
            Self::Cluster => Programs::USUAL.run(get(tools)?, arguments),
            Self::Frameworks => Programs::frameworks().run(get(tools)?, arguments),
        }
    }

    fn needs_tools(self) -> bool {
        self == Self::Unit || self.programs().is_some()
    }

    /// Returns the test programs of a step that needs a cluster.
    fn programs(self) -> Option<Programs> {
        match self {
            Self::Cluster => Some(Programs::USUAL),
            Self::Frameworks => Some(Programs::frameworks()),
            _ => None,
        }
    }
}

fn lint() -> Result<()> {
    cargo(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]).shown()?;
    // `--all-targets` omits these, so that a plain `cargo test` does not run them.
    let on_cluster = ["cluster", "frameworks", "kueue"].map(|test| ["--test", test]);
    cargo(["clippy"])
        .args(on_cluster.concat())
        .args(["--bench", "load", "--", "-D", "warnings"])
        .shown()
}

fn unit(tools: &Tools, filter: &[String]) -> Result<()> {
    // The ignored tests are those that need these programs.
    cargo(["test", "--workspace", "--", "--include-ignored"])
        .args(filter)
        .env("HELM", &tools.helm)
        .env("KUBECTL", &tools.kubectl)
        .shown()
}
