//! The tables of `docs/` that name tests: each of them exists, and none is left out.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests panic")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The cells of the tables of a document whose first cell is a number or a name, without heads and rules.
fn rows(document: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(repository().join(document)).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| ")).map(|line| {
        let line = line.replace("\\|", "\u{0}");
        let cells = line.trim_matches(['|', ' ']).split(" | ");
        cells.map(|cell| cell.replace('\u{0}', "|")).collect::<Vec<_>>()
    });
    rows.filter(|cells| cells[0] != "#").collect()
}

/// What stands between backticks and has the form `file::test`.
fn named(cell: &str) -> Vec<(String, String)> {
    let quoted = cell.split('`').skip(1).step_by(2);
    quoted.filter_map(|text| text.split_once("::")).map(|(f, t)| (f.to_owned(), t.to_owned())).collect()
}

/// The test is in the file: a function, or a title of JavaScript.
#[track_caller]
fn exists(file: &str, test: &str) {
    let text = fs::read_to_string(repository().join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
    let found = if file.ends_with(".rs") {
        let function = format!("fn {test}(");
        let at = text.find(&function).unwrap_or_else(|| panic!("{file} has no test {test}"));
        let before = &text[..at];
        let attributes = &before[before.rfind("\n\n").unwrap_or(0)..];
        attributes.contains("#[test]")
            // In a macro of properties the attribute stands before each function as well.
            || before.lines().rev().take(8).any(|line| line.trim() == "#[test]")
    } else {
        ['\'', '"', '`'].iter().any(|quote| text.contains(&format!("({quote}{test}")))
    };
    assert!(found, "{file}: {test} is no test");
}

#[test]
fn each_bad_input_has_its_row_and_each_row_its_test() {
    let rows = rows("docs/inputs.md");
    let numbers: Vec<u32> = rows.iter().map(|cells| cells[0].parse().unwrap()).collect();
    assert_eq!(numbers, (1..=108).collect::<Vec<_>>());
    for cells in &rows {
        assert_eq!(cells.len(), 5, "{cells:?}");
        let parts: BTreeSet<&str> = cells[2].split('/').collect();
        assert!(parts.iter().all(|part| ["R", "S", "K"].contains(part)), "{cells:?}");
        let tests = named(&cells[4]);
        let is_honest = cells[4].contains("not yet (issue 5)") || cells[4].contains("no test, because");
        assert!(!tests.is_empty() || is_honest, "{cells:?}");
        for (file, test) in tests {
            exists(&file, &test);
        }
    }
}

/// The package with the native binary carries the notices of the libgit2 that is in it.
#[test]
fn the_notices_are_those_of_the_libgit2_that_is_linked() {
    let read = |path: &str| fs::read_to_string(repository().join(path)).unwrap();
    let lock = read("Cargo.lock");
    let (_, rest) = lock.split_once("name = \"libgit2-sys\"\nversion = \"").unwrap();
    let version = rest.split('"').next().unwrap().split('+').nth(1).unwrap();
    let notices = read("node/THIRD-PARTY-NOTICES.txt");
    assert!(
        notices.contains(&format!("contains libgit2 {version},")),
        "take the notices of libgit2 {version}"
    );
    for part in ["LINKING EXCEPTION", "GNU GENERAL PUBLIC LICENSE", "SHA1 collision detection code"] {
        assert!(notices.contains(part), "{part}");
    }
    assert!(read("node/package.json").contains("\"THIRD-PARTY-NOTICES.txt\""), "it is not packed");
}

#[test]
fn each_sync_flag_and_lock_names_a_test_that_exists() {
    let rows = rows("docs/proven.md");
    assert!(rows.len() > 20, "{}", rows.len());
    for cells in rows {
        for (file, test) in cells.iter().flat_map(|cell| named(cell)) {
            exists(&file, &test);
        }
    }
}
