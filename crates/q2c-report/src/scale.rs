//! The report of `q2c scale predict`.

use crate::document::{Document, Reported, Section};
use crate::note::{Note, ReportTable};
use crate::phrase::listed;
use crate::plots;
use crate::quantity::{duration, iops, number, or_dash};
use q2c_result::scale::{Answer, CurvePoint, Parameter, Parameters, Resource, ScaleResult};

/// The largest number of predicted rows in the terminal's table; page and CSV have the whole curve.
const MAX_PREDICTED_ROWS: usize = 16;

impl Reported for ScaleResult {
    fn document(&self) -> Document<'_> {
        let curve = Section::new("Curve").table(curve_table(self));
        let document = Document::new("scale predict", &self.version, &self.schema)
            .titled(title(self), about(self))
            .run(self.seed, self.started_unix_s)
            .answers([answer(self)])
            .section(curve.plots(|| vec![plots::over_jobs::scale_plot(self)]))
            .section(Section::new("How sure it is").notes(certainty_notes(self)))
            .section(Section::new("Parameters").table(parameter_table(&self.parameters)))
            .warnings(&self.warnings);
        match &self.run {
            Some(run) => document.target(&run.target).machine(&run.machine),
            None => document,
        }
    }
}

fn title(result: &ScaleResult) -> String {
    let run = result.run.as_ref().map(|run| run.path.as_str());
    let path = run.or(result.parameters_file.as_deref());
    path.unwrap_or("parameters").to_owned()
}

fn about(result: &ScaleResult) -> String {
    let origin = match (&result.run, &result.parameters_file) {
        (Some(run), None) => format!(
            " · from {} {} depth {} {} {}, measured up to {} jobs on {} physical cores",
            run.engine, run.method, run.depth, run.bs, run.rw, run.fitted_up_to, run.physical_cores
        ),
        (_, Some(file)) => format!(" · with the parameters of {file}"),
        _ => String::new(),
    };
    let (jobs, cores) = (result.jobs, result.cores);
    format!("predicted up to {jobs} jobs on {cores} cores{origin}")
}

fn resource_name(resource: Resource) -> &'static str {
    match resource {
        Resource::Cpu => "cores",
        Resource::Lock => "a lock",
        Resource::CacheLine => "a shared cache line",
        Resource::Tags => "requests of the hardware queues",
        Resource::Device => "the device",
    }
}

fn answer(result: &ScaleResult) -> Note {
    let limit = result.resource.map_or("nothing", resource_name);
    let range = match result.ends_between {
        Some((low, Some(high))) => format!("{low} to {high} jobs"),
        Some((low, None)) => format!("{low} jobs or more"),
        None => String::new(),
    };
    match (result.answer, result.ends_at) {
        (Answer::Ends, Some(end)) => {
            let falls = result.peak;
            let falls = falls.map(|n| format!("; throughput is predicted to fall beyond {n}"));
            let falls = falls.unwrap_or_default();
            let message = format!("at {end} jobs ({range}), by {limit}{falls}");
            Note::good("scaling ends", message)
        }
        (Answer::Uncertain, _) => {
            let finding = format!("{limit} shows, but too little of it");
            let message =
                format!("{finding}: scaling may end anywhere from {range}; measure more jobs");
            Note::caution("not yet to be told", message)
        }
        (Answer::Beyond, _) => {
            let jobs = result.jobs;
            let message = format!("does not end up to {jobs} jobs by anything that is known");
            Note::plain("scaling", message)
        }
        _ => {
            let jobs = result.run.as_ref().map_or(0, |run| run.fitted_up_to);
            let message = format!(
                "no limit shows up to {jobs} jobs, so where scaling ends cannot be predicted; the curve is the one without a limit"
            );
            Note::caution("nothing seen", message)
        }
    }
}

fn certainty_notes(result: &ScaleResult) -> Vec<Note> {
    let mut notes = Vec::new();
    if let Some(first) = result.what_if.first() {
        let gains = result.what_if.iter().map(|gain| {
            let pct = number(gain.gain_pct);
            format!("{} +{pct} %", resource_name(gain.resource))
        });
        let message = format!("throughput at {} jobs: {}", first.jobs, listed(gains));
        notes.push(Note::plain("without its limit", message));
    }
    if let Some(stage) = &result.parameters.shared_stage {
        let message = format!("stage {stage}, which grows with the jobs");
        notes.push(Note::plain("seen in", message));
    }
    if let Some(error) = result.leave_out_error_pct {
        let basis = match result.parameters_file {
            None => "of each measured point from the others",
            Some(_) => "of the measured points, to which nothing was fitted",
        };
        let error = format!("{} % on average, {basis}", number(error));
        notes.push(Note::plain("error", error));
    }
    notes
}

/// The curve, with all measured points and every n-th predicted one if there are many.
fn curve_table(result: &ScaleResult) -> ReportTable {
    let predicted = result.curve.iter().filter(|p| !p.measured).count();
    let step = predicted.div_ceil(MAX_PREDICTED_ROWS).max(1);
    let mut nth = 0;
    let shown = result.curve.iter().filter(|point| {
        nth += usize::from(!point.measured);
        let is_kept = point.jobs == result.jobs || Some(point.jobs) == result.ends_at;
        point.measured || is_kept || nth % step == 0
    });
    let row = |point: &CurvePoint| {
        let is_measured = point.measured;
        let kind = if is_measured { "measured" } else { "predicted" };
        let [median, low, high] = [point.iops, point.low, point.high].map(iops);
        [point.jobs.to_string(), kind.to_owned(), median, low, high]
    };
    let legend = "Measured: median, least and largest trial. Predicted: the model, and 95 % of its resampled fits with its error at \
         points left out.";
    ReportTable::new("jobs |  | IOPS | low | high", shown.map(row)).legend(legend)
}

fn parameter_table(parameters: &Parameters) -> ReportTable {
    let mut rows = vec![
        row("on the core", parameters.cpu_ns, duration),
        row("interrupt, wake-up and other", parameters.rest_ns, duration),
        row("in the device", parameters.device_ns, duration),
    ];
    let parallel = parameters.device_parallel;
    rows.extend(parallel.map(|value| row("device serves at once", value, number)));
    if parameters.lock_ns.value > 0.0 {
        rows.push(row("lock held", parameters.lock_ns, duration));
        rows.push(row("growth by each waiter", parameters.lock_growth, number));
    }
    if parameters.line_ns.value > 0.0 {
        let line = parameters.line_ns;
        rows.push(row("cache line, each further core", line, duration));
    }
    if let Some((queues, tags)) = parameters.queues.zip(parameters.tags) {
        let whole_number = |value: f64| format!("{value:.0}");
        rows.push(row(
            "hardware queues",
            Parameter::exact(queues.into()),
            whole_number,
        ));
        rows.push(row(
            "requests of each",
            Parameter::exact(tags.into()),
            whole_number,
        ));
    }
    ReportTable::new("of each I/O | value | low | high", rows)
}

fn row(name: &str, value: Parameter, text: fn(f64) -> String) -> [String; 4] {
    let bound = |bound: f64| or_dash((value.low < value.high).then(|| text(bound)));
    let (low, high) = (bound(value.low), bound(value.high));
    [name.to_owned(), text(value.value), low, high]
}
