//! `cargo xtask test`: everything that must pass, in order, with the runners' own output.
//!
//! Nothing is skipped because something is missing: what the tests need is built, and a step that cannot run fails.

mod tools;

use std::path::Path;
use std::sync::LazyLock;
use std::thread;

use anyhow::{Context, Result, anyhow};
use local_cluster::image::catalog::Extra;
use local_cluster::{Cluster, Options, console, say};

use crate::cargo::cargo;
use crate::generate::Generate;
use crate::image::controller;
use crate::layout;
use tools::Tools;

const CLUSTER: &str = "test";
/// The images of the step [`Step::Cluster`]: the demo's framework, and those with small images.
const SMALL: [Extra; 5] = [
    Extra::Torch,
    Extra::Jax,
    Extra::Xgboost,
    Extra::Lightgbm,
    Extra::Openmpi,
];

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run only these steps
    #[arg(long, value_enum, value_name = "STEP")]
    only: Vec<Step>,
    /// Run training with every framework instead; its images take 7 GB of disk and 20 minutes to build
    #[arg(long, conflicts_with = "only")]
    frameworks: bool,
    /// Leave the cluster up at the end, and print how to use it
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
    let tools: Lazy<'_> = LazyLock::new(Box::new(|| Tools::build(&steps)));
    thread::scope(|scope| {
        let need_tools = steps.iter().any(|step| step.needs_tools());
        if need_tools {
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
            Self::Unit => {
                let tools = get(tools)?;
                // The ignored tests are those that need these programs.
                cargo(["test", "--workspace", "--", "--include-ignored"])
                    .args(&arguments.filter)
                    .env("HELM", &tools.helm)
                    .env("KUBECTL", &tools.kubectl)
                    .shown()
            }
            Self::Cluster | Self::Frameworks => self.on_cluster(get(tools)?, arguments),
        }
    }

    fn needs_tools(self) -> bool {
        self == Self::Unit || self.cluster().is_some()
    }

    /// Returns the cluster on which a step runs.
    fn cluster(self) -> Option<Options> {
        let images = match self {
            Self::Cluster => SMALL.to_vec(),
            Self::Frameworks => Extra::all().to_vec(),
            _ => return None,
        };
        Some(Options {
            name: CLUSTER.to_owned(),
            node: true,
            images,
        })
    }

    /// Returns the test programs that need a cluster, and which of their tests the step omits.
    fn programs(self) -> &'static [(&'static str, Option<&'static str>)] {
        match self {
            // Kueue comes last: it stays in the cluster, and its webhooks see whatever is created from then on.
            Self::Cluster => &[
                ("cluster", None),
                ("frameworks", Some("large::")),
                ("kueue", None),
            ],
            Self::Frameworks => &[("frameworks", None)],
            _ => &[],
        }
    }

    /// Runs a step's test programs on a new cluster.
    fn on_cluster(self, tools: &Tools, arguments: &Arguments) -> Result<()> {
        let program = controller::build_for_tests()?;
        let options = self.cluster().context("the step has no cluster")?;
        let cluster = Cluster::up(&options)?;
        let tested = self.test_on(&cluster, &program, tools, arguments);
        if arguments.keep {
            console::print(&cluster.exports());
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

    fn test_on(self, cluster: &Cluster, program: &Path, tools: &Tools, arguments: &Arguments) -> Result<()> {
        let image = controller::image(program)?;
        cluster.import(&image)?;
        if let Some(clients) = &tools.clients {
            cluster.import(&clients.kueue.image)?;
        }
        for (name, without) in self.programs() {
            // One after the other: each of these tests has the cluster for itself.
            let mut tests = cargo(["test", "--workspace", "--test", name, "--", "--test-threads=1"])
                .args(without.map(|tests| format!("--skip={tests}")))
                .args(&arguments.filter)
                .env("TRAINER_TEST_KUBECONFIG", cluster.kubeconfig())
                .env("TRAINER_TEST_IMAGE", &image.reference)
                .env("TRAINER_TEST_AUDIT_LOG", cluster.audit_log())
                .env("HELM", &tools.helm)
                .env("KUBECTL", &tools.kubectl);
            if let Some(clients) = &tools.clients {
                tests = tests
                    .env("SDK_PYTHON", &clients.sdk)
                    .env("TRAINER_TEST_KUEUE_CHART", &clients.kueue.chart)
                    .env("TRAINER_TEST_KUEUE_IMAGE", &clients.kueue.image.reference);
            }
            tests.shown()?;
        }
        Ok(())
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
