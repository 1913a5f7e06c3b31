//! A directory of 20,000 names: changes anywhere are found and cost little, and it comes back (input 39, F15).

use std::fs;

use turnback_engine::{ChangeKind, Context, DiffTo};

use crate::common::picture::same;
use crate::common::place::{Place, let_timestamps_age};

#[test]
fn changes_at_the_start_in_the_middle_and_at_the_end() {
    let place = Place::default();
    fs::create_dir(place.at("wide")).unwrap();
    for i in 0..20_000 {
        fs::File::create(place.at(&format!("wide/name-{i:05}"))).unwrap();
    }
    let_timestamps_age(&place);
    let first = place.create().checkpoint_id;
    let before = place.tree();
    let size = |i: usize| place.manager.list(None).unwrap().checkpoints[i].bytes;
    let whole = size(0);
    for (round, name) in ["name-00000", "name-10000", "name-19999"].into_iter().enumerate() {
        place.write(&format!("wide/{name}"), "changed");
        let now = place.create().checkpoint_id;
        assert!(size(round + 1) < whole / 3, "{} of {whole} bytes for one name", size(round + 1));
        let changes = place.manager.diff(first, DiffTo::Checkpoint(now), &Context::default()).unwrap();
        assert_eq!(changes.len(), round + 1);
        assert!(changes.iter().all(|c| c.kind == ChangeKind::Modified));
    }
    place.write("wide/aaa", "before all others");
    place.write("wide/zzz", "after all others");
    fs::remove_file(place.at("wide/name-05000")).unwrap();
    let changes = place.manager.diff(first, DiffTo::Now, &Context::default()).unwrap();
    assert_eq!(changes.len(), 6);
    place.rollback(first);
    same(&place.tree(), &before);
    place.verify_is_clean();
}
