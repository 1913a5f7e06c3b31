//! Who commits: the repository's own configuration, or nobody in particular. The user's and the machine's are not read, and none is
//! needed (F52).

use super::config::Config;
use crate::checkpoint::baseline::wall_clock;

/// Nobody in particular, at no time: for what is not a commit.
pub(super) const NEUTRAL: &[u8] = b"turnback <turnback@localhost> 0 +0000";

/// Name, address and time, as they stand in a commit.
pub(super) fn author(config: &Config) -> Vec<u8> {
    let own = |name: &str| {
        let value: Vec<u8> = config
            .get("user", None, name)?
            .iter()
            .copied()
            .filter(|b| !matches!(b, b'<' | b'>' | b'\n' | 0))
            .collect();
        let value = value.trim_ascii().to_vec();
        (!value.is_empty()).then_some(value)
    };
    let mut line = own("name").unwrap_or_else(|| b"turnback".to_vec());
    line.extend_from_slice(b" <");
    line.extend_from_slice(&own("email").unwrap_or_else(|| b"turnback@localhost".to_vec()));
    line.extend_from_slice(format!("> {} +0000", wall_clock().as_u64() / 1_000).as_bytes());
    line
}
