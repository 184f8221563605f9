//! The fenced blocks of an answer.

/// So many blocks of an answer are looked at, and those of up to so many bytes.
pub const MAX_BLOCKS: usize = 32;
pub const MAX_BYTES: usize = 65_536;

#[derive(Debug, PartialEq)]
pub struct Block {
    /// Of its opening fence in the answer, from 1.
    pub line: usize,
    /// The first word behind the fence, in lower case.
    pub language: String,
    pub text: String,
    pub closed: bool,
}

impl Block {
    /// An excerpt is not meant to be whole: it has a line of nothing but dots.
    pub fn is_excerpt(&self) -> bool {
        self.text.lines().any(|line| matches!(line.trim().trim_start_matches(['#', '/', ' ']), "..." | "…" | "...,"))
    }
}

/// The blocks of a text in Markdown: fences of three or more backquotes or tildes, at any depth of
/// a list.
pub fn blocks(text: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut open: Option<(usize, char, usize)> = None; // indentation, sign, length of the open fence
    for (number, line) in text.lines().enumerate() {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let inner = &line[indent..];
        let sign = inner.chars().next().unwrap_or(' ');
        let length = if matches!(sign, '`' | '~') { inner.len() - inner.trim_start_matches(sign).len() } else { 0 };
        let info = inner[length..].trim();
        match open {
            Some((_, its_sign, its_length)) if sign == its_sign && length >= its_length && info.is_empty() => {
                open = None;
                if let Some(block) = found.last_mut() {
                    block.closed = true;
                }
            }
            Some((its_indent, _, _)) => {
                if let Some(block) = found.last_mut().filter(|block| block.text.len() <= MAX_BYTES) {
                    block.text.push_str(&line[indent.min(its_indent)..]);
                    block.text.push('\n');
                }
            }
            None if length >= 3 && !(sign == '`' && info.contains('`')) => {
                if found.len() == MAX_BLOCKS {
                    break;
                }
                open = Some((indent, sign, length));
                let language = info.split([' ', '\t', ',', '{']).next().unwrap_or("").to_lowercase();
                found.push(Block { line: number + 1, language, text: String::new(), closed: false });
            }
            None => {}
        }
    }
    found
}
