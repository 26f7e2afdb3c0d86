//! The results that `q2c report` draws again, one entry for each command that leaves one.

use crate::failure::{Fails, Failure};
use crate::output::print_json;
use q2c_report::{csv, html, terminal, terminal::Screen};
use q2c_result::Exit;
use q2c_result::analyze::{self, AnalyzeResult};
use q2c_result::bench::{self, BenchResult};
use q2c_result::compare::{self, CompareResult};
use q2c_result::replay::{self, ReplayResult};
use q2c_result::tune::{self, TuneResult};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A kind of result: the versions of its schema that are read, and the way to read it.
pub(super) struct Kind {
    pub schema: &'static str,
    earlier: &'static [&'static str],
    pub read: fn(&str) -> serde_json::Result<Box<dyn Kept>>,
}

impl Kind {
    /// The kind with this version of a schema.
    pub fn of(schema: &str) -> Option<&'static Kind> {
        let mut kinds = KINDS.iter();
        kinds.find(|kind| kind.schema == schema || kind.earlier.contains(&schema))
    }
}

pub(super) const KINDS: &[Kind] = &[
    Kind {
        schema: tune::SCHEMA,
        earlier: &tune::EARLIER,
        read: |text| TUNE.keep(serde_json::from_str(text)?),
    },
    Kind {
        schema: bench::SCHEMA,
        earlier: &bench::EARLIER,
        read: |text| BENCH.keep(serde_json::from_str(text)?),
    },
    Kind {
        schema: analyze::SCHEMA,
        earlier: &[],
        read: |text| ANALYZE.keep(serde_json::from_str(text)?),
    },
    Kind {
        schema: replay::SCHEMA,
        earlier: &replay::EARLIER,
        // Until 2026-11-22 these results had the key `complete` twice, which a struct does not
        // take. A JSON value keeps one of the two.
        read: |text| {
            REPLAY.keep(serde_json::from_value(serde_json::from_str::<Value>(
                text,
            )?)?)
        },
    },
    Kind {
        schema: compare::SCHEMA,
        earlier: &compare::EARLIER,
        read: |text| COMPARE.keep(serde_json::from_str(text)?),
    },
];

const TUNE: Ways<TuneResult> = Ways {
    schema: |result| (&mut result.schema, tune::SCHEMA),
    page: |result| html::tune(result).or_exit(Exit::Internal),
    csv: |result| csv::cells(result).or_exit(Exit::Internal),
    table: terminal::tune,
};

const BENCH: Ways<BenchResult> = Ways {
    schema: |result| (&mut result.schema, bench::SCHEMA),
    page: |result| html::bench(result).or_exit(Exit::Internal),
    csv: |result| csv::bench(result).or_exit(Exit::Internal),
    table: terminal::bench,
};

const ANALYZE: Ways<AnalyzeResult> = Ways {
    schema: |result| (&mut result.schema, analyze::SCHEMA),
    page: |result| html::analyze(result).or_exit(Exit::Internal),
    csv: |result| csv::analyze(result).or_exit(Exit::Internal),
    table: terminal::analyze,
};

const REPLAY: Ways<ReplayResult> = Ways {
    schema: |result| (&mut result.schema, replay::SCHEMA),
    page: |result| html::replay(result).or_exit(Exit::Internal),
    csv: |result| csv::replay(result).or_exit(Exit::Internal),
    table: terminal::replay,
};

const COMPARE: Ways<CompareResult> = Ways {
    schema: |result| (&mut result.schema, compare::SCHEMA),
    page: |result| html::compare(result).or_exit(Exit::Internal),
    csv: |result| csv::compare(result).or_exit(Exit::Internal),
    table: terminal::compare,
};

/// The forms in which a result of one type is drawn.
struct Ways<T> {
    /// The result's schema, and the one of its type.
    schema: fn(&mut T) -> (&mut String, &'static str),
    page: fn(&T) -> Result<String, Failure>,
    csv: fn(&T) -> Result<String, Failure>,
    table: fn(&T, Screen) -> String,
}

impl<T: Serialize + DeserializeOwned + 'static> Ways<T> {
    /// Puts a result beside its forms. A result of an earlier version has the present shape once it
    /// is read, so it gets the present schema.
    fn keep(self, mut result: Box<T>) -> serde_json::Result<Box<dyn Kept>> {
        let (schema, present) = (self.schema)(&mut result);
        present.clone_into(schema);
        Ok(Box::new(KeptResult { result, ways: self }))
    }
}

struct KeptResult<T> {
    result: Box<T>,
    ways: Ways<T>,
}

/// A result that was read from a file.
pub(super) trait Kept {
    /// The HTML page.
    fn page(&self) -> Result<String, Failure>;
    /// The CSV table.
    fn csv(&self) -> Result<String, Failure>;
    /// The tables for a terminal.
    fn table(&self, screen: Screen) -> String;
    /// Prints the result as JSON.
    fn print_json(&self) -> Result<(), Failure>;
}

impl<T: Serialize> Kept for KeptResult<T> {
    fn page(&self) -> Result<String, Failure> {
        (self.ways.page)(&self.result)
    }

    fn csv(&self) -> Result<String, Failure> {
        (self.ways.csv)(&self.result)
    }

    fn table(&self, screen: Screen) -> String {
        (self.ways.table)(&self.result, screen)
    }

    fn print_json(&self) -> Result<(), Failure> {
        print_json(&self.result)
    }
}
