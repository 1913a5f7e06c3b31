//! Fuzz target: bytes read as `Kind::Index` (P15). The same function that the quick tier mutates.
#![no_main]

use libfuzzer_sys::fuzz_target;
use turnback_soak::parsers::{Kind, fuzz};

fuzz_target!(|data: &[u8]| fuzz(Kind::Index, data));
