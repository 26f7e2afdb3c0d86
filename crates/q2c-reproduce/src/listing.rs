//! Judges each claim on invented trials, in order to find out what this machine cannot judge.

use crate::file::{Experiment, Needs};
use crate::jobs::{AxisValues, STAGE_FIGURES, cpu_use};
use crate::needs::{Features, TARGET_SETTINGS};
use crate::studies::compare::has_open_places;
use crate::{RunFacts, judge};
use q2c_model::{Nanos, Rates};
use q2c_policy::Method;
use q2c_result::reproduce::{
    JobSeries, JudgedClaim, ListedExperiment, ListedNeed, Need, NeedKind, PhaseTrial, Point,
    PointTrial, Reason, StudyKind, Tick, Window,
};
use std::collections::BTreeMap;

/// The conditions under which the experiments are listed.
pub struct Lister<'a> {
    /// The features of the machine, and of the target if one was named.
    pub present: &'a Features,
    /// True if a target was named; without one, needs of the target stay open.
    pub target: bool,
    /// Why the block layer cannot be captured; `None` if it can.
    pub no_capture: Option<&'a str>,
    /// Factor of all times.
    pub scale: f64,
    /// Trials of each point; `None` for the number in the file.
    pub trials: Option<u32>,
}

impl Lister<'_> {
    /// An experiment as an entry of the list.
    pub fn list_entry(&self, experiment: &Experiment) -> ListedExperiment {
        let needs = |claim: &JudgedClaim| self.needs(experiment, claim);
        let claims: Vec<_> = self.claims(experiment).iter().map(needs).collect();
        // True if a claim can be judged here, false if not, `None` if that depends on the target.
        let verdict = |needs: &Vec<ListedNeed>| {
            let has = |met: Option<bool>| needs.iter().any(|need| need.met == met);
            if has(Some(false)) {
                Some(false)
            } else {
                (!has(None)).then_some(true)
            }
        };
        let verdicts: Vec<_> = claims.iter().map(verdict).collect();
        let count = |wanted: Option<bool>| verdicts.iter().filter(|&&v| v == wanted).count() as u32;
        let trials = self.trials.unwrap_or(experiment.trials);
        let variant = experiment.variant_of.as_ref();
        ListedExperiment {
            name: experiment.name.clone(),
            title: experiment.title.clone(),
            variant_of: variant.map(|variant| variant.name.clone()),
            source: experiment.setting.clone(),
            claims: claims.len() as u32,
            judgeable: count(Some(true)),
            depend_on_target: count(None),
            needs: merge_needs(claims.into_iter().flatten()),
            takes_target: experiment.takes_target(),
            seconds: experiment.length_s(self.scale, trials),
        }
    }

    fn claims(&self, experiment: &Experiment) -> Vec<JudgedClaim> {
        let facts = RunFacts {
            present: self.present,
            target: None,
            scale: self.scale,
            trials: 1,
            seed: 0,
            started_unix_s: 0,
            seconds: 0.0,
            idle_busy_cpus: 0.0,
        };
        let mut made_up = MadeUpTrials {
            experiment,
            scale: self.scale,
            figure_count: 0,
        };
        let points = experiment.points().into_iter();
        let points = points.map(|at| made_up.point(at, self.present.cpus));
        judge(experiment, &facts, points.collect()).claims
    }

    /// Everything that a claim needs, including the needs of its experiment.
    fn needs(&self, experiment: &Experiment, claim: &JudgedClaim) -> Vec<ListedNeed> {
        let cpus = Needs {
            cpus: experiment.cpus(),
            ..Needs::default()
        };
        // Listed only if met: the jobs need them at some point, perhaps not at the claim's points.
        let mut cpu_needs = self.present.check(&Needs::default(), &cpus);
        cpu_needs.retain(|need| need.met);
        let claim_needs = claim.needs.iter().chain(&cpu_needs);
        let mut needs: Vec<ListedNeed> = claim_needs.map(|need| self.need(need)).collect();
        if experiment.capture && experiment.machine.is_none() {
            needs.push(self.need(&Need {
                kind: NeedKind::Capture,
                needed: "the right to capture the block layer".to_owned(),
                present: self.no_capture.unwrap_or("there").to_owned(),
                met: self.no_capture.is_none(),
            }));
        }
        let open = experiment
            .compare
            .as_ref()
            .filter(|_| has_open_places(experiment));
        needs.extend(open.map(|command| {
            let needed = format!("--on with two devices, or --from with a result of `{command}`");
            unmet_need(needed, "none was named".to_owned())
        }));
        needs.extend(claim.reasons.iter().filter_map(need_of_reason));
        needs
    }

    fn need(&self, need: &Need) -> ListedNeed {
        use NeedKind::{Capture, HwQueues, PollQueues, Spdk};
        let target_kinds = [PollQueues, HwQueues, Spdk, Capture];
        let of_target = need.kind == NeedKind::Setting
            && TARGET_SETTINGS.contains(&need.needed.as_str())
            || target_kinds.contains(&need.kind);
        let open = !self.target && of_target;
        ListedNeed {
            what: need.kind,
            needed: need.needed.clone(),
            present: if open {
                "depends on the target".to_owned()
            } else {
                need.present.clone()
            },
            met: (!open).then_some(need.met),
        }
    }
}

fn unmet_need(needed: String, present: String) -> ListedNeed {
    ListedNeed {
        what: NeedKind::Other,
        needed,
        present,
        met: Some(false),
    }
}

fn need_of_reason(reason: &Reason) -> Option<ListedNeed> {
    match reason {
        Reason::ShortWindow(short) => Some(unmet_need(
            format!("windows of {} periods of the sleep rule", short.periods),
            format!("too short with all times multiplied by {}", short.scale),
        )),
        Reason::Fitted { model } => {
            let needed = "a model that was not fitted to the claim's own figure";
            Some(unmet_need(needed.to_owned(), model.clone()))
        }
        _ => None,
    }
}

/// The needs of all claims, each once. Of several numbers of the same kind the largest is listed.
fn merge_needs(needs: impl Iterator<Item = ListedNeed>) -> Vec<ListedNeed> {
    let mut merged_needs: Vec<ListedNeed> = Vec::new();
    for need in needs {
        let number = |need: &ListedNeed| need.needed.parse::<u32>().ok();
        let same = merged_needs.iter_mut().find(|known| {
            let are_numbers = number(known).is_some() && number(&need).is_some();
            known.what == need.what && (are_numbers || known.needed == need.needed)
        });
        match same {
            Some(known) if number(known) < number(&need) => *known = need,
            Some(_) => {}
            None => merged_needs.push(need),
        }
    }
    merged_needs.sort_by_key(|need| need.what);
    merged_needs
}

/// Invents trials in which every job did I/O unless it rests. All figures differ, since a claim may
/// divide by a difference.
struct MadeUpTrials<'a> {
    experiment: &'a Experiment,
    scale: f64,
    figure_count: u32,
}

impl MadeUpTrials<'_> {
    fn point(&mut self, at: AxisValues, cpus: u32) -> Point {
        let study = self.experiment.study();
        let names = match study {
            StudyKind::Jobs | StudyKind::Stages => Vec::new(),
            StudyKind::Place
            | StudyKind::Compare
            | StudyKind::Rules
            | StudyKind::Mount
            | StudyKind::Mix => self.experiment.scope().figures,
        };
        Point {
            trials: vec![PointTrial {
                trial: 0,
                figures: self.named_figures(&names),
                phases: self.phases(&at),
            }],
            cpus: cpu_use(self.experiment, &at, cpus),
            predicted: matches!(study, StudyKind::Place | StudyKind::Rules)
                || self.experiment.machine.is_some(),
            at,
            ..Point::default()
        }
    }

    /// A number above 1 that differs from all before.
    fn figure(&mut self) -> f64 {
        self.figure_count += 1;
        1.0 + f64::from(self.figure_count) / 1e3
    }

    fn named_figures(&mut self, names: &[String]) -> BTreeMap<String, f64> {
        let names = names.iter();
        names.map(|name| (name.clone(), self.figure())).collect()
    }

    fn phases(&mut self, at: &AxisValues) -> Vec<PhaseTrial> {
        let experiment = self.experiment;
        let point = experiment.expand(at);
        let mut stages = STAGE_FIGURES.map(str::to_owned).to_vec();
        stages.retain(|_| experiment.capture);
        let lengths = experiment.scaled_phases(self.scale).into_iter().enumerate();
        let phase = |(nth, length): (usize, Nanos)| {
            let seconds = length.as_secs_f64();
            let jobs = experiment.jobs.iter().filter_map(|job| {
                let settings = job.phases[nth].as_ref()?.settings_at(&point).ok()?;
                let periods = settings.methods.iter().filter_map(Method::period);
                Some(JobSeries {
                    job: job.name.clone(),
                    lanes: settings.threads,
                    rule_period_s: periods.max().map(Nanos::as_secs_f64),
                    busy_cpus: Some(self.figure()),
                    figures: self.named_figures(&stages),
                    ticks: self.ticks(seconds),
                    ..JobSeries::default()
                })
            });
            PhaseTrial {
                seconds,
                busy_cpus: Some(1.0),
                interrupts: Some(1),
                jobs: jobs.collect(),
                ..PhaseTrial::default()
            }
        };
        lengths.map(phase).collect()
    }

    /// A short interval in the middle of the phase and of each window.
    fn ticks(&mut self, phase_s: f64) -> Vec<Tick> {
        let (scale, windows) = (self.scale, self.experiment.windows.iter());
        let middle = |window: &Window| {
            let to = window.to_s.map_or(phase_s, |to| to * scale);
            (window.from_s * scale + to) / 2.0
        };
        let middles = windows.map(middle).chain([phase_s / 2.0]);
        let tick = |middle: f64| Tick {
            end_s: middle,
            seconds: 1e-6,
            ios: self.figure(),
            handled: 1.0,
            rates: Rates {
                iops: 1.0,
                cpu_pct: self.figure(),
                miss_rate: self.figure(),
                effective_sleep_ns: self.figure(),
            },
            mean_ns: self.figure(),
            p50_ns: self.figure(),
            p99_ns: self.figure(),
        };
        middles.map(tick).collect()
    }
}

#[cfg(test)]
mod tests;
