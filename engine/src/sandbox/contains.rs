//! Whether a path lies inside a directory, wherever links lead and whether it is there or not (S9, F12).

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// As many links as Linux itself follows in one path.
const MOST_LINKS: u32 = 40;

/// Whether `path`, with every link in it followed, is `root` (a canonical path) or lies beneath it. Relative paths are resolved by
/// the process's working directory. What cannot be followed to its end does not lie inside.
pub(super) fn contains(root: &Path, path: &Path) -> bool {
    resolve(path).is_some_and(|resolved| resolved.starts_with(root))
}

enum Step {
    Up,
    Name(OsString),
}

fn steps(path: &Path) -> impl DoubleEndedIterator<Item = Step> + '_ {
    path.components().filter_map(|component| match component {
        Component::ParentDir => Some(Step::Up),
        Component::Normal(name) => Some(Step::Name(name.to_owned())),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    })
}

fn resolve(path: &Path) -> Option<PathBuf> {
    if path.as_os_str().is_empty() {
        return None;
    }
    let start = if path.is_absolute() { PathBuf::new() } else { std::env::current_dir().ok()? };
    let mut todo: VecDeque<Step> = steps(&start).chain(steps(path)).collect();
    let mut at = PathBuf::from("/");
    let mut links = 0;
    while let Some(step) = todo.pop_front() {
        let name = match step {
            Step::Up => {
                at.pop();
                continue;
            }
            Step::Name(name) => name,
        };
        let next = at.join(name);
        match std::fs::symlink_metadata(&next) {
            Ok(metadata) if metadata.file_type().is_symlink() => {
                links += 1;
                if links > MOST_LINKS {
                    return None;
                }
                let target = std::fs::read_link(&next).ok()?;
                if target.is_absolute() {
                    at = PathBuf::from("/");
                }
                for step in steps(&target).rev() {
                    todo.push_front(step);
                }
            }
            Ok(_) => at = next,
            // What is not there has no links in it.
            Err(e)
                if matches!(e.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) =>
            {
                at = next;
            }
            Err(_) => return None,
        }
    }
    Some(at)
}
