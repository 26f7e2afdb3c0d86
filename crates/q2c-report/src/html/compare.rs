//! A comparison of devices as a page.

use super::chart::replay::Line;
use super::page::RenderError;
use super::replayed::{self, Content, Facts, Made, Table, Told};
use crate::said::{Said, Weight};
use crate::{compare, replay};
use q2c_result::compare::{CompareResult, DeviceRun};

/// Makes the page of a comparison.
///
/// # Errors
/// The template could not be filled; its types leave no way for that.
pub fn compare(result: &CompareResult) -> Result<String, RenderError> {
    replayed::render(Content {
        command: "compare",
        result: Made {
            version: &result.version,
            schema: &result.schema,
            started_unix_s: result.started_unix_s,
            complete: result.complete,
            warnings: &result.warnings,
        },
        title: &result.trace.path,
        about: compare::about(result),
        seed: result.job.seed,
        notices: notices(result),
        verdict: compare::verdict(result),
        tables: tables(result),
        told: told(result),
        lines: lines(result),
        facts: facts(result),
    })
}

fn notices(result: &CompareResult) -> Vec<Said> {
    let lost = replay::does_not_reproduce(&result.job, &result.trace);
    let lost = lost.map(|lost| Said::new(Weight::Caution, "outstanding", lost));
    lost.into_iter().chain(compare::words(result)).collect()
}

fn tables(result: &CompareResult) -> Vec<Table> {
    let table = |title, of| Table { title, of };
    let mut tables = vec![table("Devices", compare::sums(result))];
    let separations = compare::separations(result);
    tables.extend(separations.map(|of| table("What separates them", of)));
    tables.push(table("Latency", compare::latencies(result)));
    tables
}

fn told(result: &CompareResult) -> Vec<Told> {
    let how = replay::job(&result.job, &result.trace);
    let shown = result
        .devices
        .iter()
        .filter(|device| device.shown.is_some());
    let device = |device: &DeviceRun| {
        let title = format!("The shown trial of {}", device.target.path);
        Told::new(title, compare::details(result, device))
    };
    let how = Told::new("How it was replayed", how);
    std::iter::once(how).chain(shown.map(device)).collect()
}

fn lines(result: &CompareResult) -> Vec<Line<'_>> {
    let devices = result.devices.iter().enumerate();
    devices
        .filter_map(|(at, device)| Some(Line::of(at, &device.target.path, device.shown.as_ref()?)))
        .collect()
}

fn facts(result: &CompareResult) -> Vec<Facts> {
    let targets = result
        .devices
        .iter()
        .map(|device| Facts::target(&device.target));
    targets.chain([Facts::machine(&result.machine)]).collect()
}
