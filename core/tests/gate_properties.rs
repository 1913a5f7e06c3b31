//! The gate's promises over random interleavings of sandboxes, turns, batches, answers, limits, releases, restores and days,
//! judged by a model that knows nothing of the gate's inside (G1, G4–G10, C17).

mod gate;

use gate::plan::plan;
use gate::world::World;
use proptest::prelude::*;

/// Few enough turns that the gate has to remember them all.
const REMEMBERED: usize = 5;

/// More turns than the gate remembers.
const TOO_MANY: usize = 12;

proptest! {
    #![proptest_config(config())]

    #[test]
    fn one_sandbox_keeps_every_promise(plan in plan(1, REMEMBERED)) {
        World::new(plan).run();
    }

    #[test]
    fn sandboxes_and_turns_keep_every_promise_side_by_side(plan in plan(3, 3)) {
        World::new(plan).run();
    }

    #[test]
    fn more_turns_than_are_remembered_never_make_protection_a_lie(plan in plan(1, TOO_MANY)) {
        World::new(plan).run();
    }
}

/// `PROPTEST_CASES` asks for more.
fn config() -> ProptestConfig {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    ProptestConfig { cases: config.cases.max(1_500), ..config }
}
