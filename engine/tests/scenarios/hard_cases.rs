//! Hard cases of a restore that no other file has: a root that is a mount point, programs that run, stores on another file system,
//! groups of hard links that reach out of the workspace, very wide directories, few descriptors (C6, C7; inputs 10, 37, 39, 53, 75).

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::Command;

use crate::common::picture::same;
use crate::common::place::{Place, is_root, noise};
use crate::common::process::{Mount, child, run, skip, task};

#[test]
fn a_root_that_is_a_mount_point() {
    if !is_root() {
        return skip("only root mounts");
    }
    let place = Place::default();
    let root = place.root();
    let Some(_mount) = Mount::new(&["-t", "tmpfs", "-o", "size=4m,mode=0755", "tmpfs"], &root) else {
        return skip("mounting is not permitted here");
    };
    // The store is on another file system: staging happens in the root.
    place.write("a", "1");
    place.write("d/e/f", noise(1, 5000));
    let inode = fs::metadata(&root).unwrap().ino();
    let id = place.create().checkpoint_id;
    let then = place.tree();
    place.write("a", "2");
    fs::remove_dir_all(place.at("d")).unwrap();
    place.write("d", "a file");
    place.write("new/x", "x");
    let before = place.tree();
    let report = place.rollback(id);
    same(&place.tree(), &then);
    assert_eq!(fs::metadata(&root).unwrap().ino(), inode);
    place.undo(report.undo_checkpoint_id.unwrap());
    same(&place.tree(), &before);
}

#[test]
fn a_program_that_runs() {
    // Input 53: a busy executable is replaced, never written.
    let place = Place::default();
    let program = place.at("sleep");
    let Some(original) = ["/bin/sleep", "/usr/bin/sleep"].into_iter().find(|p| fs::metadata(p).is_ok())
    else {
        return skip("there is no `sleep`");
    };
    fs::copy(original, &program).unwrap();
    let id = place.create().checkpoint_id;
    let then = place.tree();
    let mut bytes = fs::read(&program).unwrap();
    bytes.extend_from_slice(b"appended");
    fs::remove_file(&program).unwrap();
    fs::write(&program, &bytes).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut running = Command::new(&program).arg("60").spawn().unwrap();
    let link = format!("/proc/{}/exe", running.id());
    let is_running = || fs::metadata(&link).is_ok();
    assert!(is_running());
    assert!(fs::File::options().write(true).open(&program).is_err(), "it is busy");
    place.rollback(id);
    same(&place.tree(), &then);
    assert!(is_running());
    assert_eq!(fs::read(&link).unwrap(), bytes, "the running program keeps what it was started from");
    running.kill().unwrap();
    running.wait().unwrap();
}

#[test]
fn links_into_a_package_store_outside() {
    // pnpm: every file of node_modules is another name of a file in a store elsewhere.
    let place = Place::default();
    let packages = place.dir.path().join("packages");
    fs::create_dir(&packages).unwrap();
    for i in 0..40 {
        let outside = packages.join(format!("p{i}"));
        fs::write(&outside, noise(i, 300)).unwrap();
        let own = place.at(&format!("node_modules/.pnpm/p{i}/index.js"));
        fs::create_dir_all(own.parent().unwrap()).unwrap();
        fs::hard_link(&outside, &own).unwrap();
    }
    symlink(".pnpm/p3", place.at("node_modules/p3")).unwrap();
    let outside = || crate::common::picture::Tree::of(&packages);
    let untouched = outside();
    let id = place.create().checkpoint_id;
    let then = place.tree();
    for i in 0..40 {
        let own = place.at(&format!("node_modules/.pnpm/p{i}/index.js"));
        match i % 4 {
            0 => fs::remove_file(&own).unwrap(),
            1 => {
                fs::remove_file(&own).unwrap();
                fs::write(&own, "patched").unwrap();
            }
            2 => fs::remove_dir_all(own.parent().unwrap()).unwrap(),
            _ => {}
        }
    }
    place.rollback(id);
    same(&place.tree(), &then);
    assert_eq!(outside(), untouched, "nothing was written through");
    // What was not touched is still the store's own inode.
    let inode = |path: std::path::PathBuf| fs::metadata(path).unwrap().ino();
    assert_eq!(inode(packages.join("p3")), inode(place.at("node_modules/.pnpm/p3/index.js")));
    assert_ne!(inode(packages.join("p1")), inode(place.at("node_modules/.pnpm/p1/index.js")));
}

fn very_wide(count: usize) {
    let place = Place::in_memory();
    fs::create_dir(place.at("wide")).unwrap();
    for i in 0..count {
        fs::File::create(place.at(&format!("wide/{i:07}"))).unwrap();
    }
    let id = place.create().checkpoint_id;
    for i in (0..count).step_by(2) {
        fs::remove_file(place.at(&format!("wide/{i:07}"))).unwrap();
    }
    for i in 0..count / 10 {
        fs::File::create(place.at(&format!("wide/new-{i}"))).unwrap();
    }
    let report = place.rollback(id);
    assert!(report.restored);
    assert_eq!(report.written as usize, count.div_ceil(2));
    assert_eq!(report.deleted as usize, count / 10);
    let names = fs::read_dir(place.at("wide")).unwrap().map(|e| e.unwrap().file_name());
    let mut numbers: Vec<usize> = names.map(|name| name.to_str().unwrap().parse().unwrap()).collect();
    numbers.sort_unstable();
    assert!(numbers.iter().copied().eq(0..count));
}

#[test]
fn a_very_wide_directory() {
    very_wide(30_000);
}

#[test]
#[ignore = "soak: a minute and a gigabyte"]
fn a_directory_with_a_million_names() {
    very_wide(1_000_000);
}

#[test]
fn with_few_descriptors() {
    let dir = tempfile::tempdir().unwrap();
    let mut limited = Command::new("sh");
    let task = child("hard_cases::deep_and_wide", dir.path());
    limited.args(["-c", "ulimit -n 48; exec \"$@\"", "sh"]).arg(task.get_program()).args(task.get_args());
    limited.envs(task.get_envs().filter_map(|(name, value)| Some((name, value?))));
    run(limited);
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn deep_and_wide() {
    let Some(directory) = task() else { return };
    let place = Place::in_directory(tempfile::tempdir_in(directory).unwrap());
    let deep = (0..120).map(|i| format!("d{i}")).collect::<Vec<_>>().join("/");
    place.write(&format!("{deep}/file"), "1");
    for i in 0..200 {
        place.write(&format!("wide/d{i}/file"), format!("{i}"));
    }
    let id = place.create().checkpoint_id;
    let then = place.tree();
    fs::rename(place.at("d0/d1/d2"), place.dir.path().join("away")).unwrap();
    for i in 0..200 {
        place.write(&format!("wide/d{i}/file"), "other");
        place.write(&format!("wide/d{i}/new"), "new");
    }
    place.rollback(id);
    same(&place.tree(), &then);
}
