//! Bad inputs and the right answer.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use turnback_engine::sandbox::{MechanismChoice, StrategyName};
use turnback_engine::{Code, SandboxOptions};

use crate::common::picture::{Tree, same};
use crate::common::place::{code, is_root};
use crate::common::process::skip;
use crate::ground::Kind;
use crate::place::{Place, changes, ctx};

fn refused(place: &Place, options: &SandboxOptions) -> Code {
    let error = place.sandboxes.create(options, &ctx()).unwrap_err();
    assert!(place.sandboxes.list(&ctx()).unwrap().is_empty(), "{error}");
    place.is_clean(0);
    error.code()
}

#[test]
fn resources_that_cannot_be_isolated() {
    let place = Place::here();
    place.write("file", "x");
    let of = |path: &Path| SandboxOptions::new(path);
    assert_eq!(refused(&place, &of(&place.dir().join("missing"))), Code::NotFound);
    assert_eq!(refused(&place, &of(&place.resource().join("file"))), Code::NotADirectory);
    assert_eq!(refused(&place, &of(Path::new("/"))), Code::TooBroad);
    assert_eq!(refused(&place, &of(Path::new(""))), Code::InvalidArgument);
    assert_eq!(refused(&place, &of(&place.dir().join("store"))), Code::StoreNested);
    assert_eq!(refused(&place, &of(&place.dir().join("store/packs"))), Code::StoreNested);
    // The store lies in it.
    assert_eq!(refused(&place, &of(place.dir())), Code::StoreNested);
    symlink("nowhere", place.dir().join("dangling")).unwrap();
    assert_eq!(refused(&place, &of(&place.dir().join("dangling"))), Code::NotFound);
    let mut narrow = place.options();
    narrow.max_files = Some(1);
    assert_eq!(refused(&place, &narrow), Code::TooBroad);
}

#[test]
fn unknown_names_are_refused_with_the_valid_ones() {
    let error = "overlay".parse::<StrategyName>().unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    assert!(error.to_string().contains("none, copy_on_write, git_worktree"), "S1: {error}");
    let error = "\u{1b}[31m".parse::<MechanismChoice>().unwrap_err();
    assert!(error.to_string().contains("auto, reflink, btrfs, copy"), "{error}");
    assert!(!error.to_string().contains('\u{1b}'), "input 28: {error}");
    for name in StrategyName::ALL {
        assert_eq!(name.as_str().parse::<StrategyName>().unwrap(), name);
    }
    for name in MechanismChoice::ALL {
        assert_eq!(name.as_str().parse::<MechanismChoice>().unwrap(), name);
    }
}

#[test]
fn options_that_say_nothing() {
    let place = Place::here();
    let mut options = place.with(StrategyName::None, MechanismChoice::Copy);
    assert_eq!(refused(&place, &options), Code::InvalidArgument);
    options = place.with(StrategyName::None, MechanismChoice::Auto);
    options.location = Some(place.dir().join("elsewhere"));
    assert_eq!(refused(&place, &options), Code::InvalidArgument);
    assert!(!place.dir().join("elsewhere").exists());
}

/// A symlinked resource is resolved once; a relative one by the working directory.
#[test]
fn a_symlinked_resource() {
    let place = Place::here();
    place.write("f", "x");
    symlink("work", place.dir().join("link")).unwrap();
    let sandbox = place.sandboxes.create(&SandboxOptions::new(place.dir().join("link")), &ctx()).unwrap();
    assert_eq!(sandbox.handle().resource(), fs::canonicalize(place.resource()).unwrap());
    fs::remove_file(place.dir().join("link")).unwrap();
    symlink("store", place.dir().join("link")).unwrap();
    same(&Tree::of(sandbox.handle().path()), &place.tree());
}

#[test]
fn locations() {
    let place = Place::here();
    place.write("f", "x");
    let at = |path: &Path| SandboxOptions { location: Some(path.to_owned()), ..place.options() };
    // Inside the resource, also by a link.
    assert_eq!(refused(&place, &at(&place.resource())), Code::InvalidArgument);
    assert_eq!(code(place.sandboxes.create(&at(&place.resource().join("f")), &ctx())), Code::NotADirectory);
    symlink(place.resource(), place.dir().join("way-in")).unwrap();
    assert_eq!(refused(&place, &at(&place.dir().join("way-in"))), Code::InvalidArgument);
    assert_eq!(refused(&place, &at(&place.dir().join("store/tmp/x"))), Code::StoreNested);
    assert_eq!(refused(&place, &at(&place.dir().join("missing/../x"))), Code::InvalidArgument);
    assert_eq!(refused(&place, &at(Path::new(""))), Code::InvalidArgument);
    // Inside another sandbox: it would be part of that one's work.
    let outer = place.create();
    assert_eq!(code(place.sandboxes.create(&at(outer.handle().path()), &ctx())), Code::InvalidArgument);
    outer.cleanup(true, &ctx()).unwrap();
    // Where everybody may write.
    let open = place.dir().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(refused(&place, &at(&open)), Code::PermissionDenied);
    // One of one's own is used and stays.
    let own = place.dir().join("own/place");
    let sandbox = place.sandboxes.create(&at(&own), &ctx()).unwrap();
    assert!(sandbox.handle().path().starts_with(fs::canonicalize(&own).unwrap()));
    sandbox.cleanup(false, &ctx()).unwrap();
    assert_eq!(fs::read_dir(&own).unwrap().count(), 0);
    place.is_clean(0);
}

/// A sandbox can be a resource: an agent's own helpers work in copies of its copy.
#[test]
fn a_sandbox_of_a_sandbox() {
    let place = Place::here();
    place.write("d/f", "1");
    let outer = place.create();
    fs::write(outer.enter(&ctx()).unwrap().join("d/f"), "2").unwrap();
    let inner = place.sandboxes.create(&SandboxOptions::new(outer.handle().path()), &ctx()).unwrap();
    assert!(!inner.handle().path().starts_with(outer.handle().path()), "S9");
    assert!(!outer.contains(inner.handle().path()));
    fs::write(inner.handle().path().join("d/f"), "3").unwrap();
    assert_eq!(fs::read(outer.handle().path().join("d/f")).unwrap(), b"2");
    assert_eq!(fs::read(place.resource().join("d/f")).unwrap(), b"1");
    assert_eq!(changes(&outer), [("d/f".to_owned(), "modified")]);
    // The outer one may go first.
    outer.cleanup(true, &ctx()).unwrap();
    assert!(inner.rollback(&ctx()).unwrap().restored);
    assert_eq!(fs::read(inner.handle().path().join("d/f")).unwrap(), b"2");
}

/// A full disk: a typed error, and nothing is left (input 61).
#[test]
fn a_full_disk() {
    let Some(place) = Place::on(Kind::Tmpfs) else { return };
    for i in 0..40u64 {
        place.write(&format!("f{i}"), crate::common::place::noise(i, 100_000));
    }
    let small = place.dir().join("small");
    fs::create_dir(&small).unwrap();
    let options = ["-t", "tmpfs", "-o", "size=2m,mode=700", "tmpfs"];
    let Some(mount) = crate::common::process::Mount::new(&options, &small) else {
        return skip("mounting is not permitted here");
    };
    let asked = SandboxOptions { location: Some(small.clone()), ..place.options() };
    assert_eq!(refused(&place, &asked), Code::DiskFull);
    assert_eq!(fs::read_dir(&small).unwrap().count(), 0);
    drop(mount);
}

/// F19: on a file system of its own and with no place beside it, what was asked for cannot be had, and that is said.
#[test]
fn reflink_to_another_file_system() {
    let Some(place) = Place::on(Kind::Xfs) else { return };
    place.write("f", crate::common::place::noise(1, 100_000));
    let elsewhere = tempfile::tempdir().unwrap();
    let mut options = place.with(StrategyName::CopyOnWrite, MechanismChoice::Reflink);
    options.location = Some(elsewhere.path().to_owned());
    let error = place.sandboxes.create(&options, &ctx()).unwrap_err();
    assert_eq!(error.code(), Code::UnsupportedFilesystem);
    assert!(error.to_string().contains("another file system"), "{error}");
    options.mechanism = MechanismChoice::Auto;
    let sandbox = place.sandboxes.create(&options, &ctx()).unwrap();
    assert_eq!(sandbox.handle().mechanism().unwrap().as_str(), "copy");
    same(&Tree::of(sandbox.handle().path()), &place.tree());
}

/// With the store elsewhere, the place where blocks can be shared is found on the resource's own file system.
#[test]
fn beside_the_resource_where_that_shares_blocks() {
    let Some(ground) = Kind::Xfs.ground_of("400M") else { return };
    let store = tempfile::tempdir().unwrap();
    let manager = crate::common::place::open(&store.path().join("store")).unwrap();
    let sandboxes = turnback_engine::Sandboxes::new(&manager);
    let resource = ground.path.join("team/project");
    fs::create_dir_all(&resource).unwrap();
    fs::write(resource.join("f"), crate::common::place::noise(1, 100_000)).unwrap();
    let sandbox = sandboxes.create(&SandboxOptions::new(&resource), &ctx()).unwrap();
    assert_eq!(sandbox.handle().mechanism().unwrap().as_str(), "reflink");
    let top = fs::canonicalize(&ground.path).unwrap();
    let base = top.join(format!(".turnback-sandboxes-{}", rustix::process::geteuid().as_raw()));
    assert!(sandbox.handle().path().starts_with(&base), "{:?}", sandbox.handle().path());
    sandbox.cleanup(false, &ctx()).unwrap();
    assert!(!base.exists());
    assert!(!store.path().join("store-sandboxes").exists());
    // Inside a repository its tools would see them: then it is a copy beside the store.
    fs::create_dir(ground.path.join(".git")).unwrap();
    let sandbox = sandboxes.create(&SandboxOptions::new(&resource), &ctx()).unwrap();
    assert_eq!(sandbox.handle().mechanism().unwrap().as_str(), "copy");
    assert!(!base.exists());
}

/// The same for a subvolume, which has a device number of its own.
#[test]
fn a_snapshot_lies_on_the_file_system_of_its_subvolume() {
    let Some(ground) = Kind::Btrfs.ground_of("400M") else { return };
    let store = tempfile::tempdir().unwrap();
    let manager = crate::common::place::open(&store.path().join("store")).unwrap();
    let sandboxes = turnback_engine::Sandboxes::new(&manager);
    std::fs::create_dir(ground.path.join("team")).unwrap();
    let resource = ground.path.join("team/project");
    crate::ground::subvolume(&resource);
    fs::write(resource.join("f"), "1").unwrap();
    let base = fs::canonicalize(&ground.path).unwrap();
    let base = base.join(format!(".turnback-sandboxes-{}", rustix::process::geteuid().as_raw()));
    for (asked, made) in [
        (MechanismChoice::Auto, "btrfs"),
        (MechanismChoice::Btrfs, "btrfs"),
        (MechanismChoice::Reflink, "reflink"),
    ] {
        let options = SandboxOptions { mechanism: asked, ..SandboxOptions::new(&resource) };
        let sandbox = sandboxes.create(&options, &ctx()).unwrap();
        assert_eq!(sandbox.handle().mechanism().unwrap().as_str(), made, "{asked}");
        assert!(sandbox.handle().path().starts_with(&base), "{:?}", sandbox.handle().path());
        sandbox.cleanup(false, &ctx()).unwrap();
        assert!(!base.exists());
    }
}

#[test]
fn doctor_says_what_can_be_had() {
    for (kind, reflink) in [(Kind::Xfs, true), (Kind::Ext4, false)] {
        let Some(place) = Place::on(kind) else { return };
        place.write("f", "x");
        let before = place.tree();
        let found = turnback_engine::probe::sandbox_mechanisms(&place.resource(), place.manager.store_path())
            .unwrap();
        let said: Vec<_> = found.iter().map(|f| (f.name, f.ok)).collect();
        assert_eq!(said, [("btrfs", false), ("reflink", reflink), ("copy", true)]);
        assert!(found.iter().all(|f| !f.detail.is_empty()));
        same(&place.tree(), &before);
        place.is_clean(0);
    }
}

/// A record whose bytes were changed is told, not guessed; the sandbox stays.
#[test]
fn a_damaged_record() {
    let place = Place::here();
    place.write("f", "x");
    let sandbox = place.create();
    let (id, path) = (sandbox.handle().id().clone(), sandbox.handle().path().to_owned());
    drop(sandbox);
    let record = place.dir().join("store/sandboxes").join(id.as_str()).join("record");
    let mut bytes = fs::read(&record).unwrap();
    bytes[20] ^= 1;
    fs::write(&record, bytes).unwrap();
    let listed = place.sandboxes.list(&ctx()).unwrap();
    assert!(listed[0].about.is_none() && listed[0].unsaved.is_none() && listed[0].problem.is_some());
    let report = place.sandboxes.cleanup_abandoned(&ctx()).unwrap();
    assert_eq!((report.removed.len(), report.kept.len()), (0, 1));
    assert_eq!(code(place.sandboxes.attach(&id, &ctx())), Code::Corrupt);
    assert!(path.is_dir());
}

#[test]
fn mounts_inside_a_sandbox_are_not_deleted_through() {
    if !is_root() {
        return skip("only root mounts");
    }
    let place = Place::here();
    place.write("f", "x");
    let sandbox = place.create();
    let outside = place.dir().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("precious"), "x").unwrap();
    let at = sandbox.enter(&ctx()).unwrap().join("mounted");
    fs::create_dir(&at).unwrap();
    let Some(mount) = crate::common::process::Mount::new(&["--bind", outside.to_str().unwrap()], &at) else {
        return skip("mounting is not permitted here");
    };
    assert_eq!(code(sandbox.cleanup(true, &ctx())), Code::Busy);
    assert_eq!(fs::read(outside.join("precious")).unwrap(), b"x", "input 75");
    assert_eq!(place.sandboxes.list(&ctx()).unwrap().len(), 1, "S9: it stays listed");
    drop(mount);
    sandbox.cleanup(false, &ctx()).unwrap();
    assert!(!sandbox.handle().path().exists());
    assert!(place.sandboxes.list(&ctx()).unwrap().is_empty());
}
