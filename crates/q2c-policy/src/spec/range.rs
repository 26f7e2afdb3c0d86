//! Families: many configurations in one text, such as `mean:ratio=5%..95%/5%,period=1ms|2ms|5ms`.
//!
//! A value in a policy's text may be a list `A|B|C`, a linear range `A..B/STEP` or a geometric one
//! `A..B*FACTOR`; both ends are included. Every combination is one configuration; the last
//! parameter changes fastest. A formula without parentheses may be a list of formulas. A
//! formula with parentheses is one formula, and only the parameters before it may have many values.

use super::PolicySpec;
use super::SpecError;
use super::parse;
use thiserror::Error;

/// A text that is no family, or a family with an invalid configuration.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct FamilyError(String);

impl From<SpecError> for FamilyError {
    fn from(error: SpecError) -> Self {
        FamilyError(error.to_string())
    }
}

/// The largest number of configurations in a family. A result needs about 1 KiB for each.
pub const MAX_CONFIGURATIONS: u64 = 4_000_000;

/// A family whose configurations are built on demand.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    prefix: String,
    parts: Vec<Alternatives>,
}

/// The values of one parameter. A range is not expanded, because a short text may have many steps.
#[derive(Clone, Debug, PartialEq)]
enum Alternatives {
    Listed(Vec<String>),
    Range { before: String, steps: Steps },
}

impl Alternatives {
    fn count(&self) -> u64 {
        match self {
            Alternatives::Listed(all) => all.len() as u64,
            Alternatives::Range { steps, .. } => steps.last_index + 1,
        }
    }

    fn nth(&self, n: u64) -> String {
        match self {
            Alternatives::Listed(all) => all[n as usize].clone(),
            Alternatives::Range { before, steps } => format!("{before}{}", steps.nth(n)),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Steps {
    from: f64,
    step: f64,
    geometric: bool,
    unit: String,
    last_index: u64,
}

impl Steps {
    fn nth(&self, n: u64) -> String {
        let value = if self.geometric {
            self.from * self.step.powf(n as f64)
        } else {
            self.from + self.step * n as f64
        };
        format!("{}{}", rounded(value), self.unit)
    }
}

impl Family {
    /// Reads a family; a plain policy is a family of one. Only the first configuration is checked
    /// here, the others when they are built.
    ///
    /// # Errors
    /// Fails if a range is invalid, there are too many configurations, or the first one is no
    /// policy.
    pub fn parse(text: &str) -> Result<Self, FamilyError> {
        let (prefix, parts) = match text.split_once(':') {
            Some((name, params)) if is_family(before_formula(name, params)) => {
                let (params, formula) = params.split_at(before_formula(name, params).len());
                let parts = params.split(',').map(|part| parse_alternatives(text, part));
                let mut parts = parts.collect::<Result<Vec<_>, _>>()?;
                let formula = formula.strip_prefix(',');
                let formula = formula.map(|f| Alternatives::Listed(vec![f.to_owned()]));
                parts.extend(formula);
                (format!("{name}:"), parts)
            }
            _ => (text.to_owned(), Vec::new()),
        };
        let family = Family { prefix, parts };
        let count = family.count();
        if count > MAX_CONFIGURATIONS {
            return Err(FamilyError(format!(
                "spell out `{text}`: it has {count} configurations, at most {MAX_CONFIGURATIONS} are possible"
            )));
        }
        family.nth(0)?;
        Ok(family)
    }

    /// The number of configurations.
    pub fn count(&self) -> u64 {
        let lengths = self.parts.iter().map(Alternatives::count);
        lengths.fold(1, u64::saturating_mul)
    }

    /// Builds all configurations.
    ///
    /// # Errors
    /// Fails if a configuration is no policy, for instance because a value is out of its range.
    pub fn spell_out(&self) -> Result<Vec<PolicySpec>, FamilyError> {
        (0..self.count()).map(|n| self.nth(n)).collect()
    }

    /// Builds at most `max` of the configurations, spread evenly over the family.
    ///
    /// # Errors
    /// Fails as [`Family::spell_out`] does.
    pub fn sample(&self, max: u64) -> Result<Vec<PolicySpec>, FamilyError> {
        let count = self.count();
        let size = count.min(max);
        (0..size).map(|n| self.nth(n * count / size)).collect()
    }

    fn nth(&self, mut n: u64) -> Result<PolicySpec, FamilyError> {
        let mut chosen: Vec<String> = Vec::with_capacity(self.parts.len());
        for part in self.parts.iter().rev() {
            let length = part.count();
            chosen.push(part.nth(n % length));
            n /= length;
        }
        chosen.reverse();
        Ok(format!("{}{}", self.prefix, chosen.join(",")).parse()?)
    }
}

impl std::str::FromStr for Family {
    type Err = FamilyError;
    fn from_str(text: &str) -> Result<Self, FamilyError> {
        Family::parse(text)
    }
}

fn before_formula<'a>(name: &str, params: &'a str) -> &'a str {
    match parse::split_off_formula(name, params) {
        Some((before, formula)) if formula.contains('(') => before,
        _ => params,
    }
}

fn is_family(params: &str) -> bool {
    !params.contains(['\'', '"', '(']) && (params.contains("..") || params.contains('|'))
}

fn parse_alternatives(text: &str, part: &str) -> Result<Alternatives, FamilyError> {
    let (before, value) = match part.split_once('=') {
        Some((name, value)) => (format!("{name}="), value),
        None => (String::new(), part),
    };
    let error = |reason: &str| {
        let how = "write A..B/STEP, A..B*FACTOR or A|B|C";
        FamilyError(format!("understand `{part}` of `{text}`: {reason}; {how}"))
    };
    Ok(match value.split_once("..") {
        Some((from, end)) => Alternatives::Range {
            before,
            steps: parse_steps(from, end).map_err(error)?,
        },
        None => {
            let values = value.split('|').map(|v| format!("{before}{}", v.trim()));
            Alternatives::Listed(values.collect())
        }
    })
}

fn parse_steps(from: &str, end: &str) -> Result<Steps, &'static str> {
    let (to, step, geometric) = match (end.split_once('/'), end.split_once('*')) {
        (Some((to, step)), None) => (to, step, false),
        (None, Some((to, step))) => (to, step, true),
        _ => return Err("it has no step"),
    };
    let (mut from, mut unit) = split_number(from)?;
    let (mut to, to_unit) = split_number(to)?;
    let (mut step, step_unit) = split_number(step)?;
    let same_units = unit == to_unit && (geometric && step_unit.is_empty() || step_unit == unit);
    if !same_units {
        // Different units of time, as in `1us..200ms*2`, are all converted to nanoseconds.
        let different = "its ends and step have different units";
        let ns = |unit| nanoseconds(unit).ok_or(different);
        (from, to) = (from * ns(unit)?, to * ns(to_unit)?);
        if !(geometric && step_unit.is_empty()) {
            step *= ns(step_unit)?;
        }
        unit = "ns";
    }
    let neutral_step = if geometric { 1.0 } else { 0.0 };
    if to < from || step <= neutral_step || (geometric && from <= 0.0) {
        return Err("it never reaches its end");
    }
    let steps = if geometric {
        (to / from).ln() / step.ln()
    } else {
        (to - from) / step
    };
    if steps >= MAX_CONFIGURATIONS as f64 {
        return Err("it has too many steps");
    }
    Ok(Steps {
        from,
        step,
        geometric,
        unit: unit.to_owned(),
        // The end is included even if the last step is computed a little below it.
        last_index: (steps + 1e-9).floor() as u64,
    })
}

fn nanoseconds(unit: &str) -> Option<f64> {
    let units = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    let known = units.iter().find(|(name, _)| *name == unit);
    known.map(|(_, ns)| *ns)
}

/// Rounds to nine decimals, so that 0.30000000000000004 is shown as 0.3.
fn rounded(value: f64) -> f64 {
    (value * 1e9).round() / 1e9
}

fn split_number(text: &str) -> Result<(f64, &str), &'static str> {
    let text = text.trim();
    let unit = text.find(|c: char| !(c.is_ascii_digit() || c == '.'));
    let end = unit.unwrap_or(text.len());
    let value = text[..end].parse().map_err(|_| "a number is missing")?;
    Ok((value, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spelled(text: &str) -> Vec<String> {
        let policies = Family::parse(text).unwrap().spell_out().unwrap();
        policies.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_combination_the_last_fastest() {
        assert_eq!(
            spelled("min:ratio=10%..30%/10%,period=1ms|2ms"),
            [
                "min:ratio=10%,period=1ms",
                "min:ratio=10%,period=2ms",
                "min:ratio=20%,period=1ms",
                "min:ratio=20%,period=2ms",
                "min:ratio=30%,period=1ms",
                "min:ratio=30%,period=2ms",
            ]
        );
        assert_eq!(spelled("mean:50%,100ms"), ["mean:ratio=50%,period=100ms"]);
    }

    #[test]
    fn geometric_ranges_reach_their_end() {
        let periods = spelled("mean:50%,1ms..8ms*2");
        assert_eq!(periods.len(), 4);
        assert_eq!(periods[3], "mean:ratio=50%,period=8ms");
        assert_eq!(spelled("mean:50%,500us..2ms/500us").len(), 4);
        // 0.1 + 0.1 + 0.1 is not 0.3 in binary.
        assert_eq!(spelled("min:10%..30%/10%,0.1ms..0.3ms/0.1ms").len(), 9);
    }

    #[test]
    fn formulas_are_listed_or_stand_behind_a_family() {
        assert_eq!(
            spelled("rule:period=1ms|5ms,if(p01 > 4us || min < 2us, p01, 0)"),
            [
                "rule:period=1ms,sleep=if(p01 > 4us || min < 2us, p01, 0)",
                "rule:period=5ms,sleep=if(p01 > 4us || min < 2us, p01, 0)",
            ]
        );
        let listed = spelled("rule:period=1ms|5ms,sleep=min / 2|mean - 4us");
        assert_eq!(listed.len(), 4);
        assert_eq!(listed[3], "rule:period=5ms,sleep=mean - 4us");
        let alone = spelled("rule:max(min, 3us)");
        assert_eq!(alone, ["rule:period=10ms,sleep=max(min, 3us)"]);
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for (text, reason) in [
            ("min:10%..30%,1ms", "no step"),
            ("min:10%..30ms/5%,1ms", "different units"),
            ("min:30%..10%/5%,1ms", "never reaches"),
            ("min:10%..30%/0%,1ms", "never reaches"),
            ("min:10%..x/5%,1ms", "number is missing"),
            ("min:10%..200%/10%|5%,1ms", "different units"),
            ("min:50%,1ns..100ms/1ns", "too many steps"),
        ] {
            let error = Family::parse(text).unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
        let many = Family::parse("min:0.001%..99%/0.001%,1us..200ms/1us").unwrap_err();
        assert!(many.to_string().contains("configurations"), "{many}");
        let beyond = Family::parse("min:50%..150%/10%,1ms").unwrap();
        assert!(beyond.spell_out().is_err());
    }

    /// 2000 x 2000 configurations may be a family, 2001 x 2000 may not.
    #[test]
    fn a_family_has_at_most_four_million_configurations() {
        let largest = Family::parse("min:0.05%..100%/0.05%,1us..2000us/1us").unwrap();
        assert_eq!(largest.count(), 4_000_000);
        let ends = largest.sample(2).unwrap();
        assert_eq!(ends[1].to_string(), "min:ratio=50.05%,period=1us");
        let larger = Family::parse("min:0.05%..100%/0.05%,1us..2001us/1us").unwrap_err();
        let larger = larger.to_string();
        assert!(larger.contains("4002000 configurations"), "{larger}");
    }

    proptest! {
        #[test]
        fn nothing_panics(text in ".{0,40}") {
            let _ = Family::parse(&text);
        }
    }
}
