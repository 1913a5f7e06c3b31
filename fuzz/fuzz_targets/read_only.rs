//! Fuzz target: the proof that a command only reads (G14). It judges any text without a panic, and no text hides a line that removes
//! something, wherever it stands.
#![no_main]

use libfuzzer_sys::fuzz_target;
use turnback_risk::is_read_only;

fuzz_target!(|command: &str| {
    let _ = is_read_only(command);
    for made in [format!("{command}\nrm x"), format!("rm x\n{command}")] {
        assert!(!is_read_only(&made).is_read_only(), "taken for read-only: {made:?}");
    }
});
