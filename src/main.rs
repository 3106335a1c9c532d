//! The `trainer` program.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

fn main() -> std::process::ExitCode {
    trainer::cli::run()
}
