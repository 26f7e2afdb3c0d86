//! A benchmark as a page: tables and charts for each block size, pattern and depth, then phases,
//! scaling curves, warnings and the machine.

use super::chart::{Chart, device_grids, over_axes, over_jobs, phases, stages_over_jobs};
use super::checks::{self, CheckRow};
use super::facts::{self, Fact};
use super::page::RenderError;
use super::shell::Shell;
use crate::bench::{
    LEGEND, Section, curve, failed, head, left_out, not_measured, row, sections, trials,
};
use crate::bench_remarks::{remarks, tuned};
use crate::conclusion::{self, Conclusion};
use crate::lead::leads;
use crate::mode::{self, Kept};
use crate::{proof, sim_machine, stages};
use askama::Template;
use q2c_result::bench::{BenchCell, BenchResult};

/// A row of a table.
struct Row {
    name: String,
    fields: Vec<String>,
    suspect: bool,
    title: String,
}

struct Panel {
    id: usize,
    name: String,
    rows: Vec<Row>,
    remarks: Vec<String>,
    charts: Vec<Chart>,
    stages: Vec<[String; 7]>,
    of_stages: Vec<(String, String)>,
}

/// A scaling curve in words, with the suspects for its shape and the causes that were not looked
/// at.
struct Told {
    text: String,
    suspects: Vec<String>,
    not_looked_at: String,
}

#[derive(Template)]
#[template(path = "bench.html")]
struct Page<'a> {
    result: &'a BenchResult,
    shell: Shell,
    target_name: String,
    /// Kernel and processor, or the simulated machine.
    ran_on: Vec<String>,
    columns: [String; 10],
    legend: String,
    conclusions: Vec<Conclusion>,
    failed: Vec<String>,
    axes: Vec<Chart>,
    panels: Vec<Panel>,
    stage_columns: [&'static str; 7],
    stage_legend: &'static str,
    phases: Vec<Chart>,
    curves: Vec<Told>,
    leads: Vec<String>,
    tuned: Option<String>,
    left_out: Vec<String>,
    harness: String,
    checks: Vec<CheckRow<'a>>,
    target: Vec<Fact>,
    machine: Vec<Fact>,
}

/// Makes the page of a benchmark.
///
/// # Errors
/// The template could not be filled; its types leave no way for that.
pub fn bench(result: &BenchResult) -> Result<String, RenderError> {
    let sections = sections(result);
    let panels: Vec<Panel> = sections
        .iter()
        .enumerate()
        .map(|(id, section)| panel(result, section, id))
        .collect();
    let phases = phases::charts(result);
    let axes = over_axes::charts(result);
    let told = |line| Told {
        text: curve(line),
        suspects: line.suspects.clone(),
        not_looked_at: line.not_looked_at.join(", "),
    };
    let job = &result.job;
    let page = Page {
        shell: Shell::new(
            "bench",
            format!("{}, shuffled; CPUs {}", trials(result), job.cpu_order),
            axes.iter()
                .chain(panels.iter().flat_map(|panel| &panel.charts))
                .chain(&phases),
        ),
        target_name: sim_machine::title(&result.target, &result.machine),
        ran_on: sim_machine::about(&result.machine),
        columns: head(result),
        legend: {
            let modes = result.cells.iter().map(|cell| &cell.effective_mode.was);
            let brackets = mode::legend(modes).map(|words| format!(" {words}"));
            format!("{LEGEND}{}", brackets.unwrap_or_default())
        },
        conclusions: conclusion::of(result),
        failed: failed(result),
        axes,
        panels,
        stage_columns: stages::HEAD,
        stage_legend: stages::LEGEND,
        phases,
        curves: result.scaling.iter().map(told).collect(),
        leads: leads(result),
        tuned: tuned(result),
        left_out: left_out(result)
            .into_iter()
            .chain((!result.not_measured.is_empty()).then(|| not_measured(result)))
            .collect(),
        harness: format!(
            "{:.2} CPUs were busy at rest; {:.0} ns CPU per I/O on an engine that does nothing, {:.0} with nothing kept",
            job.idle_busy_cpus, result.harness_floor_ns, result.harness_bare_ns
        ),
        checks: checks::rows(&result.doctor),
        target: facts::target(&result.target),
        machine: facts::machine(&result.machine),
        result,
    };
    Ok(page.render()?)
}

fn panel(result: &BenchResult, section: &Section, id: usize) -> Panel {
    let cells = result.cells.iter().filter(|c| section.holds(&c.point));
    let mut charts: Vec<Chart> = over_jobs::chart(result, section, id).into_iter().collect();
    charts.extend(stages_over_jobs::charts(result, section, id));
    // The grids are of the whole result, and stand in its first panel.
    if id == 0 {
        charts.extend(device_grids::charts(result));
    }
    Panel {
        id,
        name: section.title(),
        rows: cells.map(table_row).collect(),
        remarks: remarks(result, section),
        charts,
        stages: stages::rows(&stages::seen(result, section)),
        of_stages: stages::told(result, section),
    }
}

fn table_row(cell: &BenchCell) -> Row {
    let [name, fields @ ..] = row(cell);
    let differs = matches!(mode::kept(&cell.effective_mode), Kept::Differs);
    let proof = proof::words(&cell.effective_mode.proof).into_iter();
    let proof: Vec<String> = proof
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    Row {
        name,
        fields: fields.to_vec(),
        suspect: differs || cell.too_good.is_some() || cell.iops.trials == 0,
        title: match &cell.too_good {
            Some(why) => why.clone(),
            None => proof.join("; "),
        },
    }
}
