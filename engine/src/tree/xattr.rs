//! Extended attributes of an open file or directory: those of the allow-list (C6, input 20).

use std::ffi::CString;
use std::os::fd::BorrowedFd;

use rustix::io::Errno;

use crate::model::Xattrs;

/// Reads the kept attributes; empty when there are none or the file system has none at all.
///
/// # Errors
/// The system's error. An attribute that vanishes between listing and reading is left out.
pub(crate) fn read(fd: BorrowedFd<'_>) -> Result<Xattrs, Errno> {
    let mut small = [0u8; 512];
    let list = match rustix::fs::flistxattr(fd, &mut small[..]) {
        Ok(0) => return Ok(Xattrs::default()),
        Ok(n) => small[..n].to_vec(),
        Err(Errno::OPNOTSUPP) => return Ok(Xattrs::default()),
        Err(Errno::RANGE) => {
            let mut large = vec![0u8; 64 << 10];
            let n = rustix::fs::flistxattr(fd, &mut large[..])?;
            large.truncate(n);
            large
        }
        Err(e) => return Err(e),
    };
    let mut kept = Vec::new();
    for name in list.split(|&b| b == 0).filter(|name| Xattrs::keeps(name)) {
        let cname = CString::new(name).map_err(|_| Errno::INVAL)?;
        match value(fd, &cname) {
            Ok(value) => kept.push((name.into(), value)),
            Err(Errno::NODATA) => {}
            Err(e) => return Err(e),
        }
    }
    kept.sort();
    Ok(Xattrs(kept))
}

fn value(fd: BorrowedFd<'_>, name: &CString) -> Result<Box<[u8]>, Errno> {
    let mut small = [0u8; 256];
    match rustix::fs::fgetxattr(fd, name.as_c_str(), &mut small[..]) {
        Ok(n) => Ok(small[..n].into()),
        Err(Errno::RANGE) => {
            let mut large = vec![0u8; 64 << 10];
            let n = rustix::fs::fgetxattr(fd, name.as_c_str(), &mut large[..])?;
            Ok(large[..n].into())
        }
        Err(e) => Err(e),
    }
}
