//! The results that `q2c report` draws again, one entry for each command that leaves one.

use crate::failure::{Fails, Failure};
use crate::output::print_json;
use q2c_report::{csv, html, terminal, terminal::Screen};
use q2c_result::Exit;
use q2c_result::analyze::{self, AnalyzeResult};
use q2c_result::bench::{self, BenchResult};
use q2c_result::compare::{self, CompareResult};
use q2c_result::corun::{self, CalibrateResult};
use q2c_result::fs::{self, FsResult};
use q2c_result::kernel_tune::{self, KernelTuneResult};
use q2c_result::kernel_watch::{self, KernelWatchResult};
use q2c_result::place::{self, PlaceSimResult};
use q2c_result::place_run::{self, PlaceRunResult};
use q2c_result::place_watch::{self, PlaceWatchResult};
use q2c_result::poll_search::{self, PollSearchResult};
use q2c_result::poll_study::{self, PollStudyResult};
use q2c_result::ramdisk::{self, RamDevices};
use q2c_result::replay::{self, ReplayResult};
use q2c_result::reproduce::{self, AllResult, ReproduceResult};
use q2c_result::scale::{self, ScaleResult};
use q2c_result::sim::{self, SimResult};
use q2c_result::steer::{self, SteerResult};
use q2c_result::sweep::{self, SweepResult};
use q2c_result::tune::{self, TuneResult};
use q2c_result::tune_jobs::{self, TuneJobsResult};
use q2c_result::watch::{self, WatchResult};
use serde::Serialize;
use serde_json::Value;

/// All kinds of results.
pub(super) const KINDS: &[&dyn Kind] = &[
    &KindOf {
        schema: tune::SCHEMA,
        earlier: &tune::EARLIER,
        read: |text| serde_json::from_str::<TuneResult>(text),
        schema_of: |result| &mut result.schema,
        page: |result| html::tune(result).or_exit(Exit::Internal),
        csv: |result| csv::cells(result).or_exit(Exit::Internal),
        table: terminal::tune,
    },
    &KindOf {
        schema: tune_jobs::SCHEMA,
        earlier: &[],
        read: |text| serde_json::from_str::<TuneJobsResult>(text),
        schema_of: |result| &mut result.schema,
        page: |result| html::tune_jobs(result).or_exit(Exit::Internal),
        csv: |result| csv::tune_jobs(result).or_exit(Exit::Internal),
        table: terminal::tune_jobs,
    },
    &KindOf {
        schema: bench::SCHEMA,
        earlier: &bench::EARLIER,
        read: |text| serde_json::from_str::<BenchResult>(text),
        schema_of: |result| &mut result.schema,
        page: |result| html::bench(result).or_exit(Exit::Internal),
        csv: |result| csv::bench(result).or_exit(Exit::Internal),
        table: terminal::bench,
    },
    &KindOf {
        schema: analyze::SCHEMA,
        earlier: &[],
        read: |text| serde_json::from_str::<AnalyzeResult>(text),
        schema_of: |result| &mut result.schema,
        page: |result| html::analyze(result).or_exit(Exit::Internal),
        csv: |result| csv::analyze(result).or_exit(Exit::Internal),
        table: terminal::analyze,
    },
    &KindOf {
        schema: replay::SCHEMA,
        earlier: &replay::EARLIER,
        // Until 2026-11-22 these results had the key `complete` twice, which a struct does not
        // take. A JSON value keeps one of the two.
        read: |text| {
            let value: Value = serde_json::from_str(text)?;
            serde_json::from_value::<ReplayResult>(value)
        },
        schema_of: |result| &mut result.schema,
        page: |result| html::replay(result).or_exit(Exit::Internal),
        csv: |result| csv::replay(result).or_exit(Exit::Internal),
        table: terminal::replay,
    },
    &KindOf {
        schema: compare::SCHEMA,
        earlier: &compare::EARLIER,
        read: |text| serde_json::from_str::<CompareResult>(text),
        schema_of: |result| &mut result.schema,
        page: |result| html::compare(result).or_exit(Exit::Internal),
        csv: |result| csv::compare(result).or_exit(Exit::Internal),
        table: terminal::compare,
    },
    &KindOf {
        schema: kernel_tune::SCHEMA,
        earlier: &[],
        read: |text| serde_json::from_str::<KernelTuneResult>(text),
        schema_of: |result| &mut result.schema,
        page: |result| html::kernel_tune(result).or_exit(Exit::Internal),
        csv: |result| csv::kernel_tune(result).or_exit(Exit::Internal),
        table: terminal::kernel_tune,
    },
    &KindOf {
        schema: fs::SCHEMA,
        earlier: &[],
        read: |text| serde_json::from_str::<FsResult>(text),
        schema_of: |result| &mut result.schema,
        page: |result| html::fs(result).or_exit(Exit::Internal),
        csv: |result| csv::fs(result).or_exit(Exit::Internal),
        table: terminal::fs,
    },
    &KindOf {
        schema: scale::SCHEMA,
        earlier: &[],
        read: |text| serde_json::from_str::<ScaleResult>(text),
        schema_of: |result| &mut result.schema,
        page: |result| html::scale(result).or_exit(Exit::Internal),
        csv: |result| csv::scale(result).or_exit(Exit::Internal),
        table: terminal::scale,
    },
    &KindOf {
        schema: place::SCHEMA,
        earlier: &[],
        read: |text| serde_json::from_str::<PlaceSimResult>(text),
        schema_of: |result| &mut result.schema,
        page: |result| html::place_sim(result).or_exit(Exit::Internal),
        csv: |result| csv::place_sim(result).or_exit(Exit::Internal),
        table: terminal::place_sim,
    },
    &KindOf {
        schema: corun::SCHEMA,
        earlier: &[],
        read: |text| serde_json::from_str::<CalibrateResult>(text),
        schema_of: |result| &mut result.schema,
        page: |result| html::place_calibrate(result).or_exit(Exit::Internal),
        csv: |result| csv::place_calibrate(result).or_exit(Exit::Internal),
        table: terminal::place_calibrate,
    },
    &KindOf {
        schema: place_run::SCHEMA,
        earlier: &[],
        read: |text| serde_json::from_str::<PlaceRunResult>(text),
        schema_of: |result| &mut result.schema,
        page: |result| html::place_run(result).or_exit(Exit::Internal),
        csv: |result| csv::place_run(result).or_exit(Exit::Internal),
        table: terminal::place_run,
    },
    &KindOf {
        schema: place_watch::SCHEMA,
        earlier: &[],
        read: |text| serde_json::from_str::<PlaceWatchResult>(text),
        schema_of: |result| &mut result.schema,
        page: |result| html::place_watch(result).or_exit(Exit::Internal),
        csv: |result| csv::place_watch(result).or_exit(Exit::Internal),
        table: terminal::place_watch,
    },
    &KindOf {
        schema: sweep::SCHEMA,
        earlier: &[],
        read: |text| serde_json::from_str::<SweepResult>(text),
        schema_of: |result| &mut result.schema,
        page: |result| html::sweep(result).or_exit(Exit::Internal),
        csv: |result| csv::sweep(result).or_exit(Exit::Internal),
        table: terminal::sweep,
    },
    &KindOf {
        schema: sim::SCHEMA,
        earlier: &[],
        read: |text| serde_json::from_str::<SimResult>(text),
        schema_of: |result| &mut result.schema,
        page: |_| none("a page", sim::SCHEMA),
        csv: |_| none("CSV", sim::SCHEMA),
        table: |result, _| terminal::sim(result),
    },
    &KindOf {
        schema: watch::SCHEMA,
        earlier: &[],
        read: |text| serde_json::from_str::<WatchResult>(text),
        schema_of: |result| &mut result.schema,
        page: |_| none("a page", watch::SCHEMA),
        csv: |_| none("CSV", watch::SCHEMA),
        table: terminal::watch,
    },
    &KindOf {
        schema: kernel_watch::SCHEMA,
        earlier: &[],
        read: |text| serde_json::from_str::<KernelWatchResult>(text),
        schema_of: |result| &mut result.schema,
        page: |_| none("a page", kernel_watch::SCHEMA),
        csv: |_| none("CSV", kernel_watch::SCHEMA),
        table: |result, _| terminal::kernel_watch(result),
    },
    &KindOf {
        schema: steer::SCHEMA,
        earlier: &[],
        read: |text| serde_json::from_str::<SteerResult>(text),
        schema_of: |result| &mut result.schema,
        page: |_| none("a page", steer::SCHEMA),
        csv: |_| none("CSV", steer::SCHEMA),
        table: |result, _| terminal::steer(result),
    },
    &KindOf {
        schema: ramdisk::SCHEMA,
        earlier: &[],
        read: |text| serde_json::from_str::<RamDevices>(text),
        schema_of: |result| &mut result.schema,
        page: |_| none("a page", ramdisk::SCHEMA),
        csv: |_| none("CSV", ramdisk::SCHEMA),
        table: |result, screen| terminal::ram_devices(&result.devices, screen),
    },
    &KindOf {
        schema: poll_study::SCHEMA,
        earlier: &[],
        read: |text| serde_json::from_str::<PollStudyResult>(text),
        schema_of: |result| &mut result.schema,
        page: |result| html::poll_study(result).or_exit(Exit::Internal),
        csv: |result| csv::poll_study(result).or_exit(Exit::Internal),
        table: terminal::poll_study,
    },
    &KindOf {
        schema: poll_search::SCHEMA,
        earlier: &[],
        read: |text| serde_json::from_str::<PollSearchResult>(text),
        schema_of: |result| &mut result.schema,
        page: |result| html::poll_search(result).or_exit(Exit::Internal),
        csv: |result| csv::poll_search(result).or_exit(Exit::Internal),
        table: terminal::poll_search,
    },
    &KindOf {
        schema: reproduce::SCHEMA,
        earlier: &[],
        read: |text| serde_json::from_str::<ReproduceResult>(text),
        schema_of: |result| &mut result.schema,
        page: |result| html::reproduce(result).or_exit(Exit::Internal),
        csv: |result| csv::reproduce(result).or_exit(Exit::Internal),
        table: terminal::reproduce,
    },
    &KindOf {
        schema: reproduce::ALL_SCHEMA,
        earlier: &[],
        read: |text| serde_json::from_str::<AllResult>(text),
        schema_of: |result| &mut result.schema,
        page: |result| html::reproduce_all(result).or_exit(Exit::Internal),
        csv: |result| csv::reproduce_all(result).or_exit(Exit::Internal),
        table: terminal::reproduce_all,
    },
];

/// The refusal of a form that results of this schema do not have.
fn none(form: &str, schema: &str) -> Result<String, Failure> {
    Err(Failure::new(
        Exit::Usage,
        format!("draw {form}: a result of {schema} has a table and JSON only"),
    ))
}

/// The kind of results with this version of a schema.
pub(super) fn of(schema: &str) -> Option<&'static dyn Kind> {
    let mut kinds = KINDS.iter().copied();
    kinds.find(|kind| kind.schema() == schema || kind.earlier().contains(&schema))
}

/// A kind of result, whatever its type.
pub(super) trait Kind: Sync {
    /// This version's schema.
    fn schema(&self) -> &'static str;
    /// Schemas of earlier versions that can be read.
    fn earlier(&self) -> &'static [&'static str];
    /// Reads a result from JSON.
    fn read(&'static self, text: &str) -> serde_json::Result<Box<dyn Kept>>;
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

/// A kind of result by its type: its schemas, how it is read, and the forms in which it is drawn.
struct KindOf<T> {
    schema: &'static str,
    earlier: &'static [&'static str],
    read: fn(&str) -> serde_json::Result<T>,
    schema_of: fn(&mut T) -> &mut String,
    page: fn(&T) -> Result<String, Failure>,
    csv: fn(&T) -> Result<String, Failure>,
    table: fn(&T, Screen) -> String,
}

impl<T: Serialize + 'static> Kind for KindOf<T> {
    fn schema(&self) -> &'static str {
        self.schema
    }

    fn earlier(&self) -> &'static [&'static str] {
        self.earlier
    }

    fn read(&'static self, text: &str) -> serde_json::Result<Box<dyn Kept>> {
        let mut result = (self.read)(text)?;
        // A result of an earlier version has the present shape once it is read.
        self.schema.clone_into((self.schema_of)(&mut result));
        Ok(Box::new(KeptResult { kind: self, result }))
    }
}

struct KeptResult<T: 'static> {
    kind: &'static KindOf<T>,
    result: T,
}

impl<T: Serialize> Kept for KeptResult<T> {
    fn page(&self) -> Result<String, Failure> {
        (self.kind.page)(&self.result)
    }

    fn csv(&self) -> Result<String, Failure> {
        (self.kind.csv)(&self.result)
    }

    fn table(&self, screen: Screen) -> String {
        (self.kind.table)(&self.result, screen)
    }

    fn print_json(&self) -> Result<(), Failure> {
        print_json(&self.result)
    }
}
