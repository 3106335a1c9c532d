//! The runtimes that ship with the program, embedded from `runtimes/`, so that offline commands know them.

use serde_json::Value;

/// Names a file of `runtimes/` and embeds it.
macro_rules! file {
    ($name:literal) => {
        ($name, include_str!(concat!("../../runtimes/", $name)))
    };
}

/// File name and text of each shipped runtime.
pub const FILES: [(&str, &str); 17] = [
    file!("torch-distributed.yaml"),
    file!("torch-elastic.yaml"),
    file!("torch-distributed-with-cache.yaml"),
    file!("torchtune-llama3.2-1b.yaml"),
    file!("torchtune-llama3.2-3b.yaml"),
    file!("torchtune-qwen2.5-1.5b.yaml"),
    file!("jax-distributed.yaml"),
    file!("xgboost-distributed.yaml"),
    file!("tensorflow-distributed.yaml"),
    file!("tensorflow-parameter-server.yaml"),
    file!("paddle-distributed.yaml"),
    file!("paddle-parameter-server.yaml"),
    file!("deepspeed-distributed.yaml"),
    file!("mlx-distributed.yaml"),
    file!("mpi-distributed.yaml"),
    file!("mpi-mpich-distributed.yaml"),
    file!("mpi-intel-distributed.yaml"),
];

/// Reads the shipped runtimes as they would be applied.
pub fn runtimes() -> Result<Vec<Value>, serde_saphyr::Error> {
    FILES
        .iter()
        .map(|(_, text)| serde_saphyr::from_str(text))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn every_file_of_the_folder_is_embedded() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("runtimes");
        let found: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".yaml") && name != "kustomization.yaml")
            .collect();
        let known: BTreeSet<String> = super::FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(known, found);
    }

    #[test]
    fn every_shipped_runtime_can_be_read() {
        assert_eq!(super::runtimes().unwrap().len(), super::FILES.len());
    }
}
