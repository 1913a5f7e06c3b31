//! The nouns that `tree`, `store` and `restore` share; no I/O here.

mod codec;
mod entry;
mod hash;
mod links;
mod path;
mod picture;
mod uncovered;
mod uncovered_list;
mod xattrs;

pub use codec::{DecodeError, Decoder, Encoder, decode_entry, encode_entry};
pub use entry::{Content, Entry, FileKind, Meta, Node, Segment, Timestamp};
pub use hash::{Hash, HashHex};
pub use links::LinkGroups;
pub use path::{NameError, RelPath, check_name, escape};
pub use picture::{Objects, Picture, Sink};
pub use uncovered::{Reason, Uncovered};
pub use uncovered_list::{decode_uncovered, encode_uncovered};
pub use xattrs::{Xattr, Xattrs, decode_segments, encode_segments};
