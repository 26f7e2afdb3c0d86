//! The crate table of `ARCHITECTURE.md`, which is the only place where the rules between crates are
//! written.
//!
//! A row is `| crate | kind | does | may use |`. The last cell is `-`, a list of crates (without
//! the prefix `q2c-`), `all above` or `all`. Permission is transitive: a crate may also use the
//! crates that those in its row may use. A row `crate/module` is for a room: a module of a crate,
//! which then has that row instead of its crate's.

use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;

const HEADER: [&str; 4] = ["crate", "kind", "does", "may use"];

/// The kind of a crate: whether it may have unsafe code and use system crates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrateKind {
    /// No unsafe code, and no crate that talks to the system.
    Pure,
    /// No unsafe code.
    Safe,
    /// Unsafe code is allowed, with a reason at every block.
    Unsafe,
}

#[derive(Debug)]
struct CrateRow {
    name: String,
    kind: CrateKind,
    uses: Vec<String>,
}

/// The crate table; rows have the order of the document.
#[derive(Debug)]
pub struct CrateTable {
    rows: Vec<CrateRow>,
}

impl CrateTable {
    /// Reads the table from the text of the document.
    pub fn parse(document: &str) -> Result<Self> {
        let mut lines = document.lines().skip_while(|l| cells(l) != HEADER);
        let header = HEADER.join(" | ");
        let row = lines.next();
        row.with_context(|| format!("expected a table headed `| {header} |`, found none"))?;
        let mut rows: Vec<CrateRow> = Vec::new();
        for line in lines.skip(1).take_while(|l| l.starts_with('|')) {
            let row = parse_row(line, &rows);
            rows.push(row.with_context(|| format!("failed to read row {line:?}"))?);
        }
        let names: Vec<String> = rows.iter().map(|row| row.name.clone()).collect();
        for row in &mut rows {
            if row.uses == ["all"] {
                row.uses = names.iter().filter(|n| **n != row.name).cloned().collect();
            }
            if let Some(unknown) = row.uses.iter().find(|u| !names.contains(u)) {
                bail!("{} may use {unknown}, which has no row", row.name);
            }
        }
        Ok(CrateTable { rows })
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().map(|r| r.name.as_str())
    }

    /// The rows of a crate's rooms.
    pub fn rooms(&self, name: &str) -> impl Iterator<Item = &str> {
        let is_room = move |(crate_name, _): (&str, &str)| crate_name == name;
        self.names()
            .filter(move |row| row.split_once('/').is_some_and(is_room))
    }

    pub fn kind(&self, name: &str) -> Option<CrateKind> {
        self.row(name).map(|r| r.kind)
    }

    /// Every crate that `name` may use, directly or through another.
    pub fn allowed(&self, name: &str) -> BTreeSet<&str> {
        let mut allowed = BTreeSet::new();
        let mut pending: Vec<&str> = self.direct_uses(name).collect();
        while let Some(next) = pending.pop() {
            if allowed.insert(next) {
                pending.extend(self.direct_uses(next));
            }
        }
        allowed
    }

    /// Names crates that may use themselves through others, and pure crates that may use impure
    /// ones.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for row in &self.rows {
            let allowed = self.allowed(&row.name);
            if allowed.contains(row.name.as_str()) {
                faults.push(format!("{} may use itself through its row", row.name));
            }
            let crate_name = row.name.split('/').next();
            let is_pure = |name: &str| self.kind(name) == Some(CrateKind::Pure);
            // Another crate is used as a whole, with its rooms.
            let impure = allowed.iter().find(|a| {
                let is_other = Some(**a) != crate_name;
                !is_pure(a) || is_other && !self.rooms(a).all(is_pure)
            });
            if let (CrateKind::Pure, Some(impure)) = (row.kind, impure) {
                let name = &row.name;
                faults.push(format!("{name} is pure but may use {impure}, which is not"));
            }
        }
        faults
    }

    fn direct_uses<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> + use<'a> {
        let row = self.row(name).into_iter();
        row.flat_map(|row| row.uses.iter().map(String::as_str))
    }

    fn row(&self, name: &str) -> Option<&CrateRow> {
        self.rows.iter().find(|r| r.name == name)
    }
}

fn cells(line: &str) -> Vec<&str> {
    let inner = line.trim().trim_start_matches('|').trim_end_matches('|');
    inner.split('|').map(str::trim).collect()
}

fn parse_row(line: &str, above: &[CrateRow]) -> Result<CrateRow> {
    let [name, kind, _, uses] = cells(line)[..] else {
        bail!("expected 4 cells, found {}", cells(line).len());
    };
    let name = name.trim_matches('`').to_owned();
    if above.iter().any(|r| r.name == name) {
        bail!("{name} has a row already");
    }
    Ok(CrateRow {
        kind: match kind {
            "pure" => CrateKind::Pure,
            "safe" => CrateKind::Safe,
            "unsafe" => CrateKind::Unsafe,
            other => bail!("expected the kind pure, safe or unsafe, found {other:?}"),
        },
        uses: parse_uses(uses, above),
        name,
    })
}

fn parse_uses(cell: &str, above: &[CrateRow]) -> Vec<String> {
    match cell {
        "-" => Vec::new(),
        "all above" => above.iter().map(|r| r.name.clone()).collect(),
        "all" => vec!["all".to_owned()],
        list => {
            let names = list.split(',').map(|name| format!("q2c-{}", name.trim()));
            names.collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "\
Text before.

| crate | kind | does | may use |
|---|---|---|---|
| `q2c-a` | pure | words | - |
| `q2c-b` | safe | reads | a |
| `q2c-c` | unsafe | calls | b |
| `q2c-d` | safe | runs | all above |
| `q2c-e` | pure | draws | a |
| `q2c` | safe | glue | all |

| other | table |
";

    fn allowed(table: &CrateTable, name: &str) -> Vec<String> {
        table.allowed(name).into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn permission_is_transitive_and_words_expand() {
        let table = CrateTable::parse(DOCUMENT).unwrap();
        assert_eq!(allowed(&table, "q2c-a"), Vec::<String>::new());
        assert_eq!(allowed(&table, "q2c-c"), ["q2c-a", "q2c-b"]);
        assert_eq!(allowed(&table, "q2c-d"), ["q2c-a", "q2c-b", "q2c-c"]);
        assert_eq!(allowed(&table, "q2c").len(), 5);
        assert_eq!(table.kind("q2c-c"), Some(CrateKind::Unsafe));
        assert_eq!(table.kind("q2c-z"), None);
        assert_eq!(table.faults(), Vec::<String>::new());
    }

    #[test]
    fn broken_tables_are_refused() {
        let without = DOCUMENT.replace("| crate |", "| thing |");
        assert!(CrateTable::parse(&without).is_err());
        let twice = DOCUMENT.replace("q2c-e", "q2c-a");
        assert!(CrateTable::parse(&twice).is_err());
        let unknown = DOCUMENT.replace("| calls | b |", "| calls | y |");
        assert!(CrateTable::parse(&unknown).is_err());
        let kind = DOCUMENT.replace("| pure | words", "| clean | words");
        assert!(CrateTable::parse(&kind).is_err());
        let cells = DOCUMENT.replace("| words |", "|");
        assert!(CrateTable::parse(&cells).is_err());
    }

    #[test]
    fn circles_and_impure_pure_crates_are_faults() {
        let circle = DOCUMENT.replace("| words | - |", "| words | e |");
        let faults = CrateTable::parse(&circle).unwrap().faults();
        assert!(faults.contains(&"q2c-a may use itself through its row".to_owned()));
        let impure = DOCUMENT.replace("| draws | a |", "| draws | b |");
        let faults = CrateTable::parse(&impure).unwrap().faults();
        assert_eq!(faults, ["q2c-e is pure but may use q2c-b, which is not"]);
    }
}
