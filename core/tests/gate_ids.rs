//! G9: what a driver calls its checkpoints comes back as it was.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use proptest::prelude::*;
use turnback_core::{DriverCheckpointId, Outcome, Reason};

#[test]
fn each_form_comes_back_as_it_was() {
    let long = "é".repeat(100);
    for text in [
        "v1",
        "x",
        "sixteen-bytes-id",
        "seventeen-byte-id",
        "01JZ4Q8M3N5P7R9T1V3X5Z7B9D",
        "7ZZZZZZZZZZZZZZZZZZZZZZZZZ",
        "8ZZZZZZZZZZZZZZZZZZZZZZZZZ",
        "01jz4q8m3n5p7r9t1v3x5z7b9d",
        "0d1c2b3a-4f5e-4a6b-8c7d-9e8f7a6b5c4d",
        "0D1C2B3A-4F5E-4A6B-8C7D-9E8F7A6B5C4D",
        "0d1c2b3a04f5e-4a6b-8c7d-9e8f7a6b5c4d",
        "00000000-0000-0000-0000-000000000000",
        "日本語のid",
        &long,
    ] {
        assert_eq!(DriverCheckpointId::new(text).unwrap().to_string(), text);
    }
}

#[test]
fn what_is_empty_too_long_or_unprintable_is_refused() {
    for text in ["", "a\nb", "\u{7f}", &"x".repeat(201)] {
        let error = DriverCheckpointId::new(text).unwrap_err();
        assert_eq!((error.code(), error.bytes), ("INVALID_ARGUMENT", text.len()));
    }
}

#[test]
fn every_reason_has_a_name_of_its_own() {
    let mut names: Vec<_> = Reason::ALL.map(Reason::as_str).to_vec();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Reason::ALL.len());
    assert!(Reason::ALL.iter().any(|reason| reason.outcome() == Outcome::TimedOut));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_comes_back_as_it_was(text in "[ -~é日]{1,40}") {
        prop_assert_eq!(DriverCheckpointId::new(&text).unwrap().to_string(), text);
    }

    #[test]
    fn different_texts_stay_different(one in "[0-9a-f-]{36}|[0-9A-HJKMNP-TV-Z]{26}|.{1,17}", two in ".{1,17}") {
        if let (Ok(a), Ok(b)) = (DriverCheckpointId::new(&one), DriverCheckpointId::new(&two)) {
            prop_assert_eq!(a == b, one == two);
        }
    }
}
