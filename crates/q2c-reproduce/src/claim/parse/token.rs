//! The words and signs of an expression.

/// A word or sign, with its first column, from 1.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ExprToken {
    pub kind: TokenKind,
    pub column: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenKind {
    Number(f64),
    Word(String),
    /// A quoted text.
    Quoted(String),
    Sign(&'static str),
}

/// The signs. Of two signs with a common start the longer one must come first.
const SIGNS: [&str; 20] = [
    "+-", "..", ">=", "<=", ">", "<", "~", "+", "-", "*", "/", "(", ")", "[", "]", ",", "=", ".",
    "%", "\u{b1}",
];

/// Splits a text into tokens. The error holds the column (from 1) and the problem.
pub(super) fn tokens(text: &str) -> Result<Vec<ExprToken>, (usize, String)> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let column = text[..at].chars().count() + 1;
        let (kind, length) = next(&text[at..], first).map_err(|message| (column, message))?;
        tokens.push(ExprToken { kind, column });
        at += length;
    }
    Ok(tokens)
}

fn next(rest: &str, first: char) -> Result<(TokenKind, usize), String> {
    if first.is_ascii_digit() {
        return number(rest);
    }
    if first == '"' {
        let end = rest[1..].find('"');
        let end = end.ok_or("a text in quotes has no end; put a second `\"` behind it")?;
        return Ok((TokenKind::Quoted(rest[1..=end].to_owned()), end + 2));
    }
    if first.is_alphabetic() || first == '_' {
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
        let word = &rest[..end.unwrap_or(rest.len())];
        return Ok((TokenKind::Word(word.to_owned()), word.len()));
    }
    let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
    match sign {
        Some(&"\u{b1}") => Ok((TokenKind::Sign("+-"), "\u{b1}".len())),
        Some(sign) => Ok((TokenKind::Sign(sign), sign.len())),
        None => Err(format!("`{first}` has no meaning here")),
    }
}

/// Parses digits, and a decimal point if digits follow it. Two points are a range.
fn number(rest: &str) -> Result<(TokenKind, usize), String> {
    let digits = |text: &str| {
        let end = text.find(|c: char| !c.is_ascii_digit());
        end.unwrap_or(text.len())
    };
    let mut length = digits(rest);
    let fraction = rest[length..].strip_prefix('.').map(digits);
    if let Some(fraction @ 1..) = fraction {
        length += 1 + fraction;
    }
    let value = rest[..length].parse();
    let value = value.map_err(|e| format!("`{}` is no number: {e}", &rest[..length]))?;
    Ok((TokenKind::Number(value), length))
}
