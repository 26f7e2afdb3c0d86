//! The report of `q2c place calibrate`.

use crate::document::{Document, Reported, Section};
use crate::phrase::when;
use crate::place;
use crate::quantity::{median, number, range};
use crate::said::{Note, ReportTable};
use q2c_result::corun::{CalibrateResult, Pair, Work};

impl Reported for CalibrateResult {
    fn document(&self) -> Document<'_> {
        let (a, b, trials) = (self.cpus.0.0, self.cpus.1.0, self.trials);
        let trial = number(self.trial_s);
        let about =
            format!("CPUs {a} and {b} of one core · {trials} trials of {trial} s of each pair");
        let polling = self.speeds.compute_beside_polling;
        let compute = self.speeds.compute_beside_compute;
        let [less, polling, compute] =
            [1.0 - compute / polling, polling, compute].map(|share| number(100.0 * share));
        let sentence = format!(
            "computing tasks run at {polling} % of their speed beside one, at {compute} % beside another computing task: {less} % less run time"
        );
        let answer = Note::plain("a polling neighbour", sentence);
        Document::new("place calibrate", &self.version, &self.schema)
            .titled("Speed beside a neighbour", about)
            .run(self.seed, self.started_unix_s)
            .section(Section::new("").table(place::speeds(&self.speeds)))
            .section(Section::new("Pairs").table(pairs(self)))
            .section(Section::new("What it means").notes([answer]))
            .warnings(&self.warnings)
            .targets(&self.target)
            .machine(&self.machine)
    }
}

pub(crate) fn work(work: Work) -> &'static str {
    match work {
        Work::Integer => "integer",
        Work::Branchy => "branchy",
        Work::Float => "floating point",
        Work::Vector => "vector",
        Work::Memory => "memory",
        Work::PollPause => "polling, PAUSE",
        Work::Poll => "polling",
        Work::Iopoll => "IOPOLL",
    }
}

fn pairs(result: &CalibrateResult) -> ReportTable {
    let row = |pair: &Pair| {
        let neighbour = pair.neighbour.map_or("nothing", work);
        [
            work(pair.own).to_owned(),
            format!("{neighbour}{}", when(pair.same_cpu, ", same CPU")),
            median(&pair.speed, 100.0),
            range(&pair.speed, 100.0),
        ]
    };
    let heads = "task | beside | speed\n% of alone | [min, max]";
    let legend = "Median of the trials, each against the trial alone of the same round. On the same CPU two tasks share its time and not the pipeline.";
    ReportTable::headed(heads, result.pairs.iter().map(row)).legend(legend)
}
