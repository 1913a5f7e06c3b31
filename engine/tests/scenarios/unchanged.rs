//! What did not change is neither read nor stored again (C6, F15, F27, F37).

use std::fs;

use turnback_engine::{ChangeKind, Context, DiffTo};

use crate::common::place::{Place, let_timestamps_age, noise};
use crate::common::process::{child, run, task};

/// Bytes that this process has asked the system for by `read` and its like.
fn bytes_read() -> u64 {
    let text = fs::read_to_string("/proc/self/io").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap();
    line.parse().unwrap()
}

#[test]
fn an_unchanged_tree_costs_nothing() {
    // In a process of its own: the count of bytes read is one for the whole process.
    let directory = tempfile::tempdir().unwrap();
    run(child("unchanged::second_checkpoint", directory.path()));
}

#[test]
#[ignore = "run by its parent in a process of its own"]
fn second_checkpoint() {
    let Some(directory) = task() else { return };
    let place = Place::in_directory(tempfile::tempdir_in(directory).unwrap());
    for i in 0..100u64 {
        place.write(&format!("d{}/f{i}", i % 7), noise(i, 50_000));
    }
    let_timestamps_age(&place);
    let first = place.create();
    let stored = |id| fs::read_dir(place.store().join("checkpoints").join(format!("{id}"))).unwrap().count();
    assert_eq!(stored(first.checkpoint_id), 3, "record, pack and index");

    let before = bytes_read();
    let second = place.create();
    let read = bytes_read() - before;
    assert!(read < 200_000, "{read} bytes were read for an unchanged tree of 5 MB");
    assert_eq!(stored(second.checkpoint_id), 1, "only a record");
    assert_eq!(second.coverage, first.coverage);

    // The measure itself can tell: one changed file is read, and only that one.
    place.write("d3/f3", noise(1000, 60_000));
    let before = bytes_read();
    let third = place.create();
    let read = bytes_read() - before;
    assert!((60_000..400_000).contains(&read), "{read} bytes were read for one changed file");
    assert_eq!(place.read(third.checkpoint_id, "d3/f3"), noise(1000, 60_000));
}

#[test]
fn one_changed_file_among_ten_thousand() {
    let place = Place::default();
    for directory in 0..100 {
        for file in 0..100 {
            place.write(&format!("d{directory}/f{file}"), b"");
        }
    }
    let_timestamps_age(&place);
    let first = place.create();
    assert_eq!(first.coverage.files, 10_101);
    for (i, path) in ["d0/f0", "d57/f31", "d99/f99"].into_iter().enumerate() {
        place.write(path, format!("changed {i}"));
        let now = place.create();
        let changes = place
            .manager
            .diff(first.checkpoint_id, DiffTo::Checkpoint(now.checkpoint_id), &Context::default())
            .unwrap();
        assert_eq!(changes.len(), i + 1, "{changes:?}");
        assert!(changes.iter().all(|c| c.kind == ChangeKind::Modified));
        assert_eq!(place.read(now.checkpoint_id, path), format!("changed {i}").as_bytes());
        assert!(
            place.manager.list(None).unwrap().checkpoints[i + 1].bytes < 20_000,
            "one directory's manifest"
        );
    }
}
