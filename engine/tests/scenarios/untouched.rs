//! Taking a checkpoint and looking at it never changes the workspace (P13, F5, F51, F55, F63).

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use turnback_engine::{Context, DiffTo};

use crate::common::everything::build;
use crate::common::picture::same;
use crate::common::place::{Place, exact, files_beneath};

type Stamps = BTreeMap<PathBuf, (u64, i64, i64, i64, i64, i64, i64)>;

/// Every inode with every time it has: whoever writes, renames or changes a mode moves ctime.
fn stamps(place: &Place) -> Stamps {
    let all = files_beneath(&place.root()).into_iter().chain([place.root()]);
    all.map(|path| {
        let s = fs::symlink_metadata(&path).unwrap();
        (path, (s.ino(), s.mtime(), s.mtime_nsec(), s.ctime(), s.ctime_nsec(), s.atime(), s.atime_nsec()))
    })
    .collect()
}

#[test]
fn by_creating_reading_and_dry_runs() {
    let place = Place::default();
    let outside = place.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    build(&place.root(), &outside);
    let tree = place.tree();
    // Listing and reading links moves access times once, under `relatime`: the picture above was the first reader.
    let before = stamps(&place);
    let ctx = Context::default();
    for _ in 0..20 {
        let id = place.create().checkpoint_id;
        place.manager.diff(id, DiffTo::Now, &ctx).unwrap();
        place
            .manager
            .rollback(id, turnback_engine::RollbackRequest { dry_run: true, ..exact() }, &ctx)
            .unwrap();
    }
    place.verify_is_clean();
    place.manager.usage().unwrap();
    place.manager.delete(place.ids()[0]).unwrap();
    // A rollback to what is there already writes nothing either.
    let report = place.rollback(place.ids()[0]);
    assert_eq!((report.written, report.deleted, report.undo_checkpoint_id), (0, 0, None));
    assert_eq!(stamps(&place), before);
    same(&place.tree(), &tree);
}
