//! The document of `q2c bench`.

use super::{Answer, Document, Reported, Section};
use crate::bench::{LEGEND, curve, failed, head, left_out, not_measured, row, sections, trials};
use crate::bench_remarks::{remarks, tuned};
use crate::conclusion::{self, Conclusion};
use crate::heat;
use crate::lead::leads;
use crate::mode::{self, Kept};
use crate::plots::{device_grids, over_axes, over_jobs, phases, stages_over_jobs};
use crate::quantity::seconds;
use crate::said::{Said, Table, Weight};
use crate::{bench, cpu_trials, invalid, label, sim_machine, stages};
use q2c_result::bench::{BenchCell, BenchResult};
use q2c_result::tune::PerCore;

impl Reported for BenchResult {
    fn document(&self) -> Document<'_> {
        let about = format!(
            "{}, shuffled \u{b7} CPUs {} \u{b7} took {}",
            trials(self),
            self.job.cpu_order,
            seconds(self.provenance.seconds)
        );
        let mut of = Document::new("bench", &self.version, &self.schema)
            .titled(sim_machine::title(&self.target, &self.machine), about)
            .run(self.job.seed, self.provenance.started_unix_s)
            .complete(self.complete)
            .answers(answers(self))
            .notices(invalid::notices(&self.doctor, |_| false))
            .notices(cautions(self))
            .section(Section::new("").plots(|| over_axes::plots(self)));
        for (id, section) in sections(self).iter().enumerate() {
            of = of
                .section(points(self, section, id))
                .section(stages_of(self, section, id));
        }
        for grid in heat::grids(self) {
            let section = Section::new(format!("KIOPS, {}", grid.title));
            of = of.section(section.table(Table::of(grid.head(), grid.fields())));
        }
        of.section(scaling(self))
            .section(Section::new("Phases").plots(|| phases::plots(self)))
            .section(rest(self))
            .warnings(&self.warnings)
            .target(&self.target)
            .machine(&self.machine)
            .checks(&self.doctor)
    }
}

/// The conclusions; what limits them all stands with the first.
fn answers(result: &BenchResult) -> Vec<Answer> {
    let answer = |(at, of): (usize, Conclusion)| Answer {
        of: of.of,
        headline: of.words,
        weight: if of.sure {
            Weight::Good
        } else {
            Weight::Caution
        },
        caveats: match at {
            0 => conclusion::caveats(result),
            _ => Vec::new(),
        },
        evidence: of.evidence,
        to_do: Vec::new(),
    };
    conclusion::of(result)
        .into_iter()
        .enumerate()
        .map(answer)
        .collect()
}

/// What changes how the numbers are to be read, and points without any.
fn cautions(result: &BenchResult) -> Vec<Said> {
    let failed = failed(result).into_iter();
    let failed = failed.map(|line| Said::new(Weight::Bad, "no trial", line));
    let by_threads = by_threads(result);
    let by_threads = by_threads.map(|words| Said::new(Weight::Caution, "KIOPS/core", words));
    let unseen = unseen(result).map(|words| Said::new(Weight::Caution, "busy", words));
    let skipped = (!result.not_measured.is_empty()).then(|| not_measured(result));
    let skipped = skipped.map(|words| Said::plain("not measured", words));
    let left = left_out(result).into_iter();
    let left = left.map(|words| Said::plain("left out", words));
    let tuned = tuned(result).map(|words| Said::plain("tuned", words));
    let from = cpu_trials::words(&result.target);
    let from = from.map(|words| Said::plain("tried from", words));
    failed
        .chain(by_threads)
        .chain(unseen)
        .chain(skipped)
        .chain(left)
        .chain(tuned)
        .chain(from)
        .collect()
}

fn points<'a>(result: &'a BenchResult, section: &bench::Section, id: usize) -> Section<'a> {
    let cells: Vec<&BenchCell> = result
        .cells
        .iter()
        .filter(|cell| section.holds(&cell.point))
        .collect();
    let weight = |cell: &&BenchCell| match mode::kept(&cell.effective_mode) {
        _ if cell.iops.trials == 0 || cell.too_good.is_some() => Weight::Bad,
        Kept::Differs => Weight::Caution,
        _ => Weight::Plain,
    };
    let table = Table {
        legend: LEGEND,
        ..Table::of(head(result), cells.iter().map(|cell| row(cell).to_vec()))
    };
    let too_good = cells.iter().filter_map(|cell| {
        let why = cell.too_good.as_ref()?;
        Some(Said::new(Weight::Bad, &bench::name(&cell.point), why))
    });
    let differs = cells.iter().filter_map(|cell| {
        let mode = &cell.effective_mode;
        let words = format!(
            "asked {}, was {} ({})",
            mode.asked,
            mode::words(&mode.was),
            label::proof(mode)
        );
        let differs = matches!(mode::kept(mode), Kept::Differs) && cell.iops.trials > 0;
        differs.then(|| Said::new(Weight::Bad, &bench::name(&cell.point), words))
    });
    let qualified: Vec<Said> = too_good.chain(differs).collect();
    let modes = cells.iter().map(|cell| &cell.effective_mode.was);
    let legend = mode::legend(modes).unwrap_or_default();
    let mut of = Section::new(section.title())
        .marked(table, cells.iter().map(weight).collect())
        .remark(legend)
        .told(qualified);
    for remark in remarks(result, section) {
        of = of.remark(remark);
    }
    let section = section.clone();
    of.plots(move || {
        // The grids are of the whole result, and stand with its first points.
        let grids = (id == 0).then(|| device_grids::plots(result));
        let plot = over_jobs::plot(result, &section, id).into_iter();
        plot.chain(grids.into_iter().flatten()).collect()
    })
}

fn stages_of<'a>(result: &'a BenchResult, section: &bench::Section, id: usize) -> Section<'a> {
    let rows = stages::rows(&stages::seen(result, section));
    let table = Table {
        legend: stages::LEGEND,
        ..Table::of(stages::HEAD, rows.into_iter().map(Vec::from))
    };
    let told = stages::told(result, section).into_iter();
    let own = section.clone();
    Section::new(format!("Stages in the block layer, {}", section.title()))
        .table(table)
        .told(told.map(|(what, words)| Said::plain(&what, words)))
        .plots(move || stages_over_jobs::plots(result, &own, id))
}

fn scaling(result: &BenchResult) -> Section<'static> {
    let curves = result.scaling.iter().flat_map(|line| {
        let missing = line.not_looked_at.join(", ");
        let is_asked = !line.suspects.is_empty() || line.collapse.is_some();
        let missing =
            (is_asked && !missing.is_empty()).then(|| Said::plain("not looked at", missing));
        let suspects = line.suspects.iter();
        let suspects = suspects.map(|of| Said::new(Weight::Caution, "suspect", of));
        std::iter::once(Said::plain("scaling", curve(line)))
            .chain(suspects)
            .chain(missing)
    });
    let leads = leads(result).into_iter();
    Section::new("Scaling")
        .told(curves)
        .told(leads.map(|lead| Said::plain("lead", lead)))
}

/// What the numbers rest on.
fn rest(result: &BenchResult) -> Section<'static> {
    let own = format!(
        "{:.2} CPUs were busy at rest; {:.0} ns CPU per I/O on an engine that does nothing, {:.0} with nothing kept",
        result.job.idle_busy_cpus, result.harness_floor_ns, result.harness_bare_ns
    );
    Section::new("How it was measured")
        .told([Said::plain("harness", own)])
        .folded()
}

/// In how many points the busy CPUs are not known; `None` where in none.
fn unseen(result: &BenchResult) -> Option<String> {
    let cells = result.cells.iter().filter(|cell| cell.iops.trials > 0);
    let all = cells.clone().count();
    let unseen = cells.filter(|cell| cell.cpu.busy_s.trials == 0).count();
    (unseen > 0).then(|| {
        format!(
            "in {unseen} of {all} points unknown: the kernel's counters could not be read, or I/Os take so long that jobs \
             ended after them"
        )
    })
}

/// In how many points KIOPS/core divides by the threads' own CPU time; `None` where in none.
fn by_threads(result: &BenchResult) -> Option<String> {
    let cells = result.cells.iter().filter(|cell| cell.iops.trials > 0);
    let all = cells.clone().count();
    let threads = cells.filter(|cell| cell.per_core == PerCore::Threads);
    match threads.count() {
        0 => None,
        n => Some(format!(
            "in {n} of {all} points for each CPU that the jobs' threads took, without interrupts and \
             kernel threads: other work on the machine hid what was busy beyond them"
        )),
    }
}
