//! `contains`: inside or not, wherever links lead and whether it is there or not (S9, F12).

use std::fs;
use std::os::unix::fs::symlink;

use crate::place::{Place, ctx};

#[test]
fn follows_what_the_kernel_would_follow() {
    let place = Place::here();
    place.write("d/f", "x");
    let sandbox = place.create();
    let root = sandbox.enter(&ctx()).unwrap();
    let inside = |path: &str| sandbox.contains(&root.join(path));
    assert!(sandbox.contains(&root));
    assert!(inside("d/f") && inside("d/./f") && inside("d/../d/f") && inside("missing/deeper"));
    assert!(!inside(".."), "the directory around it is not inside");
    assert!(!inside("d/../../x") && !inside("../../../../etc/passwd"));
    // A neighbour whose name only begins the same.
    let mut neighbour = root.clone().into_os_string();
    neighbour.push("-other");
    assert!(!sandbox.contains(neighbour.as_ref()));

    symlink(place.resource(), root.join("out")).unwrap();
    symlink("d", root.join("in")).unwrap();
    symlink("missing", root.join("dangling")).unwrap();
    symlink(place.dir().join("nowhere"), root.join("dangling-out")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    symlink(&root, place.dir().join("way-in")).unwrap();
    assert!(!inside("out") && !inside("out/d/f") && !inside("out/not/there"));
    assert!(inside("in/f") && inside("in/../in/new") && inside("dangling") && inside("dangling/x"));
    assert!(!inside("dangling-out") && !inside("dangling-out/x"));
    assert!(!inside("loop"), "what has no end is not inside");
    assert!(sandbox.contains(&place.dir().join("way-in/d/f")));
    assert!(sandbox.contains(&place.dir().join("way-in/new")));
    // `..` after a link goes up from where the link leads.
    assert!(!inside("out/../store") && inside("in/../d"));
    assert!(!sandbox.contains("".as_ref()));
    // F12: the main checkout is never inside.
    assert!(!sandbox.contains(&place.resource()) && !sandbox.contains(&place.resource().join("d/f")));
    assert!(!sandbox.contains("d/f".as_ref()), "relative to this process's working directory");
}

#[test]
fn also_when_the_root_is_gone() {
    let place = Place::here();
    place.write("f", "x");
    let sandbox = place.create();
    let root = sandbox.enter(&ctx()).unwrap();
    fs::remove_dir_all(&root).unwrap();
    assert!(sandbox.contains(&root.join("f")));
    symlink(place.resource(), &root).unwrap();
    assert!(!sandbox.contains(&root.join("f")), "a root that was replaced by a link");
}
