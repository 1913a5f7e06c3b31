//! A repository's own configuration, read as text: no include is followed, nothing of the user's or the machine's counts, and no value
//! is ever run (F41, inputs 83–85, 91).

use crate::error::Result;

use super::refusal::unsupported;

/// The variables of one file, in order.
#[derive(Debug, Default)]
pub(in crate::sandbox) struct Config(Vec<Variable>);

#[derive(Debug)]
struct Variable {
    /// Lower case.
    section: String,
    subsection: Option<Vec<u8>>,
    /// Lower case.
    name: String,
    value: Vec<u8>,
}

impl Config {
    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// `GIT_UNSUPPORTED` for text that git would refuse too.
    pub(in crate::sandbox) fn parse(bytes: &[u8]) -> Result<Self> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let mut reader = Reader { rest: bytes };
        reader.run().map(Self).ok_or_else(|| unsupported("its configuration file is malformed"))
    }

    /// The last value of a variable; names in lower case.
    pub(super) fn get(&self, section: &str, subsection: Option<&[u8]>, name: &str) -> Option<&[u8]> {
        let is_it =
            |v: &&Variable| v.section == section && v.subsection.as_deref() == subsection && v.name == name;
        self.0.iter().rev().find(is_it).map(|v| v.value.as_slice())
    }

    /// All variables of a section, whatever the subsection: name and value.
    pub(in crate::sandbox) fn section<'a>(
        &'a self,
        section: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        self.0.iter().filter(move |v| v.section == section).map(|v| (v.name.as_str(), v.value.as_slice()))
    }
}

/// Whether git takes a value for yes.
pub(super) fn is_true(value: &[u8]) -> bool {
    let number = std::str::from_utf8(value).ok().and_then(|text| text.trim().parse::<i64>().ok());
    [&b"true"[..], b"yes", b"on"].iter().any(|yes| value.eq_ignore_ascii_case(yes))
        || number.is_some_and(|number| number != 0)
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// The next byte; a line end is one byte.
    fn next(&mut self) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        if first == b'\r' && self.peek() == Some(b'\n') {
            return self.next();
        }
        Some(first)
    }

    fn skip_line(&mut self) {
        while self.next().is_some_and(|byte| byte != b'\n') {}
    }

    /// `None` for malformed text.
    fn run(&mut self) -> Option<Vec<Variable>> {
        let mut found = Vec::new();
        let mut section: Option<(String, Option<Vec<u8>>)> = None;
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => drop(self.next()),
                b'#' | b';' => self.skip_line(),
                b'[' => section = Some(self.header()?),
                _ => {
                    let (section, subsection) = section.clone()?;
                    let (name, value) = self.variable()?;
                    found.push(Variable { section, subsection, name, value });
                }
            }
        }
        Some(found)
    }

    fn header(&mut self) -> Option<(String, Option<Vec<u8>>)> {
        self.next();
        let mut name = Vec::new();
        loop {
            match self.next()? {
                b']' => return Some(split_legacy(&name)),
                byte @ (b'.' | b'-') => name.push(byte),
                byte if byte.is_ascii_alphanumeric() => name.push(byte.to_ascii_lowercase()),
                b' ' | b'\t' => break,
                _ => return None,
            }
        }
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.next();
        }
        if self.next()? != b'"' {
            return None;
        }
        let mut subsection = Vec::new();
        loop {
            match self.next()? {
                b'"' => break,
                b'\n' => return None,
                b'\\' => subsection.push(self.next()?),
                byte => subsection.push(byte),
            }
        }
        let name = String::from_utf8(name).ok()?;
        (self.next()? == b']').then_some((name, Some(subsection)))
    }

    fn variable(&mut self) -> Option<(String, Vec<u8>)> {
        let mut name = Vec::new();
        while let Some(byte) = self.peek().filter(|b| b.is_ascii_alphanumeric() || *b == b'-') {
            name.push(byte.to_ascii_lowercase());
            self.next();
        }
        if !name.first()?.is_ascii_alphabetic() {
            return None;
        }
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.next();
        }
        let name = String::from_utf8(name).ok()?;
        match self.peek() {
            // A name alone means yes.
            None | Some(b'\n' | b'\r') => Some((name, b"true".to_vec())),
            Some(b'#' | b';') => {
                self.skip_line();
                Some((name, b"true".to_vec()))
            }
            Some(b'=') => {
                self.next();
                Some((name, self.value()?))
            }
            Some(_) => None,
        }
    }

    fn value(&mut self) -> Option<Vec<u8>> {
        let mut value = Vec::new();
        // As far as it counts: spaces at the end do not.
        let mut end = 0;
        let mut quoted = false;
        loop {
            match self.next() {
                None | Some(b'\n') if quoted => return None,
                None | Some(b'\n') => break,
                Some(b'"') => {
                    quoted = !quoted;
                    end = value.len();
                }
                Some(b'#' | b';') if !quoted => {
                    self.skip_line();
                    break;
                }
                Some(b'\\') => match self.next()? {
                    b'\n' => {}
                    byte => {
                        value.push(match byte {
                            b'n' => b'\n',
                            b't' => b'\t',
                            b'b' => 8,
                            b'"' | b'\\' => byte,
                            _ => return None,
                        });
                        end = value.len();
                    }
                },
                Some(b' ' | b'\t') if !quoted && value.is_empty() => {}
                Some(byte @ (b' ' | b'\t')) if !quoted => value.push(byte),
                Some(byte) => {
                    value.push(byte);
                    end = value.len();
                }
            }
        }
        value.truncate(end);
        Some(value)
    }
}

/// The old form `[section.sub]`.
fn split_legacy(name: &[u8]) -> (String, Option<Vec<u8>>) {
    let text = String::from_utf8_lossy(name).into_owned();
    match text.split_once('.') {
        Some((section, sub)) => (section.to_owned(), Some(sub.as_bytes().to_vec())),
        None => (text, None),
    }
}
