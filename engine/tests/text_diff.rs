//! What two texts differ in, as people read it.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests panic")]

use turnback_engine::text_diff;

fn shown(old: &[u8], new: &[u8]) -> String {
    let diff = text_diff(old, new, 1).expect("comparing").expect("texts");
    String::from_utf8(diff).expect("UTF-8")
}

#[test]
fn lines_around_a_change() {
    let old = b"one\ntwo\nthree\nfour\nfive\n";
    let new = b"one\ntwo\n3\nfour\nfive\n";
    assert_eq!(shown(old, new), "@@ -2,3 +2,3 @@ one\n two\n-three\n+3\n four\n");
}

#[test]
fn a_text_that_comes_or_goes() {
    assert_eq!(shown(b"", b"a\nb\n"), "@@ -0,0 +1,2 @@\n+a\n+b\n");
    assert_eq!(shown(b"a\n", b""), "@@ -1 +0,0 @@\n-a\n");
}

#[test]
fn equal_texts_differ_in_nothing() {
    assert_eq!(shown(b"a\n", b"a\n"), "");
    assert_eq!(shown(b"", b""), "");
}

#[test]
fn a_last_line_without_an_end() {
    let end = "\\ No newline at end of file\n";
    assert_eq!(shown(b"a\nb", b"a\nb\n"), format!("@@ -1,2 +1,2 @@\n a\n-b\n{end}+b\n"));
    assert_eq!(shown(b"a\nb\n", b"a\nb"), format!("@@ -1,2 +1,2 @@\n a\n-b\n+b\n{end}"));
    assert_eq!(shown(b"a\nb", b"c\nb"), format!("@@ -1,2 +1,2 @@\n-a\n+c\n b\n{end}"));
}

#[test]
fn what_is_no_utf_8_is_a_text_all_the_same_and_keeps_its_bytes() {
    let diff = text_diff(b"caf\xe9\n", b"caf\xe9s\r\n", 0).expect("comparing").expect("texts");
    assert_eq!(diff, b"@@ -1 +1 @@\n-caf\xe9\n+caf\xe9s\r\n");
}

#[test]
fn what_holds_a_nul_is_no_text() {
    assert_eq!(text_diff(b"a\0", b"a", 3).expect("comparing"), None);
    assert_eq!(text_diff(b"a", b"a\0", 3).expect("comparing"), None);
}
