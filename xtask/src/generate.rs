//! Writes the files that are generated from others, or lists those that are out of date.
//!
//! Knows paths and copies bytes. Does not know what is in a CRD.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::cargo::cargo;
use crate::core_types;

const CRDS: &str = "crds";
const RUNTIMES: &str = "runtimes";
const CHART_FILES: &str = "charts/kubeflow-trainer/files";

/// Writes CRDs and the chart's copies of CRDs and runtimes.
#[derive(clap::Args)]
pub(crate) struct Generate {
    /// Change nothing; fail with a list of the files that would change.
    #[arg(long)]
    check: bool,
    /// First generate the table of Kubernetes' own types, from a Kubernetes source tree's api/openapi-spec/v3.
    #[arg(long, value_name = "DIR", conflicts_with = "check")]
    openapi: Option<PathBuf>,
}

impl Generate {
    /// Returns the task that only lists what is out of date.
    pub(crate) fn check() -> Self {
        Self {
            check: true,
            openapi: None,
        }
    }

    /// Runs the task in the workspace at `root`.
    pub(crate) fn run(&self, root: &Path) -> Result<()> {
        if let Some(openapi) = &self.openapi {
            for (path, text) in core_types::generate(openapi)? {
                write(&root.join(path), text.as_bytes())?;
            }
        }
        let files = files(root)?;
        if self.check {
            check(root, &files)
        } else {
            update(root, &files)
        }
    }
}

/// A generated file: its path in the workspace, and its content.
type File = (PathBuf, Vec<u8>);

fn files(root: &Path) -> Result<Vec<File>> {
    let mut files = Vec::new();
    for (name, text) in crds()? {
        files.push((Path::new(CRDS).join(&name), text.clone()));
        files.push((Path::new(CHART_FILES).join(CRDS).join(&name), text));
    }
    for path in yaml_files(&root.join(RUNTIMES))? {
        let name = path.file_name().context("a runtime has a file name")?;
        files.push((Path::new(CHART_FILES).join(RUNTIMES).join(name), fs::read(&path)?));
    }
    Ok(files)
}

/// Runs the program without the controller, and returns its CRDs, each with the name of its file.
fn crds() -> Result<Vec<(String, Vec<u8>)>> {
    let crds = [
        "run",
        "--quiet",
        "--package",
        "trainer",
        "--no-default-features",
        "--",
        "crds",
    ];
    let text = cargo(crds).text()?;
    text.split("---\n")
        .filter(|document| !document.trim().is_empty())
        .map(crd)
        .collect()
}

/// Names a CRD's file as controller-gen would: group, then plural.
fn crd(document: &str) -> Result<(String, Vec<u8>)> {
    let name = document
        .lines()
        .find_map(|line| line.strip_prefix("  name: "))
        .and_then(|name| name.split_once('.'));
    let Some((plural, group)) = name else {
        bail!("a document of `trainer crds` has no metadata.name");
    };
    Ok((
        format!("{group}_{plural}.yaml"),
        format!("---\n{document}").into_bytes(),
    ))
}

fn yaml_files(folder: &Path) -> Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("listing {}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Lists the files in the generated folders that are no longer generated.
fn leftovers(root: &Path, files: &[File]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let chart = Path::new(CHART_FILES);
    for folder in [PathBuf::from(CRDS), chart.join(CRDS), chart.join(RUNTIMES)] {
        for path in yaml_files(&root.join(folder))? {
            let path = path.strip_prefix(root)?.to_owned();
            if !files.iter().any(|(generated, _)| *generated == path) {
                found.push(path);
            }
        }
    }
    Ok(found)
}

fn update(root: &Path, files: &[File]) -> Result<()> {
    for (path, content) in files {
        write(&root.join(path), content)?;
    }
    for path in leftovers(root, files)? {
        fs::remove_file(root.join(&path)).with_context(|| format!("removing {}", path.display()))?;
    }
    Ok(())
}

fn check(root: &Path, files: &[File]) -> Result<()> {
    let stale = |(path, content): &&File| fs::read(root.join(path)).ok().as_ref() != Some(content);
    let mut drifted: Vec<_> = files.iter().filter(stale).map(|(path, _)| path.clone()).collect();
    drifted.extend(leftovers(root, files)?);
    let list: Vec<_> = drifted.iter().map(|path| path.display().to_string()).collect();
    ensure!(
        list.is_empty(),
        "out of date; run `cargo xtask generate`:\n  {}",
        list.join("\n  ")
    );
    Ok(())
}

/// Writes a file if it differs, so that nothing that depends on it is built again in vain.
fn write(path: &Path, content: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|old| old == content) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    }
    fs::write(path, content).with_context(|| format!("writing {}", path.display()))
}
