//! The sizes of the whole workspace, and their limits in `sizes.toml`.

use crate::measure::MeasuredFile;
use crate::source::SourceFile;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;

/// The file with the limits.
pub const LIMITS: &str = "sizes.toml";
/// The crate of the program `q2c`.
const PROGRAM: &str = "q2c";

#[derive(Default)]
pub struct WorkspaceSizes {
    pub crates: usize,
    lines: usize,
    code_lines: usize,
    program_code_lines: usize,
    public_items: usize,
    empty_names: usize,
    types: BTreeMap<String, usize>,
}

impl WorkspaceSizes {
    pub fn add(&mut self, package: &str, source: &SourceFile, file: &MeasuredFile) {
        self.lines += file.lines;
        self.public_items += file.public_items;
        self.empty_names += file.empty_names;
        for name in &file.types {
            *self.types.entry(name.clone()).or_default() += 1;
        }
        if !source.is_test {
            self.code_lines += file.code_lines;
            if package == PROGRAM {
                self.program_code_lines += file.code_lines;
            }
        }
    }

    fn sizes(&self) -> [(&'static str, usize); 7] {
        let repeated = self.types.values().filter(|count| **count > 1).count();
        [
            ("crates", self.crates),
            ("lines", self.lines),
            ("code_lines", self.code_lines),
            ("program_code_lines", self.program_code_lines),
            ("public_items", self.public_items),
            ("repeated_type_names", repeated),
            ("empty_names", self.empty_names),
        ]
    }

    pub fn text(&self) -> String {
        let lines = self
            .sizes()
            .map(|(name, size)| format!("{name:<20} {size:>7}\n"));
        lines.concat()
    }

    /// The sizes above their limit. Fails if a size has no limit, or a limit no size.
    pub fn breaches(&self, limits: &str) -> Result<Vec<String>> {
        let limits: BTreeMap<String, usize> =
            toml::from_str(limits).with_context(|| format!("failed to parse {LIMITS}"))?;
        let sizes = self.sizes();
        let is_unknown = |key: &&String| sizes.iter().all(|(name, _)| name != key);
        if let Some(unknown) = limits.keys().find(is_unknown) {
            bail!("{LIMITS}: `{unknown}` is no size");
        }
        let mut breaches = Vec::new();
        for (name, size) in sizes {
            let limit = limits.get(name);
            let limit = limit.with_context(|| format!("{LIMITS}: no `{name}`"))?;
            if size > *limit {
                breaches.push(format!("{LIMITS}: {name} is {size}, at most {limit}"));
            }
        }
        Ok(breaches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure;

    fn measured(files: &[(&str, &str, &str)]) -> WorkspaceSizes {
        let mut sums = WorkspaceSizes::default();
        for (package, path, text) in files {
            let source = SourceFile {
                path: path.into(),
                text: (*text).to_owned(),
                is_test: path.contains("tests"),
            };
            sums.add(package, &source, &measure::file(text).unwrap());
        }
        sums
    }

    #[test]
    fn a_name_of_two_types_and_code_for_tests_count() {
        let sums = measured(&[
            ("q2c", "src/main.rs", "// A comment.\n\nstruct A;\n"),
            ("q2c-sim", "src/lib.rs", "pub enum A {}\npub struct B;\n"),
            ("q2c-sim", "tests/a.rs", "struct B;\n"),
        ]);
        let sizes = sums.sizes().map(|(_, size)| size);
        assert_eq!(sizes, [0, 6, 3, 1, 2, 2, 0]);
    }

    #[test]
    fn a_size_above_its_limit_is_a_breach() {
        let sums = measured(&[("q2c-sim", "src/lib.rs", "fn of() {}\n")]);
        let names = sums.sizes().map(|(name, _)| name);
        let limits = names.map(|name| format!("{name} = {}\n", usize::from(name != "empty_names")));
        let breaches = sums.breaches(&limits.concat()).unwrap();
        assert_eq!(breaches, ["sizes.toml: empty_names is 1, at most 0"]);
        assert!(sums.breaches("crates = 1").is_err());
        assert!(sums.breaches(&(limits.concat() + "folders = 1")).is_err());
    }
}
