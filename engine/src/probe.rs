//! What this machine and these file systems can do, with reasons: `turnback doctor` shows it.

use std::os::fd::AsFd;
use std::path::Path;

use rustix::process::{Resource, getrlimit};

use crate::error::{Error, Result};
use crate::sandbox::Mechanism;
use crate::tree::sys;

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What was looked at.
    pub name: &'static str,
    /// Whether it is as good as it can be.
    pub ok: bool,
    /// What was found and what follows.
    pub detail: String,
}

/// How sandboxes of a directory can be made, the best way first, each with its reason. Decided by trying; writes nothing to the
/// directory.
///
/// # Errors
/// When the directory cannot be read, or there is no place for sandboxes.
pub fn sandbox_mechanisms(directory: &Path, store: &Path) -> Result<Vec<Finding>> {
    let found = crate::sandbox::mechanisms(directory, store)?;
    Ok(found.into_iter().map(|(name, ok, detail)| Finding { name, ok, detail }).collect())
}

/// Looks at the machine, a workspace and a store. Writes nothing to the workspace.
///
/// # Errors
/// When the workspace or the store cannot be opened.
pub fn probe(directory: &Path, store: &Path) -> Result<Vec<Finding>> {
    let root = sys::open_root(directory).map_err(|e| Error::io("opening the workspace", e).at(directory))?;
    let mut findings = Vec::new();
    let mut note = |name, ok, detail: String| findings.push(Finding { name, ok, detail });
    let system = rustix::system::uname();
    note(
        "system",
        cfg!(target_os = "linux"),
        format!("{} {}", system.sysname().to_string_lossy(), system.release().to_string_lossy()),
    );
    let openat2 = sys::has_openat2();
    let how = if openat2 {
        "the kernel keeps every path beneath the root".to_owned()
    } else {
        "not available here: every name is opened on its own and its mount compared".to_owned()
    };
    note("openat2", openat2, how);
    for (name, path) in [("workspace file system", directory), ("store file system", store)] {
        let fs = rustix::fs::statfs(path).map_err(|e| Error::io("examining a file system", e).at(path))?;
        let (kind, known) = file_system(fs.f_type as u64);
        let free = (fs.f_bavail as u64).saturating_mul(fs.f_bsize as u64);
        let detail = if known {
            format!("{kind}, {} MiB free", free >> 20)
        } else {
            format!("{kind}, {} MiB free; timestamps younger than two seconds are not trusted", free >> 20)
        };
        note(name, known, detail);
    }
    let (_, born) = sys::birth(root.as_fd()).map_err(|e| Error::io("identifying the workspace", e))?;
    let detail = if born.is_some() {
        "kept by the file system"
    } else {
        "not kept: a replaced root is told by its inode alone"
    };
    note("birth times", born.is_some(), detail.to_owned());
    let xattrs = rustix::fs::flistxattr(&root, &mut [0u8; 0][..]);
    let has_xattrs = !matches!(xattrs, Err(rustix::io::Errno::OPNOTSUPP));
    let detail = if has_xattrs { "kept by the file system" } else { "the file system has none" };
    note("extended attributes", has_xattrs, detail.to_owned());
    let (ok, detail) = sandboxes(directory, store);
    note("sandboxes", ok, detail);
    let root_user = rustix::process::geteuid().is_root();
    let detail =
        if root_user { "we may give files to any owner" } else { "only our own files get their owner back" };
    note("owners", root_user, detail.to_owned());
    let files = getrlimit(Resource::Nofile).current;
    note(
        "open files",
        files.is_none_or(|n| n >= 512),
        files.map_or_else(|| "unlimited".to_owned(), |n| format!("at most {n}; a walk holds up to 256")),
    );
    Ok(findings)
}

/// How sandboxes would be made and why not better; where there is no place for them, why.
fn sandboxes(directory: &Path, store: &Path) -> (bool, String) {
    let found = match sandbox_mechanisms(directory, store) {
        Ok(found) => found,
        Err(error) => return (false, error.to_string()),
    };
    let Some(used) = found.iter().position(|one| one.ok) else {
        return (false, "copy_on_write does not work here".to_owned());
    };
    let said = found.iter().take(used + 1).rev().map(|one| match one.ok {
        true => format!("copy_on_write uses `{}`: {}", one.name, one.detail),
        false => format!("not `{}`: {}", one.name, one.detail),
    });
    let shares = found.get(used).is_some_and(|one| one.name != Mechanism::Copy.as_str());
    (shares, said.collect::<Vec<_>>().join("; "))
}

fn file_system(magic: u64) -> (String, bool) {
    let name = match magic {
        0xef53 => "ext4",
        0x5846_5342 => "XFS",
        0x9123_683e => "btrfs",
        0x0102_1994 => "tmpfs",
        0x794c_7630 => "overlay",
        0xf2f5_2010 => "F2FS",
        0x2fc1_2fc1 => "ZFS",
        0x6969 => return ("NFS".to_owned(), false),
        0x6573_5546 => return ("FUSE".to_owned(), false),
        0x0102_1997 => return ("9p".to_owned(), false),
        other => return (format!("unknown (0x{other:x})"), false),
    };
    (name.to_owned(), true)
}
