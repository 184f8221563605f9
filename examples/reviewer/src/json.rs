//! JSON as RFC 8259 has it: for the messages of the host, and for the blocks of an answer.

use std::fmt::Write;

/// Nothing that the host sends is nested deeper than 140 levels.
const MAX_DEPTH: usize = 200;

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    /// As it was written: the host's ids fit into a double, but other numbers need not.
    Number(String),
    Text(String),
    List(Vec<Value>),
    Object(Vec<(String, Value)>),
}

impl Value {
    /// The value of a name; `Null` if it is absent, which means the same everywhere.
    pub fn get(&self, name: &str) -> &Value {
        match self {
            Value::Object(pairs) => pairs.iter().find(|pair| pair.0 == name).map_or(&Value::Null, |pair| &pair.1),
            _ => &Value::Null,
        }
    }

    pub fn text(&self) -> Option<&str> {
        if let Value::Text(text) = self { Some(text) } else { None }
    }

    pub fn number(&self) -> Option<f64> {
        if let Value::Number(digits) = self { digits.parse().ok() } else { None }
    }

    pub fn list(&self) -> &[Value] {
        if let Value::List(values) = self { values } else { &[] }
    }

    pub fn pairs(&self) -> &[(String, Value)] {
        if let Value::Object(pairs) = self { pairs } else { &[] }
    }
}

/// A text as JSON.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c < ' ' => write!(out, "\\u{:04x}", c as u32).expect("a String takes all"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// What is wrong, and in which line, counted from 1.
#[derive(Debug, PartialEq)]
pub struct Fault {
    pub line: usize,
    pub what: String,
}

pub fn parse(text: &str) -> Result<Value, Fault> {
    let mut reader = Reader { text, at: 0 };
    let result = reader.value(0).and_then(|value| {
        reader.skip();
        if reader.at == text.len() { Ok(value) } else { Err("something stands behind the value".to_string()) }
    });
    let at = reader.at.min(text.len());
    result.map_err(|what| Fault { line: 1 + text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count(), what })
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip(&mut self) {
        while matches!(self.byte(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn found(&self) -> String {
        self.text[self.at..].chars().next().map_or("the end".to_string(), |c| format!("{c:?}"))
    }

    fn expect(&mut self, word: &str, value: Value) -> Result<Value, String> {
        if !self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            return Err(format!("a value was expected, and there is {}", self.found()));
        }
        self.at += word.len();
        Ok(value)
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        if depth > MAX_DEPTH {
            return Err(format!("it is nested over {MAX_DEPTH} levels"));
        }
        self.skip();
        match self.byte() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => self.string().map(Value::Text),
            Some(b't') => self.expect("true", Value::Bool(true)),
            Some(b'f') => self.expect("false", Value::Bool(false)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.expect("null", Value::Null),
        }
    }

    /// Whether the next thing is that sign; then it is passed.
    fn is(&mut self, sign: u8) -> bool {
        self.skip();
        let is = self.byte() == Some(sign);
        self.at += usize::from(is);
        is
    }

    fn list(&mut self, depth: usize) -> Result<Value, String> {
        self.at += 1;
        let mut values = Vec::new();
        if self.is(b']') {
            return Ok(Value::List(values));
        }
        loop {
            values.push(self.value(depth + 1)?);
            if self.is(b']') {
                return Ok(Value::List(values));
            }
            if !self.is(b',') {
                return Err(format!("',' or ']' was expected, and there is {}", self.found()));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, String> {
        self.at += 1;
        let mut pairs = Vec::new();
        if self.is(b'}') {
            return Ok(Value::Object(pairs));
        }
        loop {
            self.skip();
            if self.byte() != Some(b'"') {
                return Err(format!("a name in quotes was expected, and there is {}", self.found()));
            }
            let name = self.string()?;
            if !self.is(b':') {
                return Err(format!("':' was expected, and there is {}", self.found()));
            }
            pairs.push((name, self.value(depth + 1)?));
            if self.is(b'}') {
                return Ok(Value::Object(pairs));
            }
            if !self.is(b',') {
                return Err(format!("',' or '}}' was expected, and there is {}", self.found()));
            }
        }
    }

    fn number(&mut self) -> Result<Value, String> {
        let begin = self.at;
        self.at += usize::from(self.byte() == Some(b'-'));
        let zero = self.byte() == Some(b'0');
        if self.digits() == 0 || (zero && self.at > begin + 1 + usize::from(self.text.as_bytes()[begin] == b'-')) {
            return Err("this is no number".to_string());
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            if self.digits() == 0 {
                return Err("a digit was expected behind the point".to_string());
            }
        }
        if matches!(self.byte(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.byte(), Some(b'+' | b'-')));
            if self.digits() == 0 {
                return Err("a digit was expected in the exponent".to_string());
            }
        }
        Ok(Value::Number(self.text[begin..self.at].to_string()))
    }

    fn digits(&mut self) -> usize {
        let begin = self.at;
        while matches!(self.byte(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - begin
    }

    fn string(&mut self) -> Result<String, String> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.find(|c| c == '"' || c == '\\' || c < ' ').ok_or("a text is not closed")?;
            out.push_str(&rest[..plain]);
            self.at += plain;
            match rest.as_bytes()[plain] {
                b'"' => {
                    self.at += 1;
                    return Ok(out);
                }
                b'\\' => out.push(self.escape()?),
                _ => return Err("a text has a line feed or another control character in it".to_string()),
            }
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        self.at += 1;
        let letter = self.byte();
        self.at += usize::from(letter.is_some_and(|byte| byte.is_ascii()));
        Ok(match letter {
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(letter @ (b'"' | b'\\' | b'/')) => letter as char,
            Some(b'u') => {
                let first = self.hex()?;
                let paired = (0xd800..0xdc00).contains(&first) && self.text[self.at..].starts_with("\\u");
                if !paired {
                    return Ok(char::from_u32(first).unwrap_or('\u{fffd}'));
                }
                let back = self.at;
                self.at += 2;
                let second = self.hex()?;
                if !(0xdc00..0xe000).contains(&second) {
                    self.at = back;
                    return Ok('\u{fffd}');
                }
                char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)).unwrap_or('\u{fffd}')
            }
            _ => return Err("a backslash stands before a letter that has no meaning there".to_string()),
        })
    }

    fn hex(&mut self) -> Result<u32, String> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4).unwrap_or(&[]);
        if digits.len() < 4 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err("\\u needs four hexadecimal digits".to_string());
        }
        self.at += 4;
        Ok(digits.iter().fold(0, |value, digit| value * 16 + (*digit as char).to_digit(16).unwrap_or(0)))
    }
}
