//! What somebody writes to while it is committed is not committed torn and in silence (P5, S6).

use std::fs;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};

use turnback_engine::Code;
use turnback_engine::sandbox::HoldReason;

use super::subject::Subject;
use crate::common::place::code;
use crate::place::{Place, ctx};

const LENGTH: usize = 4 << 20;
const PIECE: usize = 4096;
/// Of so many commits one at least meets a write.
const COMMITS: usize = 500;

/// Tells the writer to stop, also when the test fails.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

pub fn a_file_that_is_written_to(place: &Place, subject: Subject) {
    place.write("big", vec![b'0'; LENGTH]);
    let sandbox = subject.small(place, &[("f", "1")]);
    let path = sandbox.enter(&ctx()).unwrap().join("big");
    let (here, there) = (|| fs::read(&path).unwrap(), || fs::read(place.resource().join("big")).unwrap());
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let stops = Stops(&stop);
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        let stop = &stop;
        scope.spawn(move || {
            let mut piece = [b'1'; PIECE];
            while !stop.load(Ordering::Relaxed) {
                for at in (0..LENGTH).step_by(PIECE) {
                    file.write_all_at(&piece, at as u64).unwrap();
                }
                piece[0] = piece[0].wrapping_add(1);
            }
        });
        let is_held = (0..COMMITS).any(|_| {
            let before = there();
            let report = sandbox.commit(&subject.everything(), &ctx()).unwrap();
            let brought = report.changes.iter().any(|one| one.path.to_string() == "big");
            let held = report.held_back.iter().find(|one| one.path.to_string() == "big");
            assert!(report.committed && !(brought && held.is_some()), "{report:?}");
            let Some(held) = held else { return false };
            assert_eq!(held.reason, HoldReason::Changing);
            assert!(there() == before, "held back, and written");
            true
        });
        drop(stops);
        assert!(is_held, "it never changed while it was read");
    });
    assert_eq!(code(sandbox.cleanup(false, &ctx())), Code::UnsavedWork, "S10");
    let report = sandbox.commit(&subject.everything(), &ctx()).unwrap();
    assert!(report.committed && report.held_back.is_empty(), "{report:?}");
    assert!(there() == here());
    sandbox.cleanup(false, &ctx()).unwrap();
}
