//! Sleep rules.

use crate::error::OrFailure;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use q2c_policy::{Family, PolicySpec, RULES, Scope};
use q2c_result::Exit;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A sleep rule of hybrid polling with its parameters, such as `Rule("min:ratio=80%,period=10ms")`.
///
/// The text is what the program takes: the rule's name, then after a colon its parameters, with or
/// without their names; those that are left out have their defaults (`q2c.policies()` lists all). A
/// formula of your own is a rule, too: `Rule("rule:period=5ms,sleep=max(min - 4us, 0)")`.
/// `str(rule)` is the full text, as the program prints it. Rules of equal texts are equal.
///
/// Raises `q2c.UsageError` with the program's text when it is no rule.
#[pyclass(frozen, eq, module = "q2c")]
#[derive(PartialEq)]
pub(crate) struct Rule(pub PolicySpec);

#[pymethods]
impl Rule {
    #[new]
    fn new(text: &str) -> PyResult<Self> {
        Ok(Rule(text.parse().or_exit(Exit::Usage)?))
    }

    /// Name of the rule, such as `min`.
    #[getter]
    fn name(&self) -> &'static str {
        self.0.rule().name
    }

    /// Parameters that are numbers: shares as fractions, durations in ns, sizes in bytes, switches
    /// as 0 or 1.
    #[getter]
    fn params(&self) -> BTreeMap<&'static str, f64> {
        self.0.params().into_iter().collect()
    }

    /// The formula, of a rule that has one.
    #[getter]
    fn formula(&self) -> Option<String> {
        self.0.formula().map(ToString::to_string)
    }

    /// Shortest length of the windows after which the sleep changes, ns; None for a rule without
    /// such windows.
    #[getter]
    fn period_ns(&self) -> Option<u64> {
        self.0.period().map(|period| period.0)
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Rule({:?})", self.0.to_string())
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0.to_string().hash(&mut hasher);
        hasher.finish()
    }
}

/// Every rule of the registry with its parameters.
#[pyfunction]
pub(crate) fn policies(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let rules = PyList::empty(py);
    for rule in RULES {
        let params = PyList::empty(py);
        for param in rule.params {
            let parameter = PyDict::new(py);
            parameter.set_item("name", param.name)?;
            parameter.set_item("summary", param.summary)?;
            parameter.set_item("default", param.default.map(|value| param.kind.show(value)))?;
            parameter.set_item("range", param.range())?;
            params.append(parameter)?;
        }
        let description = PyDict::new(py);
        description.set_item("name", rule.name)?;
        description.set_item("summary", rule.summary)?;
        description.set_item("scope", scope_name(rule.scope))?;
        description.set_item("follows_device", rule.follows_device)?;
        description.set_item("interrupts", rule.interrupts)?;
        description.set_item("example", rule.example)?;
        description.set_item("params", params)?;
        rules.append(description)?;
    }
    Ok(rules)
}

fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::PerLane => "thread",
        Scope::PerCpu => "CPU",
        Scope::PerDevice => "device",
    }
}

/// One rule: a [`Rule`], or its text.
pub(crate) fn parse_rule(object: &Bound<'_, PyAny>) -> PyResult<PolicySpec> {
    match object.cast::<Rule>() {
        // Each simulation counts the windows of a formula separately.
        Ok(rule) => Ok(rule.get().0.with_new_counts()),
        Err(_) => Ok(extract_text(object)?.parse().or_exit(Exit::Usage)?),
    }
}

/// One family of rules: a [`Rule`], or a text that may have lists and ranges of values.
pub(crate) fn parse_family(object: &Bound<'_, PyAny>) -> PyResult<Family> {
    let text = match object.cast::<Rule>() {
        Ok(rule) => rule.get().0.to_string(),
        Err(_) => extract_text(object)?,
    };
    Ok(text.parse().or_exit(Exit::Usage)?)
}

fn extract_text(object: &Bound<'_, PyAny>) -> PyResult<String> {
    object.extract().map_err(|_| {
        let class = object.get_type();
        PyTypeError::new_err(format!("expected a q2c.Rule or its text, found {class}"))
    })
}
