//! Reads the text of a policy.

use super::{NO_NUMBER, PolicySpec, SpecError, within};
use crate::formula::{Formula, Written};
use crate::registry::{LINUX, LINUX_NAME, ParamKind, RULES, SleepRule, find};

pub(super) fn spec(text: &str) -> Result<PolicySpec, SpecError> {
    let (name, params) = text.split_once(':').unwrap_or((text, ""));
    if name.trim().eq_ignore_ascii_case(LINUX_NAME) {
        return linux(text, params);
    }
    let rule = find(name.trim())
        .ok_or_else(|| SpecError::new(text, leading_space(name), unknown_rule(name.trim())))?;
    let mut given = SpecDraft {
        rule,
        values: vec![None; rule.params.len()],
        seen: 0,
        named: false,
        written: None,
    };
    let begins = name.len() + 1;
    let (params, formula) = match rule.params.last() {
        _ if params.trim().is_empty() => ("", None),
        Some(last) if last.kind == ParamKind::Formula => split_formula(params, last.name),
        _ => (params, None),
    };
    let mut offset = begins;
    for part in params.split(',').filter(|_| !params.is_empty()) {
        let taken = given.take(part.trim());
        taken.map_err(|reason| SpecError::new(text, offset + leading_space(part), reason))?;
        offset += part.len() + 1;
    }
    if let Some((at, formula)) = formula {
        let formula = Formula::read(formula)
            .map_err(|mistake| SpecError::formula(text, begins + at, mistake))?;
        given.formula(formula);
    }
    let end = text.trim_end().len();
    given
        .finish()
        .map_err(|reason| SpecError::new(text, end, reason))
}

fn linux(text: &str, params: &str) -> Result<PolicySpec, SpecError> {
    if params.trim().is_empty() {
        return spec(LINUX);
    }
    let offset = text.len() - params.trim_start().len();
    let reason = format!("too many parameters for {LINUX_NAME}, expected none");
    Err(SpecError::new(text, offset, reason))
}

/// Splits off the formula: returns the parameters before it, and the rest from the comma on.
/// Returns `None` without a formula.
pub(super) fn formula_apart<'a>(name: &str, params: &'a str) -> Option<(&'a str, &'a str)> {
    let last = find(name.trim())?.params.last()?;
    let takes = last.kind == ParamKind::Formula && !params.trim().is_empty();
    let (before, _) = takes
        .then(|| split_formula(params, last.name))
        .filter(|(_, formula)| formula.is_some())?;
    Some((before, &params[before.len()..]))
}

/// Finds the formula, which begins at the first part that is not `name=value`, or at the value of
/// the parameter `own`. Returns the parameters before it, and its byte offset and text.
fn split_formula<'a>(params: &'a str, own: &str) -> (&'a str, Option<(usize, &'a str)>) {
    let mut offset = 0;
    for part in params.split(',') {
        let begins = match assigned(part) {
            Some((name, value_at)) if name.eq_ignore_ascii_case(own) => offset + value_at,
            Some(_) => {
                offset += part.len() + 1;
                continue;
            }
            None => offset,
        };
        let before = &params[..offset.saturating_sub(1)];
        return (before, Some((begins, &params[begins..])));
    }
    (params, None)
}

fn assigned(part: &str) -> Option<(&str, usize)> {
    let (name, value) = part.split_once('=')?;
    let plain = !name.trim().is_empty() && name.trim().chars().all(char::is_alphanumeric);
    (plain && !value.starts_with('=')).then(|| (name.trim(), name.len() + 1))
}

fn leading_space(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

pub(super) fn index_of(rule: &'static SleepRule, name: &str) -> Result<usize, String> {
    let named = |p: &crate::Param| p.name.eq_ignore_ascii_case(name);
    let index = rule.params.iter().position(named);
    index.ok_or_else(|| {
        let (rule, expected) = (rule.name, expected(rule));
        format!("unknown parameter `{name}` of {rule}, expected {expected}")
    })
}

fn unknown_rule(found: &str) -> String {
    let names: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
    let names = names.join(", ");
    format!("unknown rule `{found}`, expected one of {names}")
}

fn expected(rule: &SleepRule) -> String {
    let names: Vec<&str> = rule.params.iter().map(|p| p.name).collect();
    match names.as_slice() {
        [] => "none".to_owned(),
        [one] => format!("only {one}"),
        _ => format!("one of {}", names.join(", ")),
    }
}

struct SpecDraft {
    rule: &'static SleepRule,
    values: Vec<Option<f64>>,
    seen: usize,
    named: bool,
    written: Option<Written>,
}

impl SpecDraft {
    fn take(&mut self, part: &str) -> Result<(), String> {
        let (index, text) = match part.split_once('=') {
            Some((name, value)) => {
                self.named = true;
                (index_of(self.rule, name.trim_end())?, value.trim_start())
            }
            None if self.named => {
                let hint = format!("give it a name too, as in name={part}");
                return Err(format!("`{part}` stands after a named parameter, {hint}"));
            }
            None => (self.place()?, part),
        };
        self.seen += 1;
        let param = &self.rule.params[index];
        let value = param.kind.parse(text);
        let value = value.map_err(|reason| format!("{}: {reason}", param.name))?;
        match self.values[index].replace(within(param, value)?) {
            Some(_) => Err(format!("{} is given twice, keep one of them", param.name)),
            None => Ok(()),
        }
    }

    fn formula(&mut self, formula: Formula) {
        self.written = Some(Written::new(formula));
        if let Some(last) = self.values.last_mut() {
            *last = Some(NO_NUMBER);
        }
    }

    fn place(&self) -> Result<usize, String> {
        if self.seen < self.rule.params.len() {
            return Ok(self.seen);
        }
        let (rule, expected) = (self.rule.name, expected(self.rule));
        Err(format!(
            "too many parameters for {rule}, expected {expected}"
        ))
    }

    fn finish(self) -> Result<PolicySpec, String> {
        let (rule, params) = (self.rule, self.rule.params.iter());
        let values = params.zip(self.values).map(|(param, given)| {
            let (name, example) = (param.name, rule.example);
            let missing = || format!("{name} is missing, give it as in `{example}`");
            given.or(param.default).ok_or_else(missing)
        });
        Ok(PolicySpec {
            rule,
            values: values.collect::<Result<_, _>>()?,
            written: self.written,
        })
    }
}
