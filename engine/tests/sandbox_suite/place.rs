//! A resource, a store and the sandboxes between them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use turnback_engine::sandbox::{MechanismChoice, StrategyName};
use turnback_engine::{Change, Context, Manager, Sandbox, SandboxOptions, Sandboxes};

use crate::common::picture::Tree;
use crate::common::place::open;
use crate::ground::{Ground, Kind};

pub struct Place {
    pub ground: Ground,
    pub manager: Manager,
    pub sandboxes: Sandboxes,
}

pub fn ctx() -> Context {
    Context::default()
}

impl Place {
    pub fn here() -> Self {
        Self::on(Kind::Here).unwrap()
    }

    pub fn on(kind: Kind) -> Option<Self> {
        Self::sized(kind, "400M")
    }

    pub fn sized(kind: Kind, size: &str) -> Option<Self> {
        let ground = kind.ground_of(size)?;
        kind.make_resource(&ground.path.join("work"));
        let manager = open(&ground.path.join("store")).unwrap();
        let sandboxes = Sandboxes::new(&manager);
        Some(Self { ground, manager, sandboxes })
    }

    pub fn dir(&self) -> &Path {
        &self.ground.path
    }

    pub fn resource(&self) -> PathBuf {
        self.dir().join("work")
    }

    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let full = self.resource().join(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, bytes).unwrap();
    }

    pub fn tree(&self) -> Tree {
        Tree::of(&self.resource())
    }

    pub fn options(&self) -> SandboxOptions {
        SandboxOptions::new(self.resource())
    }

    pub fn with(&self, strategy: StrategyName, mechanism: MechanismChoice) -> SandboxOptions {
        SandboxOptions { strategy, mechanism, ..self.options() }
    }

    pub fn create(&self) -> Arc<dyn Sandbox> {
        self.sandboxes.create(&self.options(), &ctx()).unwrap()
    }

    /// Where sandboxes lie by default.
    pub fn base(&self) -> PathBuf {
        self.dir().join("store-sandboxes")
    }

    /// Nothing of any sandbox is left: no directory, no record, no stat cache, no lock, no checkpoint but those named.
    #[track_caller]
    pub fn is_clean(&self, checkpoints: usize) {
        assert!(!self.base().exists(), "the directory of sandboxes is left");
        let store = self.dir().join("store");
        for name in ["sandboxes", "tmp", "workspaces"] {
            let left: Vec<_> = match fs::read_dir(store.join(name)) {
                Ok(entries) => entries.map(|e| e.unwrap().path()).collect(),
                Err(_) => Vec::new(),
            };
            let ours = self.manager.sandbox_id_of(&self.resource()).unwrap();
            let left: Vec<_> = left.into_iter().filter(|p| !p.ends_with(ours.as_str())).collect();
            assert_eq!(left, Vec::<PathBuf>::new(), "left in the store");
        }
        assert_eq!(self.manager.list(None).unwrap().checkpoints.len(), checkpoints);
    }
}

/// The paths of changes, with their kinds.
pub fn shown(changes: &[Change]) -> Vec<(String, &'static str)> {
    changes.iter().map(|c| (c.path.to_string(), c.kind.as_str())).collect()
}

pub fn changes(sandbox: &Arc<dyn Sandbox>) -> Vec<(String, &'static str)> {
    shown(&sandbox.changes(&ctx()).unwrap())
}
