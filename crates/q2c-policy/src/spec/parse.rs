//! Reads the text of a policy.

use super::{NO_NUMBER, PolicySpec, SpecError, checked_value};
use crate::formula::{CountedFormula, Formula};
use crate::registry::{LINUX, LINUX_NAME, ParamKind, RULES, SleepRule, find};

pub(super) fn spec(text: &str) -> Result<PolicySpec, SpecError> {
    let (name, params) = text.split_once(':').unwrap_or((text, ""));
    if name.trim().eq_ignore_ascii_case(LINUX_NAME) {
        return linux_spec(text, params);
    }
    let rule = find(name.trim())
        .ok_or_else(|| SpecError::new(text, leading_space(name), unknown_rule(name.trim())))?;
    let mut draft = SpecDraft {
        rule,
        values: vec![None; rule.params.len()],
        params_taken: 0,
        has_named: false,
        formula: None,
    };
    let params_at = name.len() + 1;
    let (params, formula) = match rule.params.last() {
        _ if params.trim().is_empty() => ("", None),
        Some(last) if last.kind == ParamKind::Formula => split_formula(params, last.name),
        _ => (params, None),
    };
    let mut offset = params_at;
    for part in params.split(',').filter(|_| !params.is_empty()) {
        let taken = draft.take(part.trim());
        taken.map_err(|reason| SpecError::new(text, offset + leading_space(part), reason))?;
        offset += part.len() + 1;
    }
    if let Some((at, formula)) = formula {
        let formula = Formula::read(formula)
            .map_err(|mistake| SpecError::formula(text, params_at + at, mistake))?;
        draft.formula = Some(CountedFormula::new(formula));
        if let Some(last) = draft.values.last_mut() {
            *last = Some(NO_NUMBER);
        }
    }
    let end = text.trim_end().len();
    draft
        .finish()
        .map_err(|reason| SpecError::new(text, end, reason))
}

fn linux_spec(text: &str, params: &str) -> Result<PolicySpec, SpecError> {
    if params.trim().is_empty() {
        return spec(LINUX);
    }
    let offset = text.len() - params.trim_start().len();
    let reason = format!("too many parameters for {LINUX_NAME}, expected none");
    Err(SpecError::new(text, offset, reason))
}

/// Splits `params` before the comma that precedes the formula, with which the second part begins.
/// Returns `None` without a formula.
pub(super) fn split_off_formula<'a>(name: &str, params: &'a str) -> Option<(&'a str, &'a str)> {
    let last = find(name.trim())?.params.last()?;
    if last.kind != ParamKind::Formula || params.trim().is_empty() {
        return None;
    }
    let (before, formula) = split_formula(params, last.name);
    formula.map(|_| (before, &params[before.len()..]))
}

/// Finds the formula, which begins at the first part that is not `name=value`, or at the value of
/// the parameter `formula_name`. Returns the parameters before it, and its byte offset and text.
fn split_formula<'a>(params: &'a str, formula_name: &str) -> (&'a str, Option<(usize, &'a str)>) {
    let mut offset = 0;
    for part in params.split(',') {
        let formula_at = match split_assignment(part) {
            Some((name, value_at)) if name.eq_ignore_ascii_case(formula_name) => offset + value_at,
            Some(_) => {
                offset += part.len() + 1;
                continue;
            }
            None => offset,
        };
        let before = &params[..offset.saturating_sub(1)];
        return (before, Some((formula_at, &params[formula_at..])));
    }
    (params, None)
}

/// Returns the name of `name=value` and the byte offset of the value. In `a == b` nothing is
/// assigned, so it is `None`.
fn split_assignment(part: &str) -> Option<(&str, usize)> {
    let (name, value) = part.split_once('=')?;
    let is_word = !name.trim().is_empty() && name.trim().chars().all(char::is_alphanumeric);
    (is_word && !value.starts_with('=')).then(|| (name.trim(), name.len() + 1))
}

fn leading_space(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

pub(super) fn param_index(rule: &'static SleepRule, name: &str) -> Result<usize, String> {
    let is_named = |p: &crate::Param| p.name.eq_ignore_ascii_case(name);
    let index = rule.params.iter().position(is_named);
    index.ok_or_else(|| {
        let (rule, expected) = (rule.name, expected_names(rule));
        format!("unknown parameter `{name}` of {rule}, expected {expected}")
    })
}

fn unknown_rule(found: &str) -> String {
    let names: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
    let names = names.join(", ");
    format!("unknown rule `{found}`, expected one of {names}")
}

fn expected_names(rule: &SleepRule) -> String {
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
    params_taken: usize,
    has_named: bool,
    formula: Option<CountedFormula>,
}

impl SpecDraft {
    fn take(&mut self, part: &str) -> Result<(), String> {
        let (index, text) = match part.split_once('=') {
            Some((name, value)) => {
                self.has_named = true;
                (param_index(self.rule, name.trim_end())?, value.trim_start())
            }
            None if self.has_named => {
                let hint = format!("give it a name too, as in name={part}");
                return Err(format!("`{part}` stands after a named parameter, {hint}"));
            }
            None => (self.next_index()?, part),
        };
        self.params_taken += 1;
        let param = &self.rule.params[index];
        let value = param.kind.parse(text);
        let value = value.map_err(|reason| format!("{}: {reason}", param.name))?;
        match self.values[index].replace(checked_value(param, value)?) {
            Some(_) => Err(format!("{} is given twice, keep one of them", param.name)),
            None => Ok(()),
        }
    }

    fn next_index(&self) -> Result<usize, String> {
        if self.params_taken < self.rule.params.len() {
            return Ok(self.params_taken);
        }
        let (rule, expected) = (self.rule.name, expected_names(self.rule));
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
            formula: self.formula,
        })
    }
}
