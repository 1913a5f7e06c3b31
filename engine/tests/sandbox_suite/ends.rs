//! Whose directory it is decides what happens to it: restores inside `.git` (C7), and the end of an ephemeral store (C11).

use std::fs;

use turnback_core::Phase;
use turnback_engine::{
    CreateRequest, GitMode, Manager, OpenOptions, SandboxOptions, Sandboxes, StoreLocation,
};

use crate::place::{Place, ctx};

#[test]
fn a_restore_inside_git_is_exact_only_where_the_directory_is_ours() {
    let place = Place::here();
    place.write("f", "1");
    let sandbox = place.create();
    let none = SandboxOptions { strategy: "none".parse().unwrap(), ..place.options() };
    let in_place = place.sandboxes.create(&none, &ctx()).unwrap();
    let taken = |directory| {
        let request = CreateRequest::new("p".parse().unwrap(), Phase::Manual);
        place.manager.create(directory, request, &ctx()).unwrap().checkpoint_id
    };
    let (ours, resource) = (taken(sandbox.handle().path()), taken(in_place.handle().path()));
    let mode = |id| place.sandboxes.git_mode(id).unwrap();
    assert_eq!((mode(ours), mode(resource)), (GitMode::Exact, GitMode::Keep));
    // Once it is cleaned up nothing there is ours.
    sandbox.cleanup(true, &ctx()).unwrap();
    assert_eq!(mode(ours), GitMode::Keep);
    place.manager.delete(resource).unwrap();
    assert_eq!(mode(resource), GitMode::Keep);
}

#[test]
fn the_sandboxes_of_an_ephemeral_store_go_with_it_and_others_stay() {
    let place = Place::here();
    place.write("f", "1");
    let options = OpenOptions { store: StoreLocation::Ephemeral, ..OpenOptions::default() };
    let manager = Manager::open(options).unwrap();
    let sandboxes = Sandboxes::new(&manager);
    let (ephemeral, durable) = (sandboxes.create(&place.options(), &ctx()).unwrap(), place.create());
    fs::write(ephemeral.handle().path().join("f"), "2").unwrap();
    for all in [&sandboxes, &place.sandboxes] {
        all.end_ephemeral().unwrap();
    }
    assert!(!ephemeral.handle().path().exists());
    assert!(durable.handle().path().exists());
    manager.close().unwrap();
    sandboxes.end_ephemeral().unwrap();
}
