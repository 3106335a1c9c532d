//! Arguments that the offline commands share.

use std::path::PathBuf;

/// The files of the offline commands.
#[derive(clap::Args)]
pub(super) struct Files {
    /// Files with TrainJobs, the runtimes they name (the shipped ones are known) and, where they matter, facts of the
    /// cluster: an existing JobSet or runtime snapshot; - is standard input
    #[arg(short = 'f', long = "filename", value_name = "FILE", required = true, num_args = 1..)]
    pub(super) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) settings: Settings,
}

/// What the offline commands take for granted.
#[derive(clap::Args)]
pub(super) struct Settings {
    /// Namespace of objects that name none
    #[arg(short, long, default_value = "default")]
    pub(super) namespace: String,
    /// Name of a resource that counts whole accelerators, as the controller is told; may be given several times
    #[arg(long = "accelerator-resource", value_name = "NAME")]
    pub(super) accelerator_resources: Vec<String>,
}
