//! The contract that every strategy and every mechanism keeps: one table of those that are tried, one of what each of them keeps.

mod everywhere;
mod held;
mod in_place;
mod isolated;
mod replaced;
mod resource;
mod root;
pub mod subject;
mod torn;

use turnback_engine::sandbox::{Mechanism, MechanismChoice, StrategyName};

use crate::ground::Kind;
use crate::place::Place;
use subject::{Says, Subject};

/// Whom a clause binds.
#[derive(Clone, Copy, PartialEq)]
enum Binds {
    All,
    /// Whose work stays apart until it is committed.
    Isolated,
    /// `none`.
    InPlace,
}

type Clause = (Binds, &'static str, fn(&Place, Subject));

const CLAUSES: [Clause; 29] = [
    (Binds::All, "S1, S5: says how it was made", everywhere::says_how_it_was_made),
    (Binds::All, "S2, S3: lives by the table", everywhere::lives_by_the_table),
    (Binds::All, "S9: is listed, and is found by its id", everywhere::is_listed_and_found),
    (Binds::All, "C1: its checkpoints bring it back", everywhere::checkpoints_bring_it_back),
    (Binds::Isolated, "C6, S8: equals the resource", isolated::equals_the_resource),
    (Binds::Isolated, "S4: edits never touch the resource", isolated::edits_stay_inside),
    (Binds::Isolated, "S5: the baseline is frozen", isolated::the_baseline_is_frozen),
    (Binds::Isolated, "S12: rollback is exact", isolated::rollback_is_exact),
    (Binds::Isolated, "P5: a change right after is seen", isolated::a_change_right_after_is_seen),
    (Binds::Isolated, "S10: cleanup loses nothing", isolated::cleanup_loses_nothing),
    (Binds::Isolated, "S4, S10: a link for a root is not followed", replaced::a_link_for_the_root),
    (Binds::Isolated, "S4, S10: nor one around it", replaced::a_link_around_the_root),
    (Binds::All, "S4, C3: no checkpoint is taken through one", replaced::no_checkpoint_through_a_link),
    (Binds::Isolated, "S4, C5: another resource is not written to", resource::another_directory),
    (Binds::Isolated, "S6, C5: nothing is committed of another root", root::another_directory),
    (Binds::Isolated, "S6, S12: nothing is done to a mount over it", root::a_mount_over_it),
    (Binds::Isolated, "S2: nobody enters what is no directory", root::no_directory),
    (Binds::Isolated, "P5, S6: nothing is committed torn and in silence", torn::a_file_that_is_written_to),
    (Binds::Isolated, "S9: names never collide", isolated::names_never_collide),
    (Binds::Isolated, "S9: lies outside its workspace", isolated::lies_outside),
    (
        Binds::Isolated,
        "S6, S7: a commit brings all of it home, and can be undone",
        isolated::a_commit_brings_it_home,
    ),
    (Binds::Isolated, "S6: a conflict writes nothing", isolated::a_conflict_writes_nothing),
    (Binds::Isolated, "S3: a second commit carries what came since", isolated::commits_twice),
    (Binds::Isolated, "S6, S12: what is held back goes with a rollback", held::goes_with_a_rollback),
    (
        Binds::Isolated,
        "S3, S6: and stays when the commit is taken back",
        held::stays_when_the_commit_is_taken_back,
    ),
    (Binds::Isolated, "S6, S10: and comes when it is allowed, or is saved", held::comes_when_it_is_allowed),
    (Binds::Isolated, "S6: a socket takes nothing away", held::a_socket_in_its_place),
    (Binds::InPlace, "S1: writes go straight through", in_place::writes_go_through),
    (Binds::InPlace, "S12: no baseline", in_place::no_baseline),
];

fn run(subject: Subject) {
    let mine = if subject.strategy == StrategyName::None { Binds::InPlace } else { Binds::Isolated };
    for (binds, name, clause) in CLAUSES {
        if binds != Binds::All && binds != mine {
            continue;
        }
        // A ground of its own for each: what one leaves must not help the next one.
        let Some(place) = Place::on(subject.kind) else { return };
        if subject.says == Says::CannotBeHad {
            return isolated::is_refused(&place, subject);
        }
        clause(&place, subject);
        println!("{subject}: {name}: kept");
    }
}

macro_rules! table {
    ($($name:ident: $kind:ident, $strategy:ident, $asked:ident, $says:expr;)*) => {
        const TABLE: &[Subject] = &[$(Subject {
            kind: Kind::$kind,
            strategy: StrategyName::$strategy,
            asked: MechanismChoice::$asked,
            says: $says,
        }),*];

        $(#[test]
        fn $name() {
            run(Subject {
                kind: Kind::$kind,
                strategy: StrategyName::$strategy,
                asked: MechanismChoice::$asked,
                says: $says,
            });
        })*
    };
}

table! {
    none_here: Here, None, Auto, Says::Nothing;
    none_on_tmpfs: Tmpfs, None, Auto, Says::Nothing;
    none_on_btrfs: Btrfs, None, Auto, Says::Nothing;
    copy_here: Here, CopyOnWrite, Copy, Says::Has(Mechanism::Copy);
    auto_on_tmpfs_copies: Tmpfs, CopyOnWrite, Auto, Says::Has(Mechanism::Copy);
    auto_on_ext4_copies: Ext4, CopyOnWrite, Auto, Says::Has(Mechanism::Copy);
    copy_on_xfs: Xfs, CopyOnWrite, Copy, Says::Has(Mechanism::Copy);
    copy_on_btrfs: Btrfs, CopyOnWrite, Copy, Says::Has(Mechanism::Copy);
    reflink_on_tmpfs: Tmpfs, CopyOnWrite, Reflink, Says::CannotBeHad;
    reflink_on_ext4: Ext4, CopyOnWrite, Reflink, Says::CannotBeHad;
    reflink_on_xfs: Xfs, CopyOnWrite, Reflink, Says::Has(Mechanism::Reflink);
    auto_on_xfs_shares: Xfs, CopyOnWrite, Auto, Says::Has(Mechanism::Reflink);
    reflink_on_btrfs: Btrfs, CopyOnWrite, Reflink, Says::Has(Mechanism::Reflink);
    auto_on_btrfs_shares: Btrfs, CopyOnWrite, Auto, Says::Has(Mechanism::Reflink);
    btrfs_on_a_subvolume: Subvolume, CopyOnWrite, Btrfs, Says::Has(Mechanism::Btrfs);
    auto_on_a_subvolume_snapshots: Subvolume, CopyOnWrite, Auto, Says::Has(Mechanism::Btrfs);
    reflink_on_a_subvolume: Subvolume, CopyOnWrite, Reflink, Says::Has(Mechanism::Reflink);
    btrfs_on_tmpfs: Tmpfs, CopyOnWrite, Btrfs, Says::CannotBeHad;
    btrfs_on_a_plain_directory: Btrfs, CopyOnWrite, Btrfs, Says::CannotBeHad;
    worktree_here: Here, GitWorktree, Auto, Says::Nothing;
    worktree_on_tmpfs: Tmpfs, GitWorktree, Auto, Says::Nothing;
    worktree_on_ext4: Ext4, GitWorktree, Auto, Says::Nothing;
    worktree_on_xfs: Xfs, GitWorktree, Auto, Says::Nothing;
    worktree_on_btrfs: Btrfs, GitWorktree, Auto, Says::Nothing;
    worktree_with_a_mechanism: Here, GitWorktree, Copy, Says::CannotBeHad;
}

/// A strategy or a mechanism that nobody tries would keep no contract.
#[test]
fn everything_is_in_the_table() {
    for strategy in StrategyName::ALL {
        assert!(TABLE.iter().any(|s| s.strategy == strategy && s.says != Says::CannotBeHad), "{strategy}");
    }
    for mechanism in Mechanism::ALL {
        assert!(TABLE.iter().any(|s| s.says == Says::Has(mechanism)), "{mechanism}");
    }
    for asked in MechanismChoice::ALL {
        assert!(TABLE.iter().any(|s| s.asked == asked), "{asked}");
    }
}
