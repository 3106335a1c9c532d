//! The committed CRDs are the generated ones; that the chart has the same is tested with the chart.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn yaml_files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("the folder can be listed").path());
    paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_committed_crds_are_the_generated_ones() {
    let generated = trainer::schema::crds_yaml().expect("CRDs are YAML");
    let generated: BTreeSet<_> = generated
        .split("---\n")
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
        .collect();
    let committed = yaml_files("crds");
    assert_eq!(committed.len(), 3, "{committed:?}");
    for path in committed {
        let text = read(&path);
        let text = text.strip_prefix("---\n").expect("a file starts a document");
        assert!(
            generated.contains(text),
            "{} is out of date; run `cargo xtask generate`",
            path.display()
        );
    }
}
