//! What a command may be written with at all, decided before it is parsed.
//!
//! Shells disagree about the rest, and so may the parser: what passes here is read the same way by all of them. It also keeps
//! the parser within bounds, which has none of its own.

use crate::why::Why;

/// The longest command that is judged, in bytes. Longer ones count as destructive.
pub const MAX_COMMAND_BYTES: usize = 4096;

/// How deep subshells may stand in one another.
pub const MAX_SUBSHELL_DEPTH: usize = 4;

/// The most words that may open a group or an `if`: the parser calls itself for each.
const MAX_OPENERS: usize = 16;

#[derive(Clone, Copy, PartialEq)]
enum Quote {
    None,
    Single,
    Double,
}

/// Refuses what is not read the same way everywhere.
pub(crate) fn screen(command: &str) -> Result<(), Why> {
    if command.len() > MAX_COMMAND_BYTES {
        return Err(Why::TooLong { bytes: command.len() });
    }
    if command.trim().is_empty() {
        return Err(Why::Empty);
    }
    let openers = command
        .split(|c: char| c.is_ascii_whitespace() || ";&|()".contains(c))
        .filter(|word| matches!(*word, "{" | "if" | "elif" | "!" | "while" | "until" | "for" | "case" | "[["))
        .count();
    if openers > MAX_OPENERS {
        return Err(Why::Written { what: "more groups than are judged" });
    }
    let chars: Vec<char> = command.chars().collect();
    let several_lines = chars.contains(&'\n');
    let mut quote = Quote::None;
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let next = chars.get(at + 1).copied();
        let before = at.checked_sub(1).and_then(|i| chars.get(i)).copied();
        if c.is_control() && c != '\n' && c != '\t' {
            return written("a control character");
        }
        // Interactive shells keep their history's quotes line by line, some not at all.
        if c == '!'
            && (quote != Quote::Single || several_lines)
            && !matches!(next, None | Some(' ' | '\t' | '\n' | '='))
        {
            return written("a \"!\" that an interactive shell may replace");
        }
        match quote {
            Quote::Single => {
                if c == '\'' {
                    quote = Quote::None;
                }
            }
            Quote::Double => match c {
                '"' => quote = Quote::None,
                '\\' => {
                    escaped(next)?;
                    at += 1;
                }
                '`' => return written("a command substitution"),
                '$' => dollar(&chars, at, true)?,
                _ => {}
            },
            Quote::None => match c {
                '\'' => quote = Quote::Single,
                '"' => quote = Quote::Double,
                '\\' => {
                    escaped(next)?;
                    at += 1;
                }
                '(' => {
                    depth += 1;
                    if depth > MAX_SUBSHELL_DEPTH {
                        return written("more groups than are judged");
                    }
                    subshell(before, next)?;
                }
                ')' => depth = depth.saturating_sub(1),
                '$' => dollar(&chars, at, false)?,
                '#' if begins_line(&chars, at) => at += comment(&chars, at)?,
                _ => {
                    let two_before = chars.get(at.saturating_sub(2)..at).unwrap_or_default();
                    let digits = two_before.len() == 2 && two_before.iter().all(char::is_ascii_digit);
                    bare(c, before, next, digits)?;
                }
            },
        }
        at += 1;
    }
    if quote == Quote::None { Ok(()) } else { written("an open quote") }
}

fn written<T>(what: &'static str) -> Result<T, Why> {
    Err(Why::Written { what })
}

fn escaped(next: Option<char>) -> Result<(), Why> {
    match next {
        Some(next) if next.is_ascii_graphic() || next == ' ' => Ok(()),
        _ => written("a backslash at the end of a line or before an unusual character"),
    }
}

/// `(` may open a subshell; it opens a pattern, a function, an array or zsh's qualifiers (which run code) elsewhere.
fn subshell(before: Option<char>, next: Option<char>) -> Result<(), Why> {
    if next == Some('(') || before == Some('(') {
        return written("arithmetic");
    }
    match before {
        None | Some(' ' | '\t' | '\n' | ';' | '|' | '&') => Ok(()),
        _ => written("parentheses inside a word"),
    }
}

/// Whether only blanks stand before it on its line.
fn begins_line(chars: &[char], at: usize) -> bool {
    let before = chars.get(..at).unwrap_or_default();
    before.iter().rev().take_while(|c| **c != '\n').all(|c| matches!(c, ' ' | '\t'))
}

/// How many characters a comment of a line of its own has behind its `#`. An interactive zsh knows no comments: there it is a program called `#`,
/// which is not found, so that it may hold nothing but words.
fn comment(chars: &[char], at: usize) -> Result<usize, Why> {
    let text = chars.get(at + 1..).unwrap_or_default();
    let length = text.iter().take_while(|c| **c != '\n').count();
    let plain = |c: &char| c.is_ascii_alphanumeric() || " \t.,:/_-+@%".contains(*c);
    if text.iter().take(length).all(plain) {
        Ok(length)
    } else {
        written("a comment with more than plain words")
    }
}

/// A character outside quotes.
fn bare(c: char, before: Option<char>, next: Option<char>, two_digits_before: bool) -> Result<(), Why> {
    match c {
        '`' => written("a command substitution"),
        // An interactive zsh knows no comments: it would run what stands behind a `;`.
        '#' if !before.is_some_and(|before| before.is_ascii_alphanumeric()) => written("a comment"),
        '<' if matches!(next, Some('<')) => written("a here-document"),
        // The parser takes no number of a stream that is larger than it can hold.
        '<' | '>' if two_digits_before => written("an unusual stream"),
        '<' | '>' if next == Some('(') => written("a process substitution"),
        // bash and zsh put the number of the new stream into the variable of `{name}>file`, which may be PATH.
        '<' | '>' if before == Some('}') => written("a redirection that may set a variable"),
        '<' if matches!(next, Some('>' | '&')) => {
            written("a redirection that opens for writing or moves a stream")
        }
        '>' if matches!(next, Some('|')) => written("a redirection that overwrites"),
        _ if !c.is_ascii() => written("a character outside quotes that is not ASCII"),
        _ => Ok(()),
    }
}

/// After `$` a plain name (perhaps in braces) or `?` may follow: their values are unknown, but reading them does nothing.
/// Everything else that `$` begins can run commands or set variables, and `${x@P}` and `$((a[$(rm x)]))` do not look like it.
fn dollar(chars: &[char], at: usize, quoted: bool) -> Result<(), Why> {
    let named = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
    let rest = chars.get(at + 1..).unwrap_or_default();
    match rest.first() {
        Some('?') => unsubscripted(rest.get(1)),
        Some(c) if named(c) => {
            let name = rest.iter().take_while(|c| named(c)).count();
            unsubscripted(rest.get(name))
        }
        Some('{') => {
            let name = rest.get(1..).unwrap_or_default().iter().take_while(|c| named(c)).count();
            if name > 0 && rest.get(name + 1) == Some(&'}') {
                unsubscripted(rest.get(name + 2))
            } else {
                written("an expansion that is more than a variable")
            }
        }
        Some('(') => written("a command substitution"),
        // A `$` by itself, as at the end of a pattern.
        None | Some(' ' | '\t' | '\n') => Ok(()),
        Some('"' | '|' | ')' | '/') if quoted => Ok(()),
        _ => written("an unusual \"$\""),
    }
}

/// In zsh a subscript is arithmetic, which can set variables and run commands, behind `$?` as well as behind a name.
fn unsubscripted(next: Option<&char>) -> Result<(), Why> {
    if next == Some(&'[') { written("a subscript") } else { Ok(()) }
}
