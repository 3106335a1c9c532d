//! Arguments that the offline commands share.

use std::path::PathBuf;

/// The files of the offline commands.
#[derive(clap::Args)]
pub(super) struct Files {
    /// Files with TrainJobs, their runtimes (the shipped ones are built in), and facts of the cluster such as an
    /// existing JobSet; - is standard input
    #[arg(short = 'f', long = "filename", value_name = "FILE", required = true, num_args = 1..)]
    pub(super) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) settings: Settings,
}

/// Settings of the offline commands.
#[derive(clap::Args)]
pub(super) struct Settings {
    /// Namespace of objects without one
    #[arg(short, long, default_value = "default")]
    pub(super) namespace: String,
    /// Name of a resource that counts whole accelerators, as in the controller's flag; may be repeated
    #[arg(long = "accelerator-resource", value_name = "NAME")]
    pub(super) accelerator_resources: Vec<String>,
}
