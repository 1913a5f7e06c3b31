//! Numbers: JavaScript's are exact up to 2^53 only, and Rust's casts would hide what does not fit.

use turnback_core::Millis;
use turnback_engine::{Code, Error, Result};

/// The largest integer that a JavaScript number holds exactly.
const MAX_SAFE: u64 = (1 << 53) - 1;

/// A count or a length for JavaScript.
///
/// # Errors
/// `CORRUPT` over 2^53 - 1: no real count reaches that.
pub(crate) fn to_js(value: u64) -> Result<i64> {
    if value > MAX_SAFE {
        return Err(Error::corrupt(format!("a stored number ({value}) is impossibly large")));
    }
    i64::try_from(value).map_err(|cause| Error::corrupt("a stored number is impossibly large").because(cause))
}

/// The last moment that a JavaScript `Date` can be, in milliseconds since 1970.
const LAST_DATE: i64 = 8_640_000_000_000_000;

/// A moment for JavaScript, in milliseconds since 1970; one that no `Date` can be is the last that one can.
pub(crate) fn date_to_js(at: Millis) -> i64 {
    i64::try_from(at.as_u64()).unwrap_or(LAST_DATE).min(LAST_DATE)
}

/// A count or a length from JavaScript.
///
/// # Errors
/// `INVALID_ARGUMENT` for anything but an integer from 0 to 2^53 - 1.
pub(crate) fn from_js(name: &str, value: f64) -> Result<u64> {
    let whole = value.trunc();
    if whole != value || !(0.0..=9_007_199_254_740_991.0).contains(&whole) {
        return Err(Error::new(
            Code::InvalidArgument,
            format!("{name} is not a whole number of at least 0"),
            "pass an integer",
        ));
    }
    // Checked above: exact, not negative, below 2^53.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let integer = whole as u64;
    Ok(integer)
}
