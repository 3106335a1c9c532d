//! The command line: files in, text out. Imports all other modules; decides nothing.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the command line reads files and standard input"
)]

mod explain;
mod gang;
mod input;
mod offline;
mod output;
mod render;
mod settings;
mod tree;
mod validate;
mod yaml;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use output::Exit;

/// Runs distributed training jobs on Kubernetes, and renders, checks and explains them offline
#[derive(Parser)]
#[command(name = "trainer", version, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Render(render::Render),
    Validate(validate::Validate),
    Explain(explain::Explain),
    #[cfg(feature = "controller")]
    Controller(crate::controller::Options),
    /// Installs the shipped ClusterTrainingRuntimes in the cluster, or removes them
    #[cfg(feature = "controller")]
    #[command(subcommand)]
    Runtimes(crate::controller::Runtimes),
    /// Prints the CustomResourceDefinitions
    Crds,
    /// Prints the version
    Version,
    /// Prints the completion script of a shell
    Completion {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// Runs the program.
pub fn run() -> ExitCode {
    match dispatch(Cli::parse().command) {
        Ok(exit) => ExitCode::from(exit as u8),
        Err(error) => {
            // The terminal may be what failed. Then the error cannot be printed.
            let _ = output::err(format!("{} {error:#}", output::styled(output::BAD, "error:")));
            ExitCode::from(Exit::Unreadable as u8)
        }
    }
}

fn dispatch(command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Render(render) => return render.run(),
        Command::Validate(validate) => return validate.run(),
        Command::Explain(explain) => return explain.run(),
        #[cfg(feature = "controller")]
        Command::Controller(options) => crate::controller::run(&options)?,
        #[cfg(feature = "controller")]
        Command::Runtimes(runtimes) => {
            for line in runtimes.run()? {
                output::out(format!("{line}\n"))?;
            }
        }
        Command::Crds => output::out(crate::schema::crds_yaml()?)?,
        Command::Version => output::out(format!("trainer {}\n", env!("CARGO_PKG_VERSION")))?,
        Command::Completion { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "trainer", &mut script);
            output::out(String::from_utf8_lossy(&script))?;
        }
    }
    Ok(Exit::Good)
}
