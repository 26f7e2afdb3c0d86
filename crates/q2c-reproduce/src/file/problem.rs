//! What is wrong in an experiment file, by line.

use std::fmt;
use std::ops::Range;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    pub words: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.words)
    }
}

/// An experiment that cannot be used.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExperimentError {
    /// No built-in experiment has this name.
    #[error("find experiment `{name}`: there are {known}; a file's name ends in .toml")]
    Unknown {
        /// The name as given.
        name: String,
        /// Names of the built-in experiments.
        known: String,
    },
    /// The file is wrong.
    #[error("understand the experiment{}", shown(.0))]
    Wrong(Vec<Problem>),
}

fn shown(problems: &[Problem]) -> String {
    let lines = problems.iter().map(|problem| format!("\n  {problem}"));
    format!(":{}", lines.collect::<String>())
}

pub(super) struct Problems<'a> {
    text: &'a str,
    pub all: Vec<Problem>,
}

impl<'a> Problems<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Problems {
            text,
            all: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, span: &Range<usize>, words: impl Into<String>) {
        let before = &self.text[..span.start.min(self.text.len())];
        let problem = Problem {
            line: before.matches('\n').count() + 1,
            words: words.into(),
        };
        if !self.all.contains(&problem) {
            self.all.push(problem);
        }
    }

    pub(crate) fn ok<T>(&mut self, span: &Range<usize>, value: Result<T, String>) -> Option<T> {
        value.map_err(|message| self.add(span, message)).ok()
    }
}
