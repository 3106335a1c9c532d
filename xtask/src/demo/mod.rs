//! `cargo xtask demo`: a cluster, the controller from the chart, and a distributed PyTorch run to watch.

mod diagnosis;
mod run;

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use local_cluster::build::go::{self, Toolchain};
use local_cluster::cache::Cache;
use local_cluster::image::catalog::Extra;
use local_cluster::kubectl::Kubectl;
use local_cluster::{Cluster, Options, console, interrupt, say};

use crate::helm::{self, Helm, Reference};
use crate::image::controller;
use crate::layout;

const CLUSTER: &str = "demo";
/// Where the TrainJob runs.
const NAMESPACE: &str = "trainer-demo";
const EXAMPLE: &str = "examples/torch-digits.yaml";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Leave everything up at the end, and print how to use it
    #[arg(long)]
    keep: bool,
    /// The controller image, for an existing cluster ($KUBECONFIG) that can pull it
    #[arg(long, value_name = "REF")]
    image: Option<String>,
}

/// Runs the demo on the cluster that `$KUBECONFIG` names, or on a new one.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    match (
        env::var_os("KUBECONFIG").filter(|value| !value.is_empty()),
        &arguments.image,
    ) {
        (Some(kubeconfig), Some(image)) => on_existing_cluster(kubeconfig, image, arguments.keep),
        (Some(_), None) => bail!(
            "KUBECONFIG is set, so the demo would use that cluster: name a controller image that it can pull with \
             --image (`cargo xtask image` makes one), or unset KUBECONFIG to make a new cluster"
        ),
        (None, Some(_)) => {
            bail!("--image is for an existing cluster: set KUBECONFIG, or omit --image")
        }
        (None, None) => on_new_cluster(arguments.keep),
    }
}

fn on_new_cluster(keep: bool) -> Result<()> {
    let options = Options {
        name: CLUSTER.to_owned(),
        node: true,
        images: vec![Extra::Torch],
    };
    // At the same time: each of the two compilers sometimes waits for the network or the disk.
    let (cluster, program) = thread::scope(|scope| {
        let program = scope.spawn(controller::build_release);
        let cluster = Cluster::up(&options);
        (
            cluster,
            program
                .join()
                .map_err(|_| anyhow!("the thread that builds the controller panicked")),
        )
    });
    let cluster = cluster?;
    let demonstrated = (|| {
        let image = controller::image(&program??)?;
        say!(
            "controller image {} ({} MB)",
            image.reference,
            image.size()? / 1_000_000
        );
        cluster.import(&image)?;
        let helm = Helm::new(&cluster.add_helm()?, cluster.kubectl());
        demonstrate(cluster.kubectl(), &helm, &Reference::parse(&image.reference))
    })();
    if keep && demonstrated.is_ok() {
        say!("the cluster stays up; remove it with `cargo xtask cluster down --name {CLUSTER}`");
        console::print(&cluster.exports());
        return Ok(());
    }
    let removed = match &demonstrated {
        Ok(()) => cluster.down(),
        Err(_) => cluster
            .down_keeping_logs()
            .map(|logs| say!("the cluster's logs are in {}", logs.display())),
    };
    demonstrated?;
    removed?;
    say!("cluster {CLUSTER} is removed");
    Ok(())
}

fn on_existing_cluster(kubeconfig: OsString, image: &str, keep: bool) -> Result<()> {
    let (kubectl, helm) = programs()?;
    let kubectl = Kubectl::new(&kubectl, kubeconfig);
    let helm = Helm::new(&helm, &kubectl);
    refuse_existing_objects(&kubectl, &helm)?;
    let demonstrated = demonstrate(&kubectl, &helm, &Reference::parse(image));
    if keep && demonstrated.is_ok() {
        say!("the namespaces {NAMESPACE} and {} stay", helm::NAMESPACE);
        return Ok(());
    }
    let removed = interrupt::shielded(|| remove(&kubectl, &helm, demonstrated.is_ok()));
    match removed.context("cleaning up") {
        Ok(()) => say!("the demo's objects are removed; the CustomResourceDefinitions stay"),
        Err(left) if demonstrated.is_ok() => return Err(left),
        Err(left) => say!("{left:#}"),
    }
    demonstrated
}

fn remove(kubectl: &Kubectl, helm: &Helm, works: bool) -> Result<()> {
    kubectl.text(&["delete", "namespace", NAMESPACE, "--ignore-not-found"])?;
    match helm.installed()? {
        true if works => helm.uninstall(),
        true => helm.uninstall_broken(),
        false => Ok(()),
    }
}

/// Fails if objects of the demo exist: it would remove them at the end.
fn refuse_existing_objects(kubectl: &Kubectl, helm: &Helm) -> Result<()> {
    kubectl
        .text(&["version"])
        .context("cannot reach the cluster that KUBECONFIG names")?;
    if helm.installed()? {
        bail!(
            "the cluster has the release {} in {} already",
            helm::RELEASE,
            helm::NAMESPACE
        );
    }
    if kubectl.succeeds(&["get", "namespace", NAMESPACE])? {
        bail!("the cluster has a namespace {NAMESPACE} already, maybe of an earlier demo: delete it first");
    }
    Ok(())
}

fn programs() -> Result<(PathBuf, PathBuf)> {
    let (toolchain, cache) = (Toolchain::find()?, Cache::open()?);
    Ok((
        toolchain.build(&cache, go::KUBECTL)?,
        toolchain.build(&cache, go::HELM)?,
    ))
}

/// Installs the chart, runs the example to its end and prints the result. If that fails, prints where to look.
fn demonstrate(kubectl: &Kubectl, helm: &Helm, image: &Reference) -> Result<()> {
    if !kubectl.succeeds(&["get", "crd", "jobsets.jobset.x-k8s.io"])? {
        bail!(
            "the cluster has no JobSet: install it first, since the controller makes a JobSet of each TrainJob"
        );
    }
    let shown = (|| {
        say!("installing the chart ...");
        helm.install(image)?;
        let runtimes = kubectl.text(&["get", "clustertrainingruntimes", "-o", "name"])?;
        say!(
            "controller ready; {} runtimes installed",
            runtimes.lines().count()
        );
        let example = layout::repository().join(EXAMPLE);
        run::follow_to_the_end(kubectl, NAMESPACE, &example, Duration::from_mins(10))
    })();
    match shown {
        Ok(outcome) => {
            outcome.print();
            Ok(())
        }
        Err(error) => {
            interrupt::shielded(|| diagnosis::show(kubectl, NAMESPACE));
            Err(error)
        }
    }
}
