//! The names that expressions may use, and the place to which a figure refers.

use crate::claim::expr::{Aggregate, Expect, Expr, FigureReference};
use q2c_result::reproduce::{Axis, Window};
use std::collections::BTreeMap;

/// The names of an experiment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ClaimScope {
    pub windows: Vec<Window>,
    /// The phases, in order; empty in studies without phases.
    pub phases: Vec<String>,
    /// The lengths of the phases in the run, seconds.
    pub lengths_s: Vec<f64>,
    /// The jobs; the first one is the default.
    pub jobs: Vec<String>,
    pub axes: Vec<Axis>,
    pub figures: Vec<String>,
}

/// The names that a claim sets for all its figures. A figure's own names win over them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ClaimContext {
    pub window: Option<String>,
    pub phase: Option<String>,
    pub job: Option<String>,
    pub at: BTreeMap<String, String>,
}

/// The place to which a figure refers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FigurePlace {
    /// Its window; `None` for the whole phase.
    pub window: Option<Window>,
    /// Number of its phase; 0 in studies without phases.
    pub phase: usize,
    /// Its job; empty in studies without jobs.
    pub job: String,
    pub at: BTreeMap<String, String>,
}

/// The axis name that stands for the phases in an aggregate.
const PHASE: &str = "phase";

impl ClaimScope {
    /// Checks that an expression uses only existing names, and names everything that it must.
    pub(crate) fn check(&self, expect: &Expect, context: &ClaimContext) -> Result<(), String> {
        let sides = expect.sides();
        if !sides.iter().any(|side| side.has_figures()) {
            return Err("it has no figure, so nothing measured could refute it".to_owned());
        }
        if let Some(Expr::Minus(_)) = expect.within {
            return Err("a tolerance is not below 0".to_owned());
        }
        let mut sides = sides.into_iter();
        sides.try_for_each(|side| self.check_expr(side, context))
    }

    fn check_expr(&self, expr: &Expr, context: &ClaimContext) -> Result<(), String> {
        match expr {
            Expr::Number(_) => Ok(()),
            Expr::Figure(figure) | Expr::OverTime(_, figure) => {
                self.place(figure, context).map(drop)
            }
            Expr::Minus(inner) => self.check_expr(inner, context),
            Expr::Join(_, one, other) => {
                self.check_expr(one, context)?;
                self.check_expr(other, context)
            }
            Expr::Over {
                of,
                each,
                axis,
                range,
            } => {
                let values = self.values(axis, range.as_ref())?;
                let numeric = matches!(of, Aggregate::ArgMax | Aggregate::ArgMin);
                if let Some(word) = values.iter().find(|v| numeric && v.parse::<f64>().is_err()) {
                    return Err(format!(
                        "argmax and argmin need an axis of numbers, and `{axis}` has the value `{word}`"
                    ));
                }
                let mut values = values.iter();
                values.try_for_each(|value| self.check_expr(each, &context.with(axis, value)))
            }
        }
    }

    /// The values of an axis, or the names of the phases.
    pub(crate) fn values(
        &self,
        axis: &str,
        range: Option<&(String, String)>,
    ) -> Result<Vec<String>, String> {
        let values: &[String] = match self.axis(axis) {
            Some(axis) => &axis.values,
            None if axis == PHASE => &self.phases,
            None => {
                let names = [self.axis_names(), vec![PHASE.to_owned()]].concat();
                return Err(unknown_name("axis", axis, &names));
            }
        };
        let Some((from, to)) = range else {
            return Ok(values.to_vec());
        };
        let index = |value: &String| {
            let position = values.iter().position(|known| known == value);
            position.ok_or_else(|| unknown_name(axis, value, values))
        };
        let (from, to) = (index(from)?, index(to)?);
        if from <= to {
            return Ok(values[from..=to].to_vec());
        }
        let (from, to) = (&values[from], &values[to]);
        Err(format!("`{axis}={from}..{to}` ends before it begins"))
    }

    fn axis(&self, name: &str) -> Option<&Axis> {
        self.axes.iter().find(|axis| axis.name == name)
    }

    /// The place to which a figure refers in a context.
    pub(crate) fn place(
        &self,
        figure: &FigureReference,
        context: &ClaimContext,
    ) -> Result<FigurePlace, String> {
        if !self.figures.contains(&figure.name) {
            return Err(unknown_name("figure", &figure.name, &self.figures));
        }
        let mut figure_context = context.clone();
        for word in &figure.words {
            self.take_word(word, &mut figure_context)?;
        }
        for (kind, value) in &figure.at {
            figure_context = figure_context.with(kind, value);
        }
        let window = figure_context.window.as_ref();
        Ok(FigurePlace {
            window: window.map(|name| self.window(name)).transpose()?,
            phase: self.phase(figure_context.phase.as_ref(), figure)?,
            job: self.job(figure_context.job.as_ref())?,
            at: self.axis_values(&figure_context.at, figure)?,
        })
    }

    /// Length of a place's window, or of its whole phase, seconds; `None` if unknown.
    pub(crate) fn seconds(&self, place: &FigurePlace) -> Option<f64> {
        let phase_s = *self.lengths_s.get(place.phase)?;
        let Some(window) = &place.window else {
            return Some(phase_s);
        };
        let to_s = window.to_s.map_or(phase_s, |to_s| to_s.min(phase_s));
        Some((to_s - window.from_s).max(0.0))
    }

    /// Stores a word before a figure's name in the context: a window, a phase or a job.
    fn take_word(&self, word: &str, context: &mut ClaimContext) -> Result<(), String> {
        let is_in = |names: &[String]| names.iter().any(|name| name == word);
        let windows = self.window_names();
        let slot = match (is_in(&windows), is_in(&self.phases), is_in(&self.jobs)) {
            (true, ..) => &mut context.window,
            (_, true, _) => &mut context.phase,
            (.., true) => &mut context.job,
            _ => {
                let names = [windows, self.phases.clone(), self.jobs.clone()].concat();
                return Err(unknown_name("window, phase or job", word, &names));
            }
        };
        *slot = Some(word.to_owned());
        Ok(())
    }

    pub(crate) fn window_names(&self) -> Vec<String> {
        let windows = self.windows.iter();
        windows.map(|window| window.name.clone()).collect()
    }

    pub(crate) fn axis_names(&self) -> Vec<String> {
        self.axes.iter().map(|axis| axis.name.clone()).collect()
    }

    fn window(&self, name: &String) -> Result<Window, String> {
        let window = self.windows.iter().find(|window| window.name == *name);
        let none = || unknown_name("window", name, &self.window_names());
        window.cloned().ok_or_else(none)
    }

    fn phase(&self, name: Option<&String>, figure: &FigureReference) -> Result<usize, String> {
        match name {
            Some(name) => {
                let at = self.phases.iter().position(|phase| phase == name);
                at.ok_or_else(|| unknown_name(PHASE, name, &self.phases))
            }
            None if self.phases.len() <= 1 => Ok(0),
            None => Err(format!(
                "`{figure}` has no phase; name one of {} by `phase = ...` in the claim or as `{}.{figure}`",
                self.phases.join(", "),
                self.phases[0]
            )),
        }
    }

    fn job(&self, name: Option<&String>) -> Result<String, String> {
        match name {
            Some(name) if self.jobs.contains(name) => Ok(name.clone()),
            Some(name) => Err(unknown_name("job", name, &self.jobs)),
            None => Ok(self.jobs.first().cloned().unwrap_or_default()),
        }
    }

    fn axis_values(
        &self,
        given: &BTreeMap<String, String>,
        figure: &FigureReference,
    ) -> Result<BTreeMap<String, String>, String> {
        if let Some(other) = given.keys().find(|name| self.axis(name).is_none()) {
            return Err(unknown_name("axis", other, &self.axis_names()));
        }
        let value = |axis: &Axis| match (given.get(&axis.name), axis.values.as_slice()) {
            (Some(value), known) if !known.contains(value) => {
                Err(unknown_name(&axis.name, value, known))
            }
            (Some(value), _) | (None, [value]) => Ok((axis.name.clone(), value.clone())),
            (None, known) => Err(format!(
                "`{figure}` has no value of `{name}`; write for example `{figure}[{name}={}]`, or `max({figure} over {name})`",
                known.first().map_or("", String::as_str),
                name = axis.name,
            )),
        };
        self.axes.iter().map(value).collect()
    }
}

impl ClaimContext {
    /// Returns a copy of the context with one more name.
    pub(crate) fn with(&self, kind: &str, value: &str) -> ClaimContext {
        let mut context = self.clone();
        let value = value.to_owned();
        match kind {
            PHASE => context.phase = Some(value),
            "job" => context.job = Some(value),
            "window" => context.window = Some(value),
            axis => {
                context.at.insert(axis.to_owned(), value);
            }
        }
        context
    }
}

/// The message for an unknown name, with the known ones.
pub(crate) fn unknown_name(kind: &str, name: &str, known: &[String]) -> String {
    if known.is_empty() {
        format!("there is no {kind} `{name}`, and the experiment has none")
    } else {
        let known = known.join(", ");
        format!("there is no {kind} `{name}`; there are {known}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::parse::{expect, figure};

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    fn scope() -> ClaimScope {
        let axis = |name: &str, values: &[&str]| Axis {
            name: name.to_owned(),
            values: names(values),
        };
        ClaimScope {
            windows: vec![Window {
                name: "steady".to_owned(),
                from_s: 2.0,
                to_s: None,
            }],
            phases: names(&["none", "heavy"]),
            lengths_s: vec![3.0, 5.0],
            jobs: names(&["foreground", "background"]),
            axes: vec![axis("jobs", &["1", "2", "8"]), axis("engine", &["libaio"])],
            figures: names(&["iops", "miss_rate"]),
        }
    }

    #[test]
    fn what_is_not_named_is_that_of_the_claim_or_the_only_one() {
        let context = ClaimContext::default().with("jobs", "2");
        let context = context.with(PHASE, "none");
        let steady_iops = figure("heavy.steady.iops").unwrap();
        let place = scope().place(&steady_iops, &context).unwrap();
        assert_eq!((place.phase, place.job.as_str()), (1, "foreground"));
        assert_eq!(place.window.unwrap().from_s, 2.0);
        assert_eq!(place.at["jobs"], "2");
        assert_eq!(place.at["engine"], "libaio");
        let of_claim = scope().place(&figure("iops").unwrap(), &context).unwrap();
        assert_eq!((of_claim.phase, of_claim.window), (0, None));
    }

    #[test]
    fn a_window_ends_with_its_phase() {
        let with = |phase: usize, window: Option<(f64, Option<f64>)>| {
            let place = FigurePlace {
                window: window.map(|(from_s, to_s)| Window {
                    name: "some".to_owned(),
                    from_s,
                    to_s,
                }),
                phase,
                job: String::new(),
                at: BTreeMap::new(),
            };
            scope().seconds(&place)
        };
        assert_eq!(with(1, None), Some(5.0));
        assert_eq!(with(1, Some((2.0, None))), Some(3.0));
        assert_eq!(with(1, Some((2.0, Some(2.5)))), Some(0.5));
        assert_eq!(with(0, Some((2.0, Some(9.0)))), Some(1.0));
        assert_eq!(with(0, Some((4.0, None))), Some(0.0));
        assert_eq!(with(2, None), None);
    }

    #[test]
    fn what_is_missing_or_unknown_is_told_with_what_to_write() {
        let heavy = ClaimContext::default().with(PHASE, "heavy");
        for (text, context, part) in [
            ("iops[jobs=1] > 1", ClaimContext::default(), "has no phase"),
            ("iops > 1", heavy.clone(), "no value of `jobs`"),
            ("iops[jobs=3] > 1", heavy.clone(), "there are 1, 2, 8"),
            ("speed > 1", heavy.clone(), "there are iops, miss_rate"),
            ("idle.iops > 1", heavy.clone(), "steady, none, heavy"),
            ("iops[depth=3] > 1", heavy.clone(), "there are jobs, engine"),
            ("max(iops over depth) > 1", heavy.clone(), "engine, phase"),
            ("max(iops over jobs=8..1) > 1", heavy.clone(), "before"),
            ("argmax(iops over engine) > 1", heavy.clone(), "numbers"),
            ("1 < 2", heavy.clone(), "it has no figure"),
            ("iops ~ 5 +- -1", heavy.clone(), "not below 0"),
        ] {
            let error = scope().check(&expect(text).unwrap(), &context).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        for text in [
            "max(iops over jobs) > 1",
            "max(iops[jobs=1] over phase) > 1",
            "highest(steady.iops[jobs=8]) > 1",
        ] {
            scope().check(&expect(text).unwrap(), &heavy).unwrap();
        }
    }
}
