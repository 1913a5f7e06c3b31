//! The file systems on which sandboxes are tried: loop mounts where root may make them.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::common::place::is_root;
use crate::common::process::{Mount, skip};

/// A directory on a file system of a kind, which goes with this value.
pub struct Ground {
    pub path: PathBuf,
    /// Before the directory: mounts go first.
    _mount: Option<Mount>,
    _dir: TempDir,
}

/// Makes a subvolume with the program that comes with `mkfs.btrfs`.
pub fn subvolume(at: &Path) {
    let made = Command::new("btrfs").args(["-q", "subvolume", "create"]).arg(at).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Wherever temporary directories are.
    Here,
    Tmpfs,
    Ext4,
    Xfs,
    Btrfs,
    /// btrfs, with a resource that is a subvolume.
    Subvolume,
}

impl Kind {
    /// `None`, and the reason printed, where it cannot be had.
    pub fn ground_of(self, size: &str) -> Option<Ground> {
        let dir = tempfile::tempdir().unwrap();
        if self == Self::Here {
            return Some(Ground { path: dir.path().to_owned(), _mount: None, _dir: dir });
        }
        if !is_root() {
            skip(&format!("only root mounts ({self:?})"));
            return None;
        }
        let at = dir.path().join("mnt");
        std::fs::create_dir(&at).unwrap();
        let mount = match self {
            Self::Tmpfs => Mount::new(&["-t", "tmpfs", "-o", "mode=700", "tmpfs"], &at),
            _ => self.looped(dir.path(), size, &at),
        };
        let Some(mount) = mount else {
            skip(&format!("{self:?} cannot be made or mounted here"));
            return None;
        };
        Some(Ground { path: at, _mount: Some(mount), _dir: dir })
    }

    /// Makes the directory that is to be isolated.
    pub fn make_resource(self, at: &Path) {
        if self == Self::Subvolume {
            subvolume(at);
        } else {
            std::fs::create_dir(at).unwrap();
        }
    }

    fn looped(self, dir: &Path, size: &str, at: &Path) -> Option<Mount> {
        let image = dir.join("image");
        let (program, arguments): (_, &[&str]) = match self {
            Self::Xfs => ("mkfs.xfs", &["-q"]),
            Self::Btrfs | Self::Subvolume => ("mkfs.btrfs", &["-q"]),
            _ => ("mkfs.ext4", &["-q", "-F"]),
        };
        // The administrator's programs are not in every path.
        let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
        let run = |program: &str, arguments: &[&str]| {
            let done = Command::new(program).args(arguments).arg(&image).env("PATH", &path).output();
            done.is_ok_and(|output| output.status.success())
        };
        if !run("truncate", &["-s", size]) || !run(program, arguments) {
            return None;
        }
        let mount = Mount::new(&["-o", "loop", image.to_str()?], at)?;
        std::fs::set_permissions(at, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        Some(mount)
    }
}
