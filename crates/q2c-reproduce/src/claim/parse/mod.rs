//! Parses expressions such as `steady.miss_rate > 10 %`, `ratio(iops, phase1) ~ 0.1 +- 0.05` or
//! `argmax(iops over jobs) >= 45`.

use crate::claim::expr::{
    Aggregate, Compare, Expect, Expr, ExprQuantity, Extreme, FigureReference, Join,
};

/// The error of a text that is not an expression.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("understand `{text}` at column {column}: {problem}")]
pub(crate) struct ParseError {
    pub text: String,
    /// Column of the mistake, in characters from 1.
    pub column: usize,
    /// What is wrong, and what to write instead.
    pub problem: String,
}

/// Longest expression, bytes. Together with [`MAX_DEPTH`] it limits the stack that parsing needs.
const MAX_EXPR_BYTES: usize = 1000;
/// Deepest nesting of brackets, calls and signs.
const MAX_DEPTH: usize = 32;

/// Units of numbers, with their factors. Times become ns, shares 0..1.
const UNITS: [(&str, f64); 7] = [
    ("%", 0.01),
    ("ns", 1.0),
    ("us", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("K", 1e3),
    ("M", 1e6),
];

pub(crate) fn expect(text: &str) -> Result<Expect, ParseError> {
    let mut reader = ExprParser::new(text)?;
    let left = reader.sum()?;
    let sign = reader.take_sign(&[">", ">=", "<", "<=", "~"]);
    let sign = sign.ok_or_else(|| {
        reader.error("expected a comparison: >, >=, <, <= or ~, as in `iops > 10 K`")
    })?;
    let compare = match sign {
        ">" => Compare::Above,
        ">=" => Compare::AtLeast,
        "<" => Compare::Below,
        "<=" => Compare::AtMost,
        _ => Compare::Near,
    };
    let mut sides = vec![reader.side()?];
    if compare == Compare::Near {
        let near = reader.take_sign(&["+-"]);
        near.ok_or_else(|| reader.error("expected `+-` and a tolerance, as in `~ 0.1 +- 0.05`"))?;
        sides.push(reader.side()?);
    }
    reader.expect_end()?;
    let quantity = left.quantity();
    for side in &sides {
        if let Some(problem) = quantity.and_then(|quantity| side.problem(quantity)) {
            reader.next = side.first_token;
            return Err(reader.error(&problem));
        }
    }
    let unit = unit_of(quantity, &sides);
    let mut sides = sides.into_iter().map(|side| side.expr);
    Ok(Expect {
        text: text.to_owned(),
        left,
        compare,
        right: sides.next().expect("a comparison has a right side"),
        within: sides.next(),
        unit,
    })
}

/// The unit of the first number to compare with, but not of a factor: `iops > 90 % * none.iops`.
fn unit_of(quantity: Option<ExprQuantity>, sides: &[Side]) -> &'static str {
    let counts = |side: &&Side| quantity.is_none() || side.number().is_some();
    let units = sides.iter().filter(counts).flat_map(|side| &side.units);
    let unit = units.copied().find(|unit| !unit.is_empty());
    unit.unwrap_or_else(|| quantity.map_or("", ExprQuantity::unit))
}

struct Side {
    expr: Expr,
    first_token: usize,
    units: Vec<&'static str>,
}

impl Side {
    fn number(&self) -> Option<f64> {
        match self.expr {
            Expr::Number(number) => Some(number),
            _ => None,
        }
    }

    /// Returns what is wrong with this side if the left side has this quantity. A plain number must
    /// have a fitting unit. A number within a computation may be a factor, so it is not checked.
    fn problem(&self, quantity: ExprQuantity) -> Option<String> {
        let number = self.number()?;
        match self.units.iter().find(|unit| !unit.is_empty()) {
            Some(unit) => quantity.unit_problem(unit),
            None => quantity.bare_number_problem(number),
        }
    }
}

/// Parses a figure, such as `steady.miss_rate` or `iops[phase=none]`.
pub(crate) fn figure(text: &str) -> Result<FigureReference, ParseError> {
    let mut reader = ExprParser::new(text)?;
    let first = reader.word("the name of a figure, such as iops")?;
    let figure = reader.figure(first)?;
    reader.expect_end()?;
    Ok(figure)
}

struct ExprParser<'a> {
    text: &'a str,
    tokens: Vec<ExprToken>,
    /// Index of the next token.
    next: usize,
    /// Number of open brackets, calls and signs.
    depth: usize,
    /// The unit of each number so far; empty for a number without a unit.
    units: Vec<&'static str>,
}

impl<'a> ExprParser<'a> {
    fn new(text: &'a str) -> Result<Self, ParseError> {
        let wrong = |(column, problem)| ParseError {
            text: text.to_owned(),
            column,
            problem,
        };
        if text.len() > MAX_EXPR_BYTES {
            let problem = format!(
                "expected at most {MAX_EXPR_BYTES} bytes, found {}",
                text.len()
            );
            return Err(wrong((MAX_EXPR_BYTES + 1, problem)));
        }
        let tokens = tokens(text).map_err(wrong)?;
        Ok(ExprParser {
            text,
            tokens,
            next: 0,
            depth: 0,
            units: Vec::new(),
        })
    }

    fn error(&self, problem: &str) -> ParseError {
        let here = self.tokens.get(self.next);
        ParseError {
            text: self.text.to_owned(),
            column: here.map_or(self.text.chars().count() + 1, |token| token.column),
            problem: problem.to_owned(),
        }
    }

    fn peek(&self) -> Option<&TokenKind> {
        self.tokens.get(self.next).map(|token| &token.kind)
    }

    fn take_sign(&mut self, signs: &[&'static str]) -> Option<&'static str> {
        match self.peek() {
            Some(TokenKind::Sign(sign)) if signs.contains(sign) => {
                let sign = *sign;
                self.next += 1;
                Some(sign)
            }
            _ => None,
        }
    }

    fn expect_sign(&mut self, sign: &'static str) -> Result<(), ParseError> {
        let next = self.take_sign(&[sign]).map(drop);
        next.ok_or_else(|| self.error(&format!("expected `{sign}`")))
    }

    fn word(&mut self, what: &str) -> Result<String, ParseError> {
        let Some(TokenKind::Word(word)) = self.peek().cloned() else {
            return Err(self.error(&format!("expected {what}")));
        };
        self.next += 1;
        Ok(word)
    }

    /// A word, a number or a quoted text, as text.
    fn value(&mut self, what: &str) -> Result<String, ParseError> {
        let value = match self.peek() {
            Some(TokenKind::Word(text) | TokenKind::Quoted(text)) => text.clone(),
            Some(TokenKind::Number(number)) => number.to_string(),
            _ => return Err(self.error(&format!("expected {what}"))),
        };
        self.next += 1;
        Ok(value)
    }

    fn expect_end(&self) -> Result<(), ParseError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.error("expected the end of the expression")),
        }
    }

    fn side(&mut self) -> Result<Side, ParseError> {
        let (first_token, first_unit) = (self.next, self.units.len());
        let expr = self.sum()?;
        Ok(Side {
            expr,
            first_token,
            units: self.units[first_unit..].to_vec(),
        })
    }

    fn sum(&mut self) -> Result<Expr, ParseError> {
        let mut sum = self.product()?;
        while let Some(sign) = self.take_sign(&["+", "-"]) {
            let join = if sign == "+" { Join::Plus } else { Join::Minus };
            sum = binary(join, sum, self.product()?);
        }
        Ok(sum)
    }

    fn product(&mut self) -> Result<Expr, ParseError> {
        let mut product = self.factor()?;
        while let Some(sign) = self.take_sign(&["*", "/"]) {
            let join = if sign == "*" { Join::Times } else { Join::Div };
            product = binary(join, product, self.factor()?);
        }
        Ok(product)
    }

    fn factor(&mut self) -> Result<Expr, ParseError> {
        if self.depth == MAX_DEPTH {
            let problem =
                format!("expected at most {MAX_DEPTH} brackets and signs within each other");
            return Err(self.error(&problem));
        }
        self.depth += 1;
        let factor = self.operand();
        self.depth -= 1;
        factor
    }

    fn operand(&mut self) -> Result<Expr, ParseError> {
        if self.take_sign(&["-"]).is_some() {
            return Ok(Expr::Minus(Box::new(self.factor()?)));
        }
        if self.take_sign(&["("]).is_some() {
            let inner = self.sum()?;
            self.expect_sign(")")?;
            return Ok(inner);
        }
        if let Some(TokenKind::Number(number)) = self.peek() {
            let number = *number;
            self.next += 1;
            return Ok(Expr::Number(number * self.unit()));
        }
        let first = self.word("a number, a figure such as steady.miss_rate, or `(`")?;
        match self.take_sign(&["("]) {
            Some(_) => self.call(&first),
            None => self.figure(first).map(Expr::Figure),
        }
    }

    /// Parses a unit if one comes next, and returns its factor, else 1.
    fn unit(&mut self) -> f64 {
        let name = match self.peek() {
            Some(TokenKind::Sign("%")) => "%",
            Some(TokenKind::Word(word)) => word.as_str(),
            _ => "",
        };
        let known = UNITS.iter().find(|(unit, _)| *unit == name);
        self.next += usize::from(known.is_some());
        self.units.push(known.map_or("", |(unit, _)| unit));
        known.map_or(1.0, |(_, factor)| *factor)
    }

    fn figure(&mut self, first: String) -> Result<FigureReference, ParseError> {
        let mut qualifiers = vec![first];
        while self.take_sign(&["."]).is_some() {
            qualifiers.push(self.word("a name behind the point")?);
        }
        let name = qualifiers.pop().unwrap_or_default();
        let mut at = Vec::new();
        if self.take_sign(&["["]).is_some() {
            loop {
                let axis = self.word("the name of an axis, or phase, job or window")?;
                self.expect_sign("=")?;
                at.push((axis, self.value("a value of it")?));
                if self.take_sign(&[","]).is_none() {
                    break;
                }
            }
            self.expect_sign("]")?;
        }
        Ok(FigureReference {
            name,
            words: qualifiers,
            at,
        })
    }

    fn call(&mut self, name: &str) -> Result<Expr, ParseError> {
        match name {
            "highest" => return self.extreme(Extreme::Highest),
            "lowest" => return self.extreme(Extreme::Lowest),
            "ratio" => return self.ratio(),
            "greater" => return self.greater(),
            _ => {}
        }
        let aggregate = Aggregate::ALL.iter().find(|(known, _)| *known == name);
        let Some((_, aggregate)) = aggregate else {
            self.next = self.next.saturating_sub(2);
            return Err(self.error(&format!(
                "there is no `{name}(`; there are ratio, greater, highest, lowest, min, max, mean, spread, argmax and argmin"
            )));
        };
        let inner = Box::new(self.sum()?);
        if !matches!(self.peek(), Some(TokenKind::Word(word)) if word == "over") {
            let problem = format!("expected `over` and an axis, as in `{name}(iops over jobs)`");
            return Err(self.error(&problem));
        }
        self.next += 1;
        let axis = self.word("an axis, or phase")?;
        let mut range = None;
        if self.take_sign(&["="]).is_some() {
            let from = self.value("the first value of the axis that counts")?;
            self.expect_sign("..")?;
            range = Some((from, self.value("the last value that counts")?));
        }
        self.expect_sign(")")?;
        Ok(Expr::Over {
            of: *aggregate,
            each: inner,
            axis,
            range,
        })
    }

    /// `highest(FIGURE)` or `lowest(FIGURE)`: the extreme value over the figure's intervals.
    fn extreme(&mut self, extreme: Extreme) -> Result<Expr, ParseError> {
        let first = self.word("a figure")?;
        let figure = self.figure(first)?;
        self.expect_sign(")")?;
        Ok(Expr::OverTime(extreme, figure))
    }

    /// `greater(ONE, OTHER)`: the greater of two values.
    fn greater(&mut self) -> Result<Expr, ParseError> {
        let one = self.sum()?;
        self.expect_sign(",")?;
        let other = self.sum()?;
        self.expect_sign(")")?;
        Ok(binary(Join::Greater, one, other))
    }

    /// `ratio(FIGURE, PHASE)`: the figure divided by the same figure in that phase.
    fn ratio(&mut self) -> Result<Expr, ParseError> {
        let first = self.word("a figure")?;
        let here = self.figure(first)?;
        self.expect_sign(",")?;
        let phase = self.value("the phase to compare with")?;
        self.expect_sign(")")?;
        let mut there = here.clone();
        there.at.retain(|(kind, _)| kind != "phase");
        there.at.push(("phase".to_owned(), phase));
        Ok(binary(Join::Div, Expr::Figure(here), Expr::Figure(there)))
    }
}

fn binary(join: Join, one: Expr, other: Expr) -> Expr {
    Expr::Join(join, Box::new(one), Box::new(other))
}

/// A word or sign, with its first column, from 1.
#[derive(Clone, Debug, PartialEq)]
struct ExprToken {
    kind: TokenKind,
    column: usize,
}

#[derive(Clone, Debug, PartialEq)]
enum TokenKind {
    Number(f64),
    Word(String),
    Quoted(String),
    Sign(&'static str),
}

/// The signs. Of two signs with a common start the longer one must come first.
const SIGNS: [&str; 20] = [
    "+-", "..", ">=", "<=", ">", "<", "~", "+", "-", "*", "/", "(", ")", "[", "]", ",", "=", ".",
    "%", "\u{b1}",
];

/// Splits a text into tokens. The error holds the column (from 1) and the problem.
fn tokens(text: &str) -> Result<Vec<ExprToken>, (usize, String)> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let column = text[..at].chars().count() + 1;
        let (kind, length) = token(&text[at..], first).map_err(|message| (column, message))?;
        tokens.push(ExprToken { kind, column });
        at += length;
    }
    Ok(tokens)
}

/// The token at the start of `text`, with its length in bytes.
fn token(text: &str, first: char) -> Result<(TokenKind, usize), String> {
    if first.is_ascii_digit() {
        return number(text);
    }
    if first == '"' {
        let end = text[1..].find('"');
        let end = end.ok_or("a text in quotes has no end; put a second `\"` behind it")?;
        return Ok((TokenKind::Quoted(text[1..=end].to_owned()), end + 2));
    }
    if first.is_alphabetic() || first == '_' {
        let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_'));
        let word = &text[..end.unwrap_or(text.len())];
        return Ok((TokenKind::Word(word.to_owned()), word.len()));
    }
    let sign = SIGNS.iter().find(|sign| text.starts_with(**sign));
    match sign {
        Some(&"\u{b1}") => Ok((TokenKind::Sign("+-"), "\u{b1}".len())),
        Some(sign) => Ok((TokenKind::Sign(sign), sign.len())),
        None => Err(format!("`{first}` has no meaning here")),
    }
}

/// Parses digits, and a decimal point if digits follow it. Two points are a range.
fn number(text: &str) -> Result<(TokenKind, usize), String> {
    let digits = |text: &str| {
        let end = text.find(|c: char| !c.is_ascii_digit());
        end.unwrap_or(text.len())
    };
    let mut length = digits(text);
    let fraction = text[length..].strip_prefix('.').map(digits);
    if let Some(fraction @ 1..) = fraction {
        length += 1 + fraction;
    }
    let value = text[..length].parse();
    let value = value.map_err(|e| format!("`{}` is no number: {e}", &text[..length]))?;
    Ok((TokenKind::Number(value), length))
}

#[cfg(test)]
mod tests;
