//! Reads a formula's text into a tree, with winnow's operator-precedence parser. One character
//! decides what must follow, so nothing is tried twice and a mistake is reported at its place.

use super::Mistake;
use super::expr::{FormulaExpr, FormulaOp, STATISTIC_NAMES, Statistic};
use super::node::{FUNCTIONS, Node, ValueKind};
use winnow::combinator::{Infix, alt, expression, opt, separated};
use winnow::error::{ErrMode, ParserError};
use winnow::prelude::*;
use winnow::stream::{LocatingSlice, Location};
use winnow::token::{one_of, take_while};

type FormulaInput<'i> = LocatingSlice<&'i str>;
type Parsed<T> = Result<T, ErrMode<Mistake>>;

/// The longest formula, bytes. This and [`MAX_DEPTH`], the deepest nesting, bound the stack's use.
const MAX_BYTES: usize = 1000;
const MAX_DEPTH: usize = 32;

pub(super) fn formula(text: &str) -> Result<FormulaExpr, Mistake> {
    if text.len() > MAX_BYTES {
        let starts = text.char_indices().map(|(at, _)| at);
        return Err(Mistake {
            at: starts.take_while(|&at| at <= MAX_BYTES).last().unwrap_or(0),
            error: format!("longer than {MAX_BYTES} bytes"),
        });
    }
    let mut input = LocatingSlice::new(text);
    let node = complete_formula(&mut input).map_err(|error| {
        let mistake = error.into_inner();
        mistake.expect("the whole text is there, so no more of it can be asked for")
    })?;
    Ok(node.expr)
}

fn complete_formula(input: &mut FormulaInput<'_>) -> Parsed<Node> {
    let node = operation(input, 0)?;
    match input.chars().next() {
        None => {
            node.check(ValueKind::check_time).map_err(ErrMode::Cut)?;
            Ok(node)
        }
        Some(',') => {
            let example =
                "parameters stand before the formula, as in rule:period=10ms,sleep=0.7 * min";
            fail_here(
                input,
                format!("expected an operator or the end, found `,`; {example}"),
            )
        }
        Some(_) => unexpected(input, "an operator or the end"),
    }
}

fn operation(input: &mut FormulaInput<'_>, depth: usize) -> Parsed<Node> {
    expression(|input: &mut FormulaInput<'_>| operand(input, depth))
        .infix(operator)
        .parse_next(input)
}

/// A higher binding power binds tighter; equal powers bind from the left.
fn operator<'i>(
    input: &mut FormulaInput<'i>,
) -> Parsed<Infix<FormulaInput<'i>, Node, ErrMode<Mistake>>> {
    macro_rules! left {
        ($text:literal, $power:literal, $op:ident) => {
            $text.value(Infix::Left($power, |_, a, b| binary(FormulaOp::$op, a, b)))
        };
    }
    let compare = alt((
        left!("<=", 30, LessOrEqual),
        left!(">=", 30, MoreOrEqual),
        left!("==", 30, Equal),
        left!("!=", 30, NotEqual),
        left!("<", 30, Less),
        left!(">", 30, More),
    ));
    let compute = alt((
        left!("+", 40, Add),
        left!("-", 40, Subtract),
        left!("*", 50, Multiply),
        left!("/", 50, Divide),
    ));
    let join = alt((left!("||", 10, Or), left!("&&", 20, And)));
    alt((compute, compare, join)).parse_next(input)
}

fn binary(op: FormulaOp, left: Node, right: Node) -> Parsed<Node> {
    Node::binary(op, left, right).map_err(ErrMode::Cut)
}

fn operand(input: &mut FormulaInput<'_>, depth: usize) -> Parsed<Node> {
    skip_blanks(input)?;
    let at = input.current_token_start();
    if depth > MAX_DEPTH {
        return fail_here(input, format!("nested deeper than {MAX_DEPTH} levels"));
    }
    let first_char = input.chars().next();
    opt(one_of(['-', '!', '('])).parse_next(input)?;
    let node = match first_char {
        Some('-') => Node::negative(operand(input, depth + 1)?, at).map_err(ErrMode::Cut)?,
        Some('!') => Node::not(operand(input, depth + 1)?, at).map_err(ErrMode::Cut)?,
        Some('(') => {
            let node = operation(input, depth + 1)?;
            close_paren(input, "an operator or `)`")?;
            Node { at, ..node }
        }
        Some('0'..='9' | '.') => number(input, at)?,
        Some(c) if is_name_char(c) => name(input, at, depth)?,
        _ => return unexpected(input, "a number, a name or `(`"),
    };
    skip_blanks(input)?;
    Ok(node)
}

fn close_paren(input: &mut FormulaInput<'_>, expected: &'static str) -> Parsed<()> {
    match opt(')').parse_next(input)? {
        Some(_) => Ok(()),
        None => unexpected(input, expected),
    }
}

fn number(input: &mut FormulaInput<'_>, at: usize) -> Parsed<Node> {
    let digits = |min: usize| take_while(min.., |c: char| c.is_ascii_digit());
    let exponent = (one_of(['e', 'E']), opt(one_of(['+', '-'])), digits(1));
    let text = (digits(0), opt(('.', digits(0))), opt(exponent))
        .take()
        .parse_next(input)?;
    let unit_at = input.current_token_start();
    let unit = take_while(0.., |c: char| is_name_char(c) || c == '%').parse_next(input)?;
    let mistake = |at, error| ErrMode::Cut(Mistake { at, error });
    let (factor, kind) = match unit {
        "" | "%" => (1.0, ValueKind::NUMBER),
        "ns" => (1.0, ValueKind::TIME),
        "us" | "µs" | "μs" => (1e3, ValueKind::TIME),
        "ms" => (1e6, ValueKind::TIME),
        "s" => (1e9, ValueKind::TIME),
        other => {
            let error = format!("unknown unit `{other}`, expected one of ns, us, ms, s, %");
            return Err(mistake(unit_at, error));
        }
    };
    // A percentage is divided by 100, because 0.01 has no exact binary form.
    let divisor = if unit == "%" { 100.0 } else { 1.0 };
    match text.parse::<f64>().map(|number| number * factor / divisor) {
        Ok(number) if number.is_finite() => Ok(Node::number(number, kind, at)),
        _ => {
            let error = format!("expected a number such as 0.7 or 40us, found `{text}{unit}`");
            Err(mistake(at, error))
        }
    }
}

fn name(input: &mut FormulaInput<'_>, at: usize, depth: usize) -> Parsed<Node> {
    let name = take_while(1.., is_name_char).parse_next(input)?;
    let unknown = |what: &str, expected: &str| {
        let error = format!("unknown {what} `{name}`, expected one of {expected}");
        ErrMode::Cut(Mistake { at, error })
    };
    skip_blanks(input)?;
    if opt('(').parse_next(input)?.is_some() {
        if !FUNCTIONS.contains(&name) {
            return Err(unknown("function", &FUNCTIONS.join(", ")));
        }
        let arguments = separated(1.., |i: &mut FormulaInput<'_>| operation(i, depth + 1), ',')
            .parse_next(input)?;
        close_paren(input, "an operator, `,` or `)`")?;
        return Node::call(name, arguments, at).map_err(ErrMode::Cut);
    }
    if name == "if" {
        return unexpected(input, "`(` behind if");
    }
    let statistic = Statistic::from_name(name).ok_or_else(|| unknown("name", STATISTIC_NAMES))?;
    Ok(Node::statistic(statistic, at))
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn skip_blanks(input: &mut FormulaInput<'_>) -> Parsed<()> {
    take_while(0.., char::is_whitespace)
        .void()
        .parse_next(input)
}

fn fail_here<T>(input: &FormulaInput<'_>, error: String) -> Parsed<T> {
    let at = input.current_token_start();
    Err(ErrMode::Cut(Mistake { at, error }))
}

fn unexpected<T>(input: &FormulaInput<'_>, expected: &'static str) -> Parsed<T> {
    fail_here(
        input,
        format!("expected {expected}, found {}", describe_next(input)),
    )
}

fn describe_next(input: &str) -> String {
    let word = input.find(|c| !is_name_char(c)).unwrap_or(input.len());
    let first_char = input.chars().next().map_or(0, char::len_utf8);
    match &input[..word.max(first_char)] {
        "" => "the end".to_owned(),
        next => format!("`{}`", next.escape_debug()),
    }
}

/// winnow needs this for its own errors; the functions above report all mistakes themselves.
impl<'i> ParserError<FormulaInput<'i>> for Mistake {
    type Inner = Self;

    fn from_input(input: &FormulaInput<'i>) -> Self {
        let next = describe_next(input);
        Mistake {
            at: input.current_token_start(),
            error: format!("expected a number, a name or `(`, found {next}"),
        }
    }

    fn into_inner(self) -> Result<Self::Inner, Self> {
        Ok(self)
    }
}
