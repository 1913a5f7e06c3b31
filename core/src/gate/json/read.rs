use super::WrongInput;
use crate::excerpt::excerpt;

/// What a field of an input can hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    Number(u64),
    Flag(bool),
    Null,
}

/// Reads a flat JSON object (RFC 8259) of texts, whole numbers from 0, flags and nulls, in the order in which they stand.
pub(super) fn object(text: &str) -> Result<Vec<(String, Value)>, WrongInput> {
    let mut reader = Reader { text, at: 0 };
    let mut fields: Vec<(String, Value)> = Vec::new();
    reader.expect(b'{', "an object")?;
    if !reader.eat(b'}') {
        loop {
            reader.expect(b'"', "the name of a field")?;
            let name = reader.rest_of_text()?;
            if fields.iter().any(|(known, _)| *known == name) {
                return Err(WrongInput::Twice { field: excerpt(&name) });
            }
            reader.expect(b':', "a colon")?;
            fields.push((name, reader.value()?));
            if reader.eat(b'}') {
                break;
            }
            reader.expect(b',', "a comma or the object's end")?;
        }
    }
    reader.skip_space();
    if reader.at < text.len() { Err(reader.needs("the end")) } else { Ok(fields) }
}

struct Reader<'a> {
    text: &'a str,
    /// Always at the start of a character.
    at: usize,
}

impl Reader<'_> {
    fn needs(&self, needed: &'static str) -> WrongInput {
        WrongInput::Syntax { needed, at: self.at }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Skips spaces and then this ASCII character, if it is there.
    fn eat(&mut self, character: u8) -> bool {
        self.skip_space();
        let there = self.peek() == Some(character);
        self.at += usize::from(there);
        there
    }

    fn expect(&mut self, character: u8, what: &'static str) -> Result<(), WrongInput> {
        if self.eat(character) { Ok(()) } else { Err(self.needs(what)) }
    }

    fn word(&mut self, word: &str) -> bool {
        let there = self.text.get(self.at..).is_some_and(|rest| rest.starts_with(word));
        if there {
            self.at += word.len();
        }
        there
    }

    fn value(&mut self) -> Result<Value, WrongInput> {
        if self.eat(b'"') {
            return self.rest_of_text().map(Value::Text);
        }
        if self.word("true") {
            return Ok(Value::Flag(true));
        }
        if self.word("false") {
            return Ok(Value::Flag(false));
        }
        if self.word("null") {
            return Ok(Value::Null);
        }
        self.number().map(Value::Number)
    }

    fn number(&mut self) -> Result<u64, WrongInput> {
        const WHAT: &str = "a text, a whole number from 0, a flag or null";
        let first = self.peek().filter(u8::is_ascii_digit).ok_or_else(|| self.needs(WHAT))?;
        let mut number: u64 = 0;
        while let Some(digit) = self.peek().filter(u8::is_ascii_digit) {
            number = number
                .checked_mul(10)
                .and_then(|tens| tens.checked_add(u64::from(digit - b'0')))
                .ok_or_else(|| self.needs("a number below 2^64"))?;
            self.at += 1;
            if first == b'0' {
                break;
            }
        }
        if matches!(self.peek(), Some(b'.' | b'e' | b'E' | b'0'..=b'9')) {
            return Err(self.needs("a whole number without zeros in front of it"));
        }
        Ok(number)
    }

    /// The text whose opening quote was read.
    fn rest_of_text(&mut self) -> Result<String, WrongInput> {
        let mut text = String::new();
        loop {
            let start = self.at;
            while !matches!(self.peek(), None | Some(b'"' | b'\\' | 0..=0x1f)) {
                self.at += 1;
            }
            // What stopped the loop is ASCII, so both ends are at the start of a character.
            text.push_str(self.text.get(start..self.at).unwrap_or_default());
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => {
                    self.at += 1;
                    text.push(self.escaped()?);
                }
                _ => return Err(self.needs("the end of a text")),
            }
        }
    }

    /// The character whose backslash was read.
    fn escaped(&mut self) -> Result<char, WrongInput> {
        let character = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(),
            _ => return Err(self.needs("an escape that JSON has")),
        };
        self.at += 1;
        Ok(character)
    }

    /// The character whose `\` was read, and whose `u` was not.
    fn unicode(&mut self) -> Result<char, WrongInput> {
        let first = self.unit()?;
        let code = if (0xd800..0xdc00).contains(&first) && self.word("\\") {
            match self.unit()? {
                second @ 0xdc00..0xe000 => 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00),
                _ => return Err(self.needs("well-formed text instead of half a surrogate pair")),
            }
        } else {
            first
        };
        char::from_u32(code).ok_or_else(|| self.needs("well-formed text instead of half a surrogate pair"))
    }

    /// `u` and four hexadecimal digits.
    fn unit(&mut self) -> Result<u32, WrongInput> {
        const WHAT: &str = "u and four hexadecimal digits";
        if !self.word("u") {
            return Err(self.needs(WHAT));
        }
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|digit| char::from(digit).to_digit(16));
            unit = unit << 4 | digit.ok_or_else(|| self.needs(WHAT))?;
            self.at += 1;
        }
        Ok(unit)
    }
}
