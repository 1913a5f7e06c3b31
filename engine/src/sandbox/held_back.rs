//! Which paths a commit holds back because of their names (S6, input 106).

use super::commit::HoldReason;
use crate::model::RelPath;
use crate::restore::is_git_name;

/// Names, of files or directories anywhere, that make some program of the host run something later.
const ANYWHERE: [&str; 19] = [
    ".vscode",
    ".idea",
    ".devcontainer",
    ".devcontainer.json",
    ".claude",
    ".codex",
    ".cursor",
    ".gemini",
    ".kiro",
    ".roo",
    ".opencode",
    ".zed",
    ".hg",
    ".cargo",
    ".ssh",
    ".mcp.json",
    ".envrc",
    ".husky",
    ".pre-commit-config.yaml",
];

/// What lefthook reads, with or without a dot before it: its configuration, a person's own beside it, and the directories of its scripts.
const LEFTHOOK: [&str; 2] = ["lefthook", "lefthook-local"];
const LEFTHOOK_FORMATS: [&str; 4] = ["yml", "yaml", "json", "toml"];

/// What shells read when they start, and sessions.
const SHELL: [&str; 19] = [
    ".profile",
    ".xprofile",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".mkshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".inputrc",
    ".xonshrc",
];

/// A directory of which one name counts that does not count elsewhere, and that name.
const ONLY_BEHIND: (&str, &str) = (".config", "fish");

/// The name that counts behind this one, so that a link called like this leads to it.
pub(super) fn name_behind(name: &[u8]) -> Option<&'static [u8]> {
    let (before, behind) = ONLY_BEHIND;
    name.eq_ignore_ascii_case(before.as_bytes()).then_some(behind.as_bytes())
}

fn is_lefthook(name: &[u8]) -> bool {
    let Ok(name) = std::str::from_utf8(name) else { return false };
    let name = name.to_ascii_lowercase();
    let bare = name.strip_prefix('.').unwrap_or(&name);
    match bare.split_once('.') {
        Some((stem, format)) => LEFTHOOK.contains(&stem) && LEFTHOOK_FORMATS.contains(&format),
        // The directories of scripts.
        None => LEFTHOOK.contains(&bare) && name.len() != bare.len(),
    }
}

/// Why a path is held back, with the path of the name that is the reason; `None` when it is not.
pub(super) fn by_name(path: &RelPath) -> Option<(RelPath, HoldReason)> {
    let mut at = RelPath::root();
    let mut last: &[u8] = b"";
    for name in path.names() {
        at = at.join(name);
        if is_git_name(name) {
            return Some((at, HoldReason::Git));
        }
        // File systems that fold case would take one for the other.
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        let is_behind = name_behind(last).is_some_and(|behind| name.eq_ignore_ascii_case(behind));
        if ANYWHERE.iter().any(|known| is(known))
            || SHELL.iter().any(|known| is(known))
            || is_behind
            || is_lefthook(name)
        {
            return Some((at, HoldReason::Trusted));
        }
        last = name;
    }
    None
}
