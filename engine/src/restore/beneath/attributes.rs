//! Extended attributes of an open file or directory, those of the allow-list (C6, input 20).

use std::os::fd::BorrowedFd;

use rustix::fs::XattrFlags;
use rustix::io::Errno;

use crate::model::Xattrs;

/// The largest list of names and the largest value that Linux has.
const LARGEST: usize = 64 << 10;

fn grown(mut call: impl FnMut(&mut [u8]) -> Result<usize, Errno>) -> Result<Vec<u8>, Errno> {
    let mut small = [0u8; 256];
    match call(&mut small) {
        Ok(length) => Ok(small.get(..length).unwrap_or_default().to_vec()),
        Err(Errno::RANGE) => {
            let mut large = vec![0u8; LARGEST];
            let length = call(&mut large)?;
            large.truncate(length);
            Ok(large)
        }
        Err(error) => Err(error),
    }
}

/// Makes the attributes of an inode equal to `want`; `fresh` says that the inode has none yet. Returns whether all was taken.
///
/// Capabilities are given only with `trusted_owner` (input 19).
pub(super) fn replace(fd: BorrowedFd<'_>, want: &Xattrs, fresh: bool, trusted_owner: bool) -> bool {
    let mut complete = true;
    if !fresh {
        let names = match grown(|buffer| rustix::fs::flistxattr(fd, buffer)) {
            Ok(names) => names,
            Err(Errno::OPNOTSUPP) => Vec::new(),
            Err(_) => return false,
        };
        for name in names.split(|&b| b == 0).filter(|name| Xattrs::keeps(name)) {
            if !want.0.iter().any(|(wanted, _)| **wanted == *name) {
                complete &= rustix::fs::fremovexattr(fd, name).is_ok();
            }
        }
    }
    for (name, value) in &want.0 {
        if !Xattrs::keeps(name) || (**name == *Xattrs::CAPABILITY && !trusted_owner) {
            complete = false;
            continue;
        }
        let same =
            !fresh && grown(|b| rustix::fs::fgetxattr(fd, &**name, b)).is_ok_and(|have| have == **value);
        if !same {
            complete &= rustix::fs::fsetxattr(fd, &**name, value, XattrFlags::empty()).is_ok();
        }
    }
    complete
}
