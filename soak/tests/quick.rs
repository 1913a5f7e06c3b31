//! The quick tier of the proof: each method for as long as it needs to say something. `cargo xtask soak` runs them longer.

#![allow(clippy::expect_used)] // a helper fails as tests do: by a panic

use std::path::{Path, PathBuf};

use turnback_soak::methods::under::Under;
use turnback_soak::methods::{
    blocklog, corrupt, crowd, errors, growth, kill, model, mutate, power, racing, short, small, swap,
};
use turnback_soak::{Budget, Outcome};

fn program() -> PathBuf {
    env!("CARGO_BIN_EXE_soak-op").into()
}

/// Prints the figures; a breach fails the test, and so does a method that says nothing at all.
fn shown(result: anyhow::Result<Outcome>) {
    let outcome = result.expect("the harness works");
    for figure in &outcome.figures {
        println!("{}: {}: {}", figure.promise, figure.what, figure.figure);
    }
    if let Some(why) = outcome.skipped.first() {
        println!("skipped: {why}");
    }
    let breaches: Vec<_> = outcome.breaches.iter().map(|(p, what)| format!("{p}: {what}")).collect();
    assert!(
        breaches.is_empty(),
        "{} breaches:\n{}",
        breaches.len(),
        breaches[..breaches.len().min(10)].join("\n")
    );
    assert!(!outcome.figures.is_empty() || !outcome.skipped.is_empty(), "nothing was run");
}

fn quick(method: fn(&Path, Budget) -> anyhow::Result<Outcome>) {
    shown(method(&program(), Budget::Quick));
}

#[test]
fn create_killed() {
    shown(kill::of(&program(), Under::Create, Budget::Quick));
}

#[test]
fn rollback_killed() {
    shown(kill::of(&program(), Under::Rollback, Budget::Quick));
}

#[test]
fn revert_killed() {
    shown(kill::of(&program(), Under::Revert, Budget::Quick));
}

#[test]
fn delete_killed() {
    shown(kill::of(&program(), Under::Delete, Budget::Quick));
}

#[test]
fn prune_killed() {
    shown(kill::of(&program(), Under::Prune, Budget::Quick));
}

#[test]
fn recover_killed() {
    shown(kill::of(&program(), Under::Recover, Budget::Quick));
}

#[test]
fn a_rollback_and_its_recovery_killed() {
    quick(kill::nested);
}

#[test]
fn create_with_failing_calls() {
    shown(errors::of(&program(), Under::Create, Budget::Quick));
}

#[test]
fn rollback_with_failing_calls() {
    shown(errors::of(&program(), Under::Rollback, Budget::Quick));
}

#[test]
fn revert_with_failing_calls() {
    shown(errors::of(&program(), Under::Revert, Budget::Quick));
}

#[test]
fn delete_with_failing_calls() {
    shown(errors::of(&program(), Under::Delete, Budget::Quick));
}

#[test]
fn prune_with_failing_calls() {
    shown(errors::of(&program(), Under::Prune, Budget::Quick));
}

#[test]
fn recover_with_failing_calls() {
    shown(errors::of(&program(), Under::Recover, Budget::Quick));
}

#[test]
fn power_cuts_on_ext4() {
    shown(power::on_disk(&program(), power::EXT4, Budget::Quick));
}

#[test]
fn power_cuts_on_xfs() {
    shown(power::on_disk(&program(), power::XFS, Budget::Quick));
}

#[test]
fn images_of_a_disk_without_power() {
    quick(blocklog::run);
}

#[test]
fn small_disks() {
    quick(small::run);
}

#[test]
fn reads_that_come_short() {
    quick(short::run);
}

#[test]
fn a_crowd_of_processes() {
    quick(crowd::run);
}

#[test]
fn two_hundred_turns_at_fixed_churn() {
    quick(growth::run);
}

#[test]
fn every_byte_damaged() {
    quick(corrupt::run);
}

#[test]
fn races_and_deadlines() {
    quick(racing::run);
}

#[test]
fn an_attacker_who_exchanges_paths() {
    quick(swap::run);
}

#[test]
fn random_sequences() {
    quick(model::run);
}

#[test]
fn mutated_bytes() {
    quick(mutate::run);
}
