//! The policy layer for JavaScript hosts without native code (P1): what `turnback-core` decides, and nothing else.
//!
//! Each function parses its arguments, asks `core` and hands back its answer. The package's `lib/` checks the JavaScript
//! types first; what is refused here comes out as an exception with a `code`.

mod error;
mod gate;
mod lifecycle;
mod policy;
mod simulate;

/// A module without threads needs no more, and the standard library's is much of what a page downloads (W11).
#[cfg(all(target_family = "wasm", not(target_feature = "atomics")))]
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

pub use gate::Gate;
pub use lifecycle::{allowed_transitions, is_legal_transition};
pub use policy::{
    CommentParts, FlagDecision, checkpoint_comment, parse_checkpoint_comment, resolve_flag, should_checkpoint,
};
pub use simulate::simulate;
