//! The mistakes in an experiment file, each with its line.

use std::ops::Range;
use toml::Spanned;

#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("line {line}: {words}")]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    pub words: String,
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
    #[error("understand the experiment:{}", lines(.0))]
    Wrong(Vec<Problem>),
}

fn lines(problems: &[Problem]) -> String {
    let lines = problems.iter().map(|problem| format!("\n  {problem}"));
    lines.collect()
}

pub(super) struct Problems<'a> {
    pub text: &'a str,
    pub all: Vec<Problem>,
}

impl Problems<'_> {
    pub(crate) fn add<T>(&mut self, at: &Spanned<T>, words: impl Into<String>) {
        self.add_at(at.span(), words.into());
    }

    pub(crate) fn add_if<T>(&mut self, wrong: bool, at: &Spanned<T>, words: impl Into<String>) {
        if wrong {
            self.add(at, words);
        }
    }

    pub(crate) fn add_at(&mut self, span: Range<usize>, words: String) {
        let before = &self.text[..span.start.min(self.text.len())];
        let line = before.matches('\n').count() + 1;
        let problem = Problem { line, words };
        if !self.all.contains(&problem) {
            self.all.push(problem);
        }
    }

    /// Unwraps a value. An error becomes a problem at the place of `at`.
    pub(crate) fn ok<T, V>(&mut self, at: &Spanned<V>, value: Result<T, String>) -> Option<T> {
        value.map_err(|message| self.add(at, message)).ok()
    }
}
