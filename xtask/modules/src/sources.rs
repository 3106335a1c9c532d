//! The modules of a crate, as `mod` declares them from `lib.rs` and `main.rs` on, and what each of them imports.

use std::collections::BTreeMap;
use std::fs;
use std::path;

use anyhow::{Context, Result};
use syn::Item;

use crate::names::{Names, Path};
use crate::paths::{self, Usage};

/// The modules of a crate.
pub struct Sources {
    pub(crate) modules: BTreeMap<Path, Module>,
}

pub(crate) struct Module {
    /// Below the crate's `src`.
    pub(crate) file: String,
    pub(crate) imports: Vec<Import>,
    names: Names,
}

/// A path of the crate that a module contains.
pub(crate) struct Import {
    /// From the crate's root, as it is written: what re-exports it is not skipped.
    pub(crate) path: Path,
    pub(crate) line: usize,
    /// Whether it only passes a name on to others.
    pub(crate) reexport: bool,
}

/// Texts by their path below `src`.
type Files = BTreeMap<String, String>;

impl Sources {
    /// Reads the crate whose `lib.rs`, `main.rs`, or both are in a folder.
    pub fn read(folder: &path::Path, library: &str) -> Result<Self> {
        let mut files = Files::new();
        read_files(folder, "", &mut files)?;
        Self::parse(&files, library)
    }

    /// As [`Self::read`], from texts.
    fn parse(files: &Files, library: &str) -> Result<Self> {
        let mut parser = Parser {
            files,
            library,
            root: Path::new(),
            modules: BTreeMap::new(),
        };
        for (file, root) in [("lib.rs", Path::new()), ("main.rs", vec!["main".to_owned()])] {
            if files.contains_key(file) {
                parser.root.clone_from(&root);
                parser.add_file(file, root, "")?;
            }
        }
        Ok(Self {
            modules: parser.modules,
        })
    }

    /// Returns the number of modules.
    pub fn count(&self) -> usize {
        self.modules.len()
    }

    /// Returns the module that defines what a path names, through all re-exports.
    pub(crate) fn origin(&self, path: &[String]) -> Option<Path> {
        const LONGEST_CHAIN: usize = 16;
        let mut path = path.to_vec();
        for _ in 0..LONGEST_CHAIN {
            let module = self.module_of(&path)?;
            let rest = &path[module.len()..];
            let bound = rest.split_first().and_then(|(name, rest)| {
                let target = self.modules[module].names.bound(name)?;
                Some([target, rest].concat())
            });
            match bound {
                Some(further) => path = further,
                None => return Some(module.to_vec()),
            }
        }
        None
    }

    /// Returns the innermost module in a path.
    fn module_of<'a>(&self, path: &'a [String]) -> Option<&'a [String]> {
        (0..=path.len())
            .rev()
            .map(|length| &path[..length])
            .find(|module| self.modules.contains_key(*module))
    }
}

struct Parser<'a> {
    files: &'a Files,
    library: &'a str,
    root: Path,
    modules: BTreeMap<Path, Module>,
}

impl Parser<'_> {
    /// Adds the module of a file, whose children are in `folder`.
    fn add_file(&mut self, file: &str, module: Path, folder: &str) -> Result<()> {
        let parsed = syn::parse_file(&self.files[file]).with_context(|| format!("cannot parse {file}"))?;
        self.add(file, module, folder, &parsed.items)
    }

    fn add(&mut self, file: &str, module: Path, folder: &str, items: &[Item]) -> Result<()> {
        let (written, children) = paths::read(items);
        let declared = children.iter().map(|child| child.name.clone()).collect();
        let mut names = Names::new(self.library, &self.root, &module, declared);
        names.bind(&written);
        let imports = written.iter().filter_map(|one| {
            Some(Import {
                path: names.resolve(&one.path)?,
                line: one.line,
                reexport: matches!(one.usage, Usage::Reexport(_)),
            })
        });
        let imports = imports.collect();
        for child in children {
            let path = [module.as_slice(), std::slice::from_ref(&child.name)].concat();
            let below = format!("{folder}{}/", child.name);
            if let Some(items) = child.items {
                self.add(file, path, &below, items)?;
            } else {
                let places = [format!("{folder}{}.rs", child.name), format!("{below}mod.rs")];
                let place = places.iter().find(|place| self.files.contains_key(*place));
                let place =
                    place.with_context(|| format!("{file}: no file for the module {}", child.name))?;
                self.add_file(place, path, &below)?;
            }
        }
        let file = file.to_owned();
        self.modules.insert(module, Module { file, imports, names });
        Ok(())
    }
}

/// Reads all Rust files of a folder and those below.
fn read_files(folder: &path::Path, name: &str, files: &mut Files) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        let name = format!("{name}{}", path.file_name().unwrap_or_default().to_string_lossy());
        if path.is_dir() {
            read_files(&path, &format!("{name}/"), files)?;
        } else if path.extension().is_some_and(|end| end == "rs") {
            files.insert(name, fs::read_to_string(&path)?);
        }
    }
    Ok(())
}

#[cfg(test)]
impl Sources {
    /// Reads a crate called `library` from files and their texts.
    pub(crate) fn of_texts(files: &[(&str, &str)]) -> Self {
        let owned = |(file, text): &(&str, &str)| ((*file).to_owned(), (*text).to_owned());
        Self::parse(&files.iter().map(owned).collect(), "library").unwrap()
    }
}
