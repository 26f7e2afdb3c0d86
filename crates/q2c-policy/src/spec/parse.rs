//! Text to specification.

use super::{PolicySpec, SpecError, SpecErrorKind, within};
use crate::registry::{RULES, Rule, find};

/// The whole text.
pub(super) fn spec(text: &str) -> Result<PolicySpec, SpecError> {
    let (name, params) = match text.split_once(':') {
        Some((name, params)) => (name, Some(params)),
        None => (text, None),
    };
    let rule = find(name.trim())
        .ok_or_else(|| SpecError::new(text, leading_space(name), unknown_rule(name.trim())))?;
    let mut given = Given::new(rule);
    let mut offset = name.len() + 1;
    for part in params
        .filter(|p| !p.trim().is_empty())
        .into_iter()
        .flat_map(|p| p.split(','))
    {
        let at = offset + leading_space(part);
        given
            .take(part.trim())
            .map_err(|kind| SpecError::new(text, at, kind))?;
        offset += part.len() + 1;
    }
    given
        .finish()
        .map_err(|kind| SpecError::new(text, text.trim_end().len(), kind))
}

fn leading_space(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// Which of the rule's parameters is called `name`.
pub(super) fn index_of(rule: &'static Rule, name: &str) -> Result<usize, SpecErrorKind> {
    let named = |p: &crate::Param| p.name.eq_ignore_ascii_case(name);
    let found = rule.params.iter().position(named);
    found.ok_or_else(|| SpecErrorKind::UnknownParam {
        rule: rule.name,
        found: name.to_owned(),
        expected: expected(rule),
    })
}

fn unknown_rule(found: &str) -> SpecErrorKind {
    let names: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
    SpecErrorKind::UnknownRule {
        found: found.to_owned(),
        expected: names.join(", "),
    }
}

fn expected(rule: &Rule) -> String {
    let names: Vec<&str> = rule.params.iter().map(|p| p.name).collect();
    match names.as_slice() {
        [] => "none".to_owned(),
        [one] => format!("only {one}"),
        _ => format!("one of {}", names.join(", ")),
    }
}

/// The values read so far.
struct Given {
    rule: &'static Rule,
    values: Vec<Option<f64>>,
    /// Parameters seen; a value without a name belongs to the parameter of this number.
    seen: usize,
    named: bool,
}

impl Given {
    fn new(rule: &'static Rule) -> Self {
        Given {
            rule,
            values: vec![None; rule.params.len()],
            seen: 0,
            named: false,
        }
    }

    fn take(&mut self, part: &str) -> Result<(), SpecErrorKind> {
        let (index, text) = match part.split_once('=') {
            Some((name, value)) => {
                self.named = true;
                (index_of(self.rule, name.trim_end())?, value.trim_start())
            }
            None if self.named => return Err(SpecErrorKind::NameMissing(part.to_owned())),
            None => (self.place()?, part),
        };
        self.seen += 1;
        let param = &self.rule.params[index];
        let value = param
            .kind
            .parse(text)
            .map_err(|reason| SpecErrorKind::BadValue {
                param: param.name,
                reason,
            })?;
        match self.values[index].replace(within(param, value)?) {
            Some(_) => Err(SpecErrorKind::Twice(param.name)),
            None => Ok(()),
        }
    }

    fn place(&self) -> Result<usize, SpecErrorKind> {
        if self.seen < self.rule.params.len() {
            return Ok(self.seen);
        }
        Err(SpecErrorKind::TooMany {
            rule: self.rule.name,
            expected: expected(self.rule),
        })
    }

    fn finish(self) -> Result<PolicySpec, SpecErrorKind> {
        let (rule, params) = (self.rule, self.rule.params.iter());
        let values = params.zip(self.values).map(|(param, given)| {
            given.or(param.default).ok_or(SpecErrorKind::Missing {
                param: param.name,
                example: rule.example,
            })
        });
        Ok(PolicySpec {
            rule,
            values: values.collect::<Result<_, _>>()?,
        })
    }
}
