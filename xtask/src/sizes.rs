//! Prints the lines per file and per function by crate, and checks the limits for both.

use crate::Findings;
use crate::measure::{self, MeasuredFile, MeasuredFunction};
use crate::source::{self, SourceFile};
use crate::workspace;
use crate::workspace_sizes::{LIMITS, WorkspaceSizes};
use anyhow::{Context, Result};
use std::path::Path;

/// The most lines of a file, test code included.
const FILE_LINES: usize = 800;
/// The most lines of a function, test code included, unless its length is waived in writing.
const FUNCTION_LINES: usize = 80;
/// The most columns of a line of comment: rustfmt leaves comments as they are.
const COMMENT_COLUMNS: usize = 100;

/// Lengths in one crate, without its test code. Waivers in test code are counted.
#[derive(Default)]
struct CrateSizes {
    files: Vec<usize>,
    functions: Vec<usize>,
    waived: usize,
}

pub fn check(root: &Path) -> Result<Findings> {
    let mut text = row(["package", "files", "lines", "functions", "lines", "waived"]);
    let mut breaches = Vec::new();
    let mut total = CrateSizes::default();
    let mut sums = WorkspaceSizes::default();
    for package in workspace::packages(root)? {
        let mut lengths = CrateSizes::default();
        sums.crates += usize::from(package.in_crates(root));
        for source in source::files(root, &package.folder)? {
            let file = measure::file(&source.text)
                .with_context(|| format!("failed to parse {}", source.path.display()))?;
            lengths.add(&source, &file);
            sums.add(&package.name, &source, &file);
            breaches.extend(limit_breaches(&source, &file));
            breaches.extend(comment_breaches(&source));
        }
        text += &lengths.row(&package.name);
        total.append(lengths);
    }
    text += &total.row("all");
    text += "lines: median / 95th percentile / longest, test code left out\n";
    let limits = source::read(&root.join(LIMITS))?;
    text += &sums.text();
    breaches.extend(sums.breaches(&limits)?);
    Ok(Findings { text, breaches })
}

impl CrateSizes {
    fn add(&mut self, source: &SourceFile, file: &MeasuredFile) {
        self.waived += file.functions.iter().filter(|f| f.waived).count();
        if source.is_test {
            return;
        }
        self.files.push(file.lines - file.test_lines);
        let counted = file.functions.iter().filter(|f| !f.is_test);
        self.functions.extend(counted.map(|f| f.lines));
    }

    fn append(&mut self, mut other: CrateSizes) {
        self.files.append(&mut other.files);
        self.functions.append(&mut other.functions);
        self.waived += other.waived;
    }

    fn row(&self, name: &str) -> String {
        let numbers = [self.files.len(), self.functions.len(), self.waived];
        let [files, functions, waived] = numbers.map(|number| number.to_string());
        let [file_lines, lines] = [&self.files, &self.functions].map(|list| distribution(list));
        row([name, &files, &file_lines, &functions, &lines, &waived])
    }
}

fn limit_breaches(source: &SourceFile, file: &MeasuredFile) -> Vec<String> {
    let path = source.path.display();
    let (lines, mut breaches) = (file.lines, Vec::new());
    if lines > FILE_LINES {
        breaches.push(format!("{path}: {lines} lines, at most {FILE_LINES}"));
    }
    let is_long = |f: &&MeasuredFunction| f.lines > FUNCTION_LINES && !f.waived;
    breaches.extend(file.functions.iter().filter(is_long).map(|f| {
        let (name, line, lines) = (&f.name, f.line, f.lines);
        format!("{path}:{line}: fn {name} has {lines} lines, at most {FUNCTION_LINES}")
    }));
    breaches
}

fn comment_breaches(source: &SourceFile) -> impl Iterator<Item = String> {
    let is_wide =
        |line: &str| line.trim_start().starts_with("//") && line.chars().count() > COMMENT_COLUMNS;
    let numbered = source.text.lines().zip(1..);
    let wide = numbered.filter(move |(line, _)| is_wide(line));
    wide.map(|(line, number)| {
        let columns = line.chars().count();
        let path = source.path.display();
        format!("{path}:{number}: a comment of {columns} columns, at most {COMMENT_COLUMNS}")
    })
}

fn row([name, files, file_lines, functions, lines, waived]: [&str; 6]) -> String {
    format!("{name:<14} {files:>5} {file_lines:>18} {functions:>10} {lines:>14} {waived:>7}\n")
}

/// Median, 95th percentile and maximum, by nearest rank; `-` when there are no lengths.
fn distribution(lengths: &[usize]) -> String {
    let mut sorted = lengths.to_vec();
    sorted.sort_unstable();
    let Some(longest) = sorted.last() else {
        return "-".to_owned();
    };
    let rank = |percent: usize| sorted[(sorted.len() * percent).div_ceil(100) - 1];
    format!("{} / {} / {longest}", rank(50), rank(95))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_comments_are_held_to_their_columns() {
        let wide = "x".repeat(COMMENT_COLUMNS);
        let text = format!("// short\n    /// {wide}\nlet wide = \"{wide}\";\n");
        let source = SourceFile {
            path: "a.rs".into(),
            text,
            is_test: false,
        };
        let breaches: Vec<String> = comment_breaches(&source).collect();
        assert_eq!(breaches, ["a.rs:2: a comment of 108 columns, at most 100"]);
    }

    #[test]
    fn distribution_is_by_nearest_rank() {
        assert_eq!(distribution(&[]), "-");
        assert_eq!(distribution(&[7]), "7 / 7 / 7");
        // Of 20 values the median is the ceil(0.50 * 20) = 10th, and the percentile the ceil(0.95 *
        // 20) = 19th.
        let falling: Vec<usize> = (1..=20).rev().collect();
        assert_eq!(distribution(&falling), "10 / 19 / 20");
    }
}
