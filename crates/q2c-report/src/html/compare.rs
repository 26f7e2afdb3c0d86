//! A comparison of devices as a page.

use super::chart::{self, replay::Line};
use super::page::RenderError;
use super::replayed::{self, Content, Facts, Made, Table, Told};
use crate::said::{Said, Weight};
use crate::{compare, replay};
use q2c_result::compare::{CompareResult, Comparison, DeviceRun};

/// Makes the page of a comparison.
///
/// # Errors
/// The template could not be filled; its types leave no way for that.
pub fn compare(result: &CompareResult) -> Result<String, RenderError> {
    let several = result.comparisons.len() > 1;
    replayed::render(Content {
        command: "compare",
        result: Made {
            version: &result.version,
            schema: &result.schema,
            started_unix_s: result.started_unix_s,
            complete: result.complete,
            warnings: &result.warnings,
        },
        title: compare::title(result),
        about: compare::about(result),
        seed: result.comparisons.first().map_or(0, |one| one.job.seed),
        notices: result
            .comparisons
            .iter()
            .flat_map(|one| notices(one, several))
            .collect(),
        verdict: verdict(result),
        tables: tables(result),
        told: told(result),
        charts: chart::replay::all(&lines(result), !several),
        facts: facts(result),
    })
}

/// The sentences of the answer: over all comparisons, then those of each, named where there are
/// several.
fn verdict(result: &CompareResult) -> Vec<String> {
    if let [one] = result.comparisons.as_slice() {
        return compare::verdict(one);
    }
    let of = |one: &Comparison| {
        let name = compare::row_name(one);
        let sentences = compare::verdict(one).into_iter();
        sentences
            .map(|sentence| format!("{name}: {sentence}"))
            .collect::<Vec<String>>()
    };
    let each = result.comparisons.iter().flat_map(of);
    compare::overall(result).into_iter().chain(each).collect()
}

fn notices(one: &Comparison, named: bool) -> Vec<Said> {
    let lost = replay::without_idle_time(&one.job, &one.trace);
    let lost = lost.map(|lost| Said::new(Weight::Caution, "outstanding", lost));
    let all = lost.into_iter().chain(compare::profile(one));
    let all = all.chain(compare::words(one));
    let name = |said: Said| Said {
        what: match named {
            true => format!("{}: {}", compare::row_name(one), said.what),
            false => said.what,
        },
        ..said
    };
    all.map(name).collect()
}

fn tables(result: &CompareResult) -> Vec<Table> {
    let several = result.comparisons.len() > 1;
    let mut all = Vec::new();
    if several {
        let [time, sum] = compare::overview(result);
        all.push(Table::new("Completion times", time));
        all.push(Table::new("Sums", sum));
    }
    for one in &result.comparisons {
        let title = |plain: &str| match several {
            true => format!("{plain}: {}", compare::row_name(one)),
            false => plain.to_owned(),
        };
        all.push(Table::new(title("Devices"), compare::sums(one)));
        let separations = compare::separations(one);
        all.extend(separations.map(|of| Table::new(title("What separates them"), of)));
        all.push(Table::new(title("Latency"), compare::latencies(one)));
    }
    all
}

fn told(result: &CompareResult) -> Vec<Told> {
    let several = result.comparisons.len() > 1;
    let of = |one: &Comparison| {
        let of = match several {
            true => format!(", {}", compare::row_name(one)),
            false => String::new(),
        };
        let how = replay::job(&one.job, &one.trace);
        let how = Told::new(format!("How it was replayed{of}"), how);
        let shown = one.devices.iter().filter(|device| device.shown.is_some());
        let device = |device: &DeviceRun| {
            let title = format!("The shown trial of {}{of}", device.target.path);
            Told::new(title, compare::details(one, device))
        };
        let shown: Vec<Told> = shown.map(device).collect();
        std::iter::once(how).chain(shown).collect::<Vec<Told>>()
    };
    result.comparisons.iter().flat_map(of).collect()
}

fn lines<'a>(result: &'a CompareResult) -> Vec<Line<'a>> {
    let several = result.comparisons.len() > 1;
    let all = result.comparisons.iter().flat_map(|one| {
        let devices = one.devices.iter();
        devices.map(move |device| (one, device))
    });
    let name = |one: &Comparison, device: &DeviceRun| match several {
        true => format!("{}, {}", device.target.path, compare::row_name(one)),
        false => device.target.path.clone(),
    };
    let line = |(at, (one, device)): (usize, (&Comparison, &'a DeviceRun))| {
        Some(Line::of(at, &name(one, device), device.shown.as_ref()?))
    };
    all.enumerate().filter_map(line).collect()
}

fn facts(result: &CompareResult) -> Vec<Facts> {
    let devices = result.comparisons.first().map(|one| &one.devices);
    let devices = devices.into_iter().flatten();
    let targets = devices.map(|device| Facts::target(&device.target));
    targets.chain([Facts::machine(&result.machine)]).collect()
}
