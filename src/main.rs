//! The `trainer` program.

fn main() -> std::process::ExitCode {
    trainer::cli::run()
}
