//! What one word of a command becomes when the shell expands it, as far as that can be known before.

/// A word after quotes are taken away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// Exactly this text.
    Literal(String),
    /// One word or several; each begins with this text. A pattern or braces.
    Begins(String),
    /// One word that begins with this text: a variable between double quotes.
    One(String),
    /// Any number of any words: a variable that the shell splits.
    Anything,
}

impl Word {
    /// Reads a word as the parser left it. [`screen`](crate::screen::screen) has refused all expansions but plain variables,
    /// patterns, braces and tildes.
    pub(crate) fn read(raw: &str) -> Self {
        if raw == "[" || raw == "]" || raw == "{}" {
            return Self::Literal(raw.to_owned());
        }
        let chars: Vec<char> = raw.chars().collect();
        let mut text = String::new();
        let mut expands = false;
        let mut varies = false;
        let mut quote = None;
        let mut at = 0;
        if raw.starts_with('~') && !matches!(chars.get(1), None | Some('/')) {
            // `~name`, `~+` and `~-` are directories of others, or stay as they are.
            return Self::Anything;
        }
        while let Some(&c) = chars.get(at) {
            let fixed = !expands && !varies;
            let mut literal = |c: char| {
                if fixed {
                    text.push(c);
                }
            };
            match (quote, c) {
                (None, '\'' | '"') => quote = Some(c),
                (Some(open), c) if open == c => quote = None,
                (Some('\''), c) => literal(c),
                (None, '\\') => {
                    at += 1;
                    chars.get(at).copied().map(literal);
                }
                (Some(_), '\\') => {
                    let next = chars.get(at + 1).copied();
                    match next {
                        Some(next @ ('$' | '`' | '"' | '\\')) => {
                            at += 1;
                            literal(next);
                        }
                        _ => literal('\\'),
                    }
                }
                (open, '$') if is_variable(chars.get(at + 1)) => {
                    if open.is_none() {
                        return Self::Anything;
                    }
                    varies = true;
                }
                // What stands for a path in `find -exec` and `xargs -I{}`: nothing to expand.
                (None, '{') if empty_braces(raw) => literal(c),
                (None, '*' | '?' | '[' | '{') => expands = true,
                (_, c) => literal(c),
            }
            at += 1;
        }
        match (expands, varies) {
            (false, false) => Self::Literal(text),
            (false, true) => Self::One(text),
            (true, _) => Self::Begins(text),
        }
    }

    /// What the word begins with, as far as that is known.
    pub(crate) fn beginning(&self) -> Option<&str> {
        match self {
            Self::Literal(text) | Self::Begins(text) | Self::One(text) => Some(text),
            Self::Anything => None,
        }
    }

    /// The text, if it is known exactly.
    pub(crate) fn literal(&self) -> Option<&str> {
        match self {
            Self::Literal(text) => Some(text),
            _ => None,
        }
    }
}

/// Whether the only braces of a word are `{}`. With a comma or two dots shells disagree.
fn empty_braces(raw: &str) -> bool {
    raw.contains("{}") && raw.matches(['{', '}']).count() == 2 && !raw.contains(',') && !raw.contains("..")
}

fn is_variable(next: Option<&char>) -> bool {
    next.is_some_and(|next| next.is_ascii_alphanumeric() || matches!(next, '_' | '{' | '?'))
}
