//! The copy in which the faults are planted. What did not change is not written again, so that a
//! second run builds little.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::faults::Fault;

/// What the checks are built from.
const PARTS: [&str; 4] = ["Cargo.toml", "Cargo.lock", "src", "tests"];

pub(crate) struct Tree {
    pub(crate) root: PathBuf,
    pub(crate) target: PathBuf,
}

/// A fault that stands in the copy.
pub(crate) struct Planted {
    path: PathBuf,
    whole: String,
}

impl Tree {
    pub(crate) fn copy(from: &Path, folder: &Path) -> Result<Tree, String> {
        fs::create_dir_all(folder.join("tree"))
            .map_err(|e| format!("{}: {e}", folder.display()))?;
        let folder = folder.canonicalize().map_err(|e| format!("{}: {e}", folder.display()))?;
        let tree = Tree { root: folder.join("tree"), target: folder.join("target") };
        for part in PARTS {
            let (from, to) = (from.join(part), tree.root.join(part));
            mirror(&from, &to).map_err(|e| format!("{}: {e}", from.display()))?;
        }
        Ok(tree)
    }

    pub(crate) fn plant(&self, fault: &Fault) -> Result<Planted, String> {
        let (whole, changed) = fault.apply(&self.root)?;
        let path = self.root.join(&fault.path);
        fs::write(&path, changed).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Planted { path, whole })
    }
}

impl Planted {
    pub(crate) fn mend(self) -> Result<(), String> {
        fs::write(&self.path, self.whole).map_err(|e| format!("{}: {e}", self.path.display()))
    }
}

fn mirror(from: &Path, to: &Path) -> std::io::Result<()> {
    if !from.is_dir() {
        let bytes = fs::read(from)?;
        return match fs::read(to) {
            Ok(known) if known == bytes => Ok(()),
            _ => fs::write(to, bytes),
        };
    }
    fs::create_dir_all(to)?;
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(from)? {
        let name = entry?.file_name();
        mirror(&from.join(&name), &to.join(&name))?;
        names.insert(name);
    }
    for entry in fs::read_dir(to)? {
        let entry = entry?;
        if !names.contains(&entry.file_name()) {
            let path = entry.path();
            if path.is_dir() { fs::remove_dir_all(path)? } else { fs::remove_file(path)? }
        }
    }
    Ok(())
}
