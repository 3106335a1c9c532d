//! Runs other programs. Their output is returned, logged or shown, and they are ended when this process is interrupted.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::interrupt;

/// A program to run. It gets its own process group: Ctrl-C reaches only this process, which then ends the whole group.
pub struct Task {
    command: Command,
    input: Option<Vec<u8>>,
}

/// The result of a finished program.
pub struct Finished {
    /// How it ended.
    pub status: ExitStatus,
    /// All of its standard output.
    pub stdout: Vec<u8>,
    /// All of its standard error.
    pub stderr: Vec<u8>,
}

impl Finished {
    /// Returns its standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Returns its standard error as text.
    pub fn complaint(&self) -> String {
        String::from_utf8_lossy(&self.stderr).trim().to_owned()
    }
}

impl Task {
    /// Returns a program without arguments, which reads nothing.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new(program);
        command.process_group(0).stdin(Stdio::null());
        Self { command, input: None }
    }

    /// Returns a program that outlives this process: in its own session, without a terminal, and with a fixed environment.
    /// Its process id is that of the child, since `setsid` executes the program in its place.
    pub fn lasting(program: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new("setsid");
        command.arg(program).env_clear().stdin(Stdio::null());
        command
            .env(
                "PATH",
                "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            )
            .env("HOME", "/root");
        Self { command, input: None }
    }

    /// Adds an argument.
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    /// Adds arguments.
    pub fn args<I, S>(mut self, arguments: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.command.args(arguments);
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Removes an environment variable.
    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Sets the folder in which the program runs.
    pub fn current_dir(mut self, folder: impl AsRef<Path>) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Sets what the program reads on its standard input.
    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = Some(bytes.into());
        self.command.stdin(Stdio::piped());
        self
    }

    /// Runs the program and returns its output. A failure of the program itself is no error.
    pub fn finish(mut self) -> Result<Finished> {
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let what = self.describe();
        let mut child = self.spawn()?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let input = self.input.take();
        thread::scope(|scope| {
            if let (Some(mut pipe), Some(input)) = (stdin, input) {
                // A program that does not read all of it reports why.
                scope.spawn(move || drop(pipe.write_all(&input)));
            }
            let stdout = scope.spawn(move || drain(stdout));
            let stderr = scope.spawn(move || drain(stderr));
            let status = wait(&mut child, &what);
            Ok(Finished {
                stdout: stdout.join().unwrap_or_default(),
                stderr: stderr.join().unwrap_or_default(),
                status: status?,
            })
        })
    }

    /// Runs the program, which must succeed, and returns its standard output.
    pub fn text(self) -> Result<String> {
        let what = self.describe();
        let finished = self.finish()?;
        if !finished.status.success() {
            bail!("`{what}` failed ({}): {}", finished.status, finished.complaint());
        }
        Ok(finished.text())
    }

    /// Runs the program, which must succeed, with its output appended to `log`.
    pub fn logged(mut self, log: &Path) -> Result<()> {
        let what = self.describe();
        let file = append(log)?;
        self.command.stdout(file.try_clone()?).stderr(file);
        let mut child = self.spawn()?;
        self.feed(&mut child)?;
        let status = wait(&mut child, &what)?;
        if !status.success() {
            bail!(
                "`{what}` failed ({status}); the end of {}:\n{}",
                log.display(),
                tail(log, 20)
            );
        }
        Ok(())
    }

    /// Runs the program, which must succeed, with its output on this terminal.
    pub fn shown(mut self) -> Result<()> {
        let what = self.describe();
        let mut child = self.spawn()?;
        let status = wait(&mut child, &what)?;
        if !status.success() {
            bail!("`{what}` failed ({status})");
        }
        Ok(())
    }

    /// Runs the program and passes each line that it prints to `line`, until it ends or `enough` is set. Its exit status
    /// does not matter.
    pub fn follow(mut self, enough: &AtomicBool, mut line: impl FnMut(&str) + Send) -> Result<()> {
        self.command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = self.spawn()?;
        let output = child.stdout.take();
        thread::scope(|scope| {
            scope.spawn(move || {
                for text in BufReader::new(output?).lines() {
                    line(&text.ok()?);
                }
                Some(())
            });
            while child.try_wait()?.is_none() {
                if enough.load(Ordering::Relaxed) || interrupt::raised() {
                    end_group(&mut child);
                    break;
                }
                thread::sleep(Duration::from_millis(50));
            }
            Ok(())
        })
    }

    /// Starts the program in the background with its output appended to `log`.
    pub fn detached(mut self, log: &Path) -> Result<Child> {
        let file = append(log)?;
        self.command.stdout(file.try_clone()?).stderr(file);
        self.spawn()
    }

    /// As [`Task::detached`], but with its standard output in a pipe.
    pub fn detached_with_output(mut self, log: &Path) -> Result<Child> {
        self.command.stdout(Stdio::piped()).stderr(append(log)?);
        self.spawn()
    }

    /// Pipes this program's output into another; both must succeed.
    pub fn piped_into(mut self, mut sink: Task, log: &Path) -> Result<()> {
        let (from, into) = (self.describe(), sink.describe());
        self.command.stdout(Stdio::piped()).stderr(append(log)?);
        let mut source = self.spawn()?;
        let pipe = source
            .stdout
            .take()
            .ok_or_else(|| anyhow!("no output of `{from}`"))?;
        let file = append(log)?;
        sink.command.stdin(pipe).stdout(file.try_clone()?).stderr(file);
        let mut child = sink.spawn()?;
        // The sink holds the pipe now. With a copy here, the source would not notice the end of a failed sink.
        drop(sink);
        let end = wait(&mut child, &into);
        let start = wait(&mut source, &from)?;
        let end = end?;
        if !(start.success() && end.success()) {
            bail!(
                "`{from} | {into}` failed ({start}, {end}); the end of {}:\n{}",
                log.display(),
                tail(log, 10)
            );
        }
        Ok(())
    }

    fn spawn(&mut self) -> Result<Child> {
        interrupt::check()?;
        self.command
            .spawn()
            .with_context(|| format!("cannot start `{}`", self.describe()))
    }

    fn feed(&mut self, child: &mut Child) -> Result<()> {
        if let (Some(mut pipe), Some(input)) = (child.stdin.take(), self.input.take()) {
            pipe.write_all(&input)?;
        }
        Ok(())
    }

    /// Returns the command line, shortened for messages.
    fn describe(&self) -> String {
        const ENOUGH: usize = 160;
        let mut line = Path::new(self.command.get_program())
            .file_name()
            .map_or_else(String::new, lossy);
        for argument in self.command.get_args() {
            if line.len() > ENOUGH {
                line.push_str(" ...");
                break;
            }
            line.push(' ');
            line.push_str(&lossy(argument));
        }
        line
    }
}

fn lossy(text: &OsStr) -> String {
    text.to_string_lossy().into_owned()
}

/// Waits for a child. If this process is interrupted, ends the child's process group.
fn wait(child: &mut Child, what: &str) -> Result<ExitStatus> {
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child
            .try_wait()
            .with_context(|| format!("waiting for `{what}`"))?
        {
            return Ok(status);
        }
        if interrupt::raised() {
            end_group(child);
            bail!("interrupted while `{what}` ran");
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(40));
    }
}

/// Asks a child's process group to end, and kills it after five seconds.
fn end_group(child: &mut Child) {
    let Ok(id) = i32::try_from(child.id()) else { return };
    let _ = killpg(Pid::from_raw(id), Signal::SIGTERM);
    let deadline = Instant::now() + Duration::from_secs(5);
    while Instant::now() < deadline {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    let _ = killpg(Pid::from_raw(id), Signal::SIGKILL);
    let _ = child.wait();
}

fn drain(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        // What was read before an error is worth showing.
        let _ = pipe.read_to_end(&mut bytes);
    }
    bytes
}

fn append(log: &Path) -> Result<File> {
    if let Some(folder) = log.parent() {
        fs::create_dir_all(folder)?;
    }
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(log)
        .with_context(|| format!("cannot write {}", log.display()))
}

/// Returns the last lines of a file, or why it cannot be read.
pub fn tail(file: &Path, lines: usize) -> String {
    match fs::read(file) {
        Err(error) => format!("({}: {error})", file.display()),
        Ok(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            let all: Vec<&str> = text.lines().collect();
            all[all.len().saturating_sub(lines)..].join("\n")
        }
    }
}

/// Waits until `ready` returns true. Fails after `limit`, or when this process is interrupted.
pub fn poll(limit: Duration, what: &str, mut ready: impl FnMut() -> Result<bool>) -> Result<()> {
    let deadline = Instant::now() + limit;
    let mut pause = Duration::from_millis(20);
    loop {
        interrupt::check()?;
        if ready().with_context(|| format!("waiting for {what}"))? {
            return Ok(());
        }
        if Instant::now() > deadline {
            bail!("{what}: not ready after {} s", limit.as_secs());
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(200));
    }
}

/// Finds a program on `PATH`, or by its absolute path.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .chain([PathBuf::from("/usr/sbin"), PathBuf::from("/sbin")])
        .map(|folder| folder.join(name))
        .find(|candidate| candidate.is_file())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Task, poll};

    #[test]
    fn a_failed_program_is_reported_with_its_complaint() {
        let error = Task::new("sh")
            .args(["-c", "echo gone wrong >&2; exit 3"])
            .text()
            .unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("gone wrong") && text.contains("exit status: 3"),
            "{text}"
        );
    }

    #[test]
    fn input_larger_than_a_pipe_arrives_whole() {
        let input = "x".repeat(1 << 20);
        assert_eq!(Task::new("cat").input(input.clone()).text().unwrap(), input);
    }

    #[test]
    fn a_pipe_fails_when_either_end_fails() {
        let log = std::env::temp_dir().join(format!("xtask-pipe-{}", std::process::id()));
        let yes = || Task::new("sh").args(["-c", "cat; true"]);
        let no = || Task::new("sh").args(["-c", "exit 1"]);
        assert!(yes().piped_into(yes(), &log).is_ok());
        assert!(yes().piped_into(no(), &log).is_err());
        assert!(no().piped_into(yes(), &log).is_err());
        std::fs::remove_file(log).unwrap();
    }

    #[test]
    fn waiting_ends_with_the_limit() {
        let error = poll(Duration::ZERO, "the moon", || Ok(false)).unwrap_err();
        assert!(error.to_string().contains("the moon: not ready"), "{error}");
    }
}
