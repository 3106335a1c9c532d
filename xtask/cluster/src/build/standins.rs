//! Stand-ins for NVIDIA's libraries.
//!
//! PyTorch's CUDA build lists them as needed, so the dynamic linker loads PyTorch only if there are files with the right
//! names, symbols and symbol versions. Without calls of CUDA functions that suffices: a stand-in has 64 zero bytes for
//! each symbol that PyTorch refers to, with the expected version.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use object::elf::{FileHeader64, SHN_UNDEF};
use object::read::elf::{Dyn, FileHeader, Sym};
use object::{Endianness, elf};

use crate::process::Task;

/// Part of the cache key of layers with stand-ins.
pub(crate) const RECIPE: &str = "1";

/// NVIDIA's libraries that PyTorch needs: each with its folder below `nvidia/`, and the prefix of its symbols where the
/// library has no symbol versions.
const LIBRARIES: [(&str, &str, &str); 14] = [
    ("libcublas.so.13", "cu13", "cublas"),
    ("libcublasLt.so.13", "cu13", "cublasLt"),
    ("libcufft.so.12", "cu13", "cufft"),
    ("libcufile.so.0", "cu13", "cuFile"),
    ("libcupti.so.13", "cu13", "cupti"),
    ("libcurand.so.10", "cu13", "curand"),
    ("libcusolver.so.12", "cu13", "cusolver"),
    ("libcusparse.so.12", "cu13", "cusparse"),
    ("libnvrtc.so.13", "cu13", "nvrtc"),
    ("libnvJitLink.so.13", "cu13", "nvJitLink"),
    ("libcudnn.so.9", "cudnn", "cudnn"),
    ("libcusparseLt.so.0", "cusparselt", "cusparseLt"),
    ("libnccl.so.2", "nccl", "nccl"),
    ("libnvshmem_host.so.3", "nvshmem", "nvshmem"),
];

/// What all of PyTorch's libraries expect of others.
#[derive(Default)]
struct Wanted {
    /// Libraries.
    needed: BTreeSet<String>,
    /// Versioned symbols: library, version, symbols.
    versioned: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
    /// Symbols without a library.
    unversioned: BTreeSet<String>,
}

/// Adds the stand-ins to a folder of Python libraries with PyTorch.
pub(crate) fn add(libraries: &Path) -> Result<()> {
    let mut wanted = Wanted::default();
    for folder in [libraries.join("torch"), libraries.join("torch/lib")] {
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))? {
            let path = entry?.path();
            if path.is_file()
                && path
                    .file_name()
                    .is_some_and(|name| name.to_string_lossy().contains(".so"))
            {
                read(&path, &mut wanted).with_context(|| format!("cannot read {}", path.display()))?;
            }
        }
    }
    for (library, folder, prefix) in LIBRARIES {
        let file = libraries.join("nvidia").join(folder).join("lib").join(library);
        if wanted.needed.contains(library) && !file.exists() {
            link(&file, library, prefix, &wanted)?;
        }
    }
    Ok(())
}

/// Records what one library expects.
fn read(path: &Path, wanted: &mut Wanted) -> Result<()> {
    let data = fs::read(path)?;
    let data = data.as_slice();
    let header = FileHeader64::<Endianness>::parse(data)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, data)?;
    let name = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();

    if let Some((entries, strings)) = sections.dynamic(endian, data)? {
        let strings = sections.strings(endian, data, strings)?;
        for entry in entries {
            if entry.tag(endian) == elf::DT_NEEDED {
                wanted.needed.insert(name(entry.string(endian, strings)?));
            }
        }
    }
    // Library and version by version index.
    let mut origins: BTreeMap<u16, (String, String)> = BTreeMap::new();
    if let Some((mut needs, strings)) = sections.gnu_verneed(endian, data)? {
        let strings = sections.strings(endian, data, strings)?;
        while let Some((need, mut versions)) = needs.next()? {
            let library = name(need.file(endian, strings)?);
            while let Some(version) = versions.next()? {
                let index = version.vna_other.get(endian) & elf::VERSYM_VERSION;
                origins.insert(index, (library.clone(), name(version.name(endian, strings)?)));
            }
        }
    }
    for (library, version) in origins.values() {
        wanted
            .versioned
            .entry(library.clone())
            .or_default()
            .entry(version.clone())
            .or_default();
    }
    let symbols = sections.symbols(endian, data, elf::SHT_DYNSYM)?;
    let versions = sections
        .gnu_versym(endian, data)?
        .map_or(&[][..], |(versions, _)| versions);
    for (index, symbol) in symbols.enumerate() {
        if symbol.st_shndx(endian) != SHN_UNDEF {
            continue;
        }
        let symbol = name(symbol.name(endian, symbols.strings())?);
        let version = versions
            .get(index.0)
            .map(|version| version.0.get(endian) & elf::VERSYM_VERSION);
        match version.and_then(|version| origins.get(&version)) {
            Some((library, version)) => {
                let of_library = wanted.versioned.entry(library.clone()).or_default();
                of_library.entry(version.clone()).or_default().insert(symbol);
            }
            None => drop(wanted.unversioned.insert(symbol)),
        }
    }
    Ok(())
}

/// Writes a stand-in with the C compiler.
fn link(file: &Path, soname: &str, prefix: &str, wanted: &Wanted) -> Result<()> {
    let folder = file.parent().map(Path::to_owned).unwrap_or_default();
    fs::create_dir_all(&folder)?;
    let (symbols, versions) = wanted.from(soname, prefix);
    let source: String = symbols.iter().map(|symbol| zeroes(symbol)).collect();
    let (assembly, script) = (with_suffix(file, ".s"), with_suffix(file, ".map"));
    fs::write(&assembly, format!(".bss\n{source}"))?;
    fs::write(&script, &versions)?;
    let mut task = Task::new("gcc").args(["-shared", "-nostdlib", "-o"]).arg(file);
    task = task.arg(format!("-Wl,-soname,{soname}"));
    if !versions.is_empty() {
        task = task.arg(format!("-Wl,--version-script,{}", script.display()));
    }
    task.arg(&assembly).text()?;
    fs::remove_file(assembly)?;
    fs::remove_file(script)?;
    Ok(())
}

impl Wanted {
    /// Returns the symbols to define in a library, and the linker's version script for them. The script is empty where the
    /// library has no versions.
    fn from(&self, soname: &str, prefix: &str) -> (BTreeSet<&str>, String) {
        let Some(versions) = self.versioned.get(soname) else {
            let all = self.unversioned.iter().map(String::as_str);
            return (
                all.filter(|symbol| symbol.starts_with(prefix)).collect(),
                String::new(),
            );
        };
        let script = |(version, symbols): (&String, &BTreeSet<String>)| {
            let names: Vec<&str> = symbols.iter().map(String::as_str).collect();
            let exported = if names.is_empty() {
                "*".to_owned()
            } else {
                names.join("; ")
            };
            [version, " { global: ", &exported, "; };\n"].concat()
        };
        let symbols = versions.values().flatten().map(String::as_str).collect();
        (symbols, versions.iter().map(script).collect())
    }
}

/// Returns assembly for a symbol of 64 zero bytes.
fn zeroes(symbol: &str) -> String {
    format!(".globl {symbol}\n.type {symbol},@object\n.size {symbol},64\n{symbol}: .skip 64\n")
}

fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
