//! Tables and sentences of `q2c reproduce` that terminal, page and JSON share.

mod points;

pub(crate) use points::points;

use crate::quantity::{NOTHING, number, seconds};
use crate::said::{Field, Said, Table, Weight};
use q2c_result::reproduce::{
    AllResult, Basis, ClaimLine, Expected, ExperimentLine, JudgedClaim, ListResult, MeasuredFigure,
    Need, NeedKind, OurCurve, PublishedCurve, Reason, ReproduceResult, StudyKind, Verdict,
};
use q2c_stats::Interval;

/// Rows of a chart's table at most.
const ROWS: usize = 24;

/// What the experiment is.
pub(crate) fn about(result: &ReproduceResult) -> String {
    let mut words = vec![result.title.clone()];
    words.extend(
        result
            .variant_of
            .as_ref()
            .map(|of| format!("variant of {}", of.name)),
    );
    words.push(match result.study {
        StudyKind::Place => "by the simulator of placements".to_owned(),
        StudyKind::Rules => format!(
            "by the simulator of sleep rules, over the library of patterns and {} sets of its sources",
            result.trials.saturating_sub(1)
        ),
        StudyKind::Compare => "from a result of q2c compare".to_owned(),
        StudyKind::Jobs | StudyKind::Stages => format!("{} trials of each point", result.trials),
    });
    if result.scale != 1.0 {
        words.push(format!("all times multiplied by {}", result.scale));
    }
    words.extend(
        result
            .target
            .as_ref()
            .map(|target| format!("on {}", target.path)),
    );
    words.join(" · ")
}

/// What is different from the published experiment, and how that was measured.
pub(crate) fn setting(result: &ReproduceResult) -> Vec<Said> {
    let mut said = vec![Said::plain("published with", result.setting.clone())];
    if let Some(of) = &result.variant_of {
        let words = format!("{}: {}", of.name, of.reason);
        said.push(Said::new(Weight::Caution, "variant of", words));
    }
    for job in &result.jobs {
        let mut each: Vec<&String> = job.phases.iter().flatten().collect();
        each.dedup();
        let words: Vec<&str> = each.into_iter().map(String::as_str).collect();
        said.push(Said::plain(
            &format!("job {}", job.name),
            words.join("; then "),
        ));
    }
    for device in &result.devices {
        said.push(match &device.made {
            Ok(made) => Said::plain("made", format!("{}: {made}", device.name)),
            Err(why) => Said::new(
                Weight::Caution,
                "not made",
                format!("{}: {why}", device.name),
            ),
        });
    }
    said
}

/// The claims with their verdicts.
pub(crate) fn claims(result: &ReproduceResult) -> Table {
    let row = |claim: &JudgedClaim| -> Vec<Field> {
        vec![
            claim.says.clone().into(),
            claim.published.clone().unwrap_or_default().into(),
            figures(claim).into(),
            Field {
                text: claim.verdict.name().to_owned(),
                below: claim.basis.name().to_owned(),
            },
        ]
    };
    Table {
        head: ["claim", "published", "here", "verdict"]
            .map(String::from)
            .to_vec(),
        rows: result.claims.iter().map(row).collect(),
        legend: "Here: median [min, max] over the trials. A claim holds when the interval lies wholly \
                 inside it, and does not hold when it lies wholly outside.",
    }
}

/// The measured figures of a claim in a line.
fn figures(claim: &JudgedClaim) -> String {
    let each = claim.expects.iter().filter_map(|expected| {
        let value = expected.measured.as_ref()?;
        let left = left_side(&expected.text);
        Some(format!("{left} {}", in_unit(value, &expected.unit)))
    });
    let mut all: Vec<String> = each.collect();
    // Two bounds of one figure show it once.
    all.dedup();
    match all.is_empty() {
        true => NOTHING.to_owned(),
        false => all.join("; "),
    }
}

/// The left side of an expression.
fn left_side(text: &str) -> &str {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '<' | '>' | '~' if depth == 0 => return text[..at].trim(),
            _ => {}
        }
    }
    text
}

/// A figure over the trials in the unit of its claim.
fn in_unit(value: &Interval, unit: &str) -> String {
    let factor = match unit {
        "%" => 0.01,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "K" => 1e3,
        "M" => 1e6,
        _ => 1.0,
    };
    let told = number(value.median / factor);
    let range = match value.trials {
        0 | 1 => String::new(),
        _ => format!(
            " [{}, {}]",
            number(value.min / factor),
            number(value.max / factor)
        ),
    };
    match unit {
        "" => format!("{told}{range}"),
        unit => format!("{told}{range} {unit}"),
    }
}

/// Each claim as a sentence, with its figures and the reason of its verdict.
pub(crate) fn told(result: &ReproduceResult) -> Vec<Said> {
    let said = |claim: &JudgedClaim| {
        let mut words = claim.says.clone();
        words += &claim
            .published
            .as_ref()
            .map_or_else(String::new, |of| format!(". Published: {of}"));
        words += &format!(". Here: {}", figures(claim));
        let why = why(claim);
        words += &if why.is_empty() {
            String::new()
        } else {
            format!(". {why}")
        };
        let what = format!("{} ({})", claim.verdict.name(), claim.basis.name());
        Said::new(weight(claim.verdict), &what, words)
    };
    result.claims.iter().map(said).collect()
}

fn weight(verdict: Verdict) -> Weight {
    match verdict {
        Verdict::Holds => Weight::Good,
        Verdict::DoesNotHold => Weight::Plain,
        Verdict::Undecided | Verdict::CannotJudge => Weight::Caution,
    }
}

/// Why claims have their verdicts, one sentence for each that says something.
pub(crate) fn reasons(result: &ReproduceResult) -> Vec<Said> {
    let said = |claim: &JudgedClaim| {
        let words = why(claim);
        let what = claim.verdict.name();
        let words_of = || format!("{}: {words}", claim.says);
        (!words.is_empty()).then(|| Said::new(weight(claim.verdict), what, words_of()))
    };
    result.claims.iter().filter_map(said).collect()
}

/// Why a claim has its verdict, in words.
#[must_use]
pub fn why(claim: &JudgedClaim) -> String {
    let mut words: Vec<String> = claim
        .reasons
        .iter()
        .map(|reason| because(reason, claim))
        .collect();
    words.extend(claim.read_as.iter().map(|how| format!("read as: {how}")));
    words.join("; ")
}

fn because(reason: &Reason, claim: &JudgedClaim) -> String {
    match reason {
        Reason::Lacks => {
            let lacks = claim.needs.iter().filter(|need| !need.met).map(lack);
            format!(
                "this machine lacks {}",
                lacks.collect::<Vec<_>>().join(", and ")
            )
        }
        Reason::Missing(missing) => {
            let at: Vec<String> = missing
                .at
                .iter()
                .map(|(axis, v)| format!("{axis}={v}"))
                .collect();
            let at = if at.is_empty() {
                String::new()
            } else {
                format!(" at {}", at.join(" "))
            };
            format!("there is no {}{at}: {}", missing.figure, missing.why)
        }
        Reason::FewTrials { trials, least } => {
            format!("a verdict needs {least} trials, and there are {trials}")
        }
        Reason::Across { text } => format!("the interval lies across the edge of `{text}`"),
        Reason::Outside { text } => format!("`{text}` is wholly missed"),
        Reason::Fitted { model } => {
            format!("{model} was fitted to this very figure, so it says nothing of it")
        }
        Reason::Predicted(stated) => format!("predicted by {}: {}", stated.model, stated.error),
        Reason::Scaled { scale } => format!("with all times multiplied by {scale}"),
    }
}

fn lack(need: &Need) -> String {
    let (needed, present) = (&need.needed, &need.present);
    let what = match need.kind {
        NeedKind::Cpus => "CPUs",
        NeedKind::ThreadsPerCore => "threads per core",
        NeedKind::NumaNodes => "NUMA nodes",
        NeedKind::Kernel => "a kernel",
        NeedKind::PollQueues => "poll queues",
        NeedKind::HwQueues => "hardware queues",
        NeedKind::Device => "devices",
        NeedKind::Module => "a module",
        NeedKind::FileSystem => "a file system",
        NeedKind::Spdk => "SPDK",
        NeedKind::Capture => "the right to capture",
        NeedKind::Other => "something",
    };
    format!("{what} (needed: {needed}, present: {present})")
}

/// The figures of a chart as a table: published ones beside ours.
pub(crate) fn chart_tables(result: &ReproduceResult) -> Vec<(String, Table)> {
    let charts = result.charts.iter().filter(|chart| chart.over != "time");
    let table = |chart: &q2c_result::reproduce::ChartAsked| {
        let unit = unit_of(&chart.figure);
        let mut xs: Vec<&String> = Vec::new();
        let ours = chart
            .ours
            .iter()
            .flat_map(|curve| curve.points.iter().map(|(at, _)| at));
        let published = chart
            .published
            .iter()
            .flat_map(|c| c.points.iter().map(|(at, _)| at));
        for at in ours.chain(published) {
            if !xs.contains(&at) {
                xs.push(at);
            }
        }
        let mut head = vec![chart.over.clone()];
        head.extend(chart.ours.iter().map(|curve| curve.name.clone()));
        head.extend(
            chart
                .published
                .iter()
                .map(|curve| format!("{}\npublished", curve.name)),
        );
        let row = |at: &String| {
            let mut row: Vec<Field> = vec![label(at, result).into()];
            row.extend(chart.ours.iter().map(|curve| our(curve, at, unit).into()));
            row.extend(
                chart
                    .published
                    .iter()
                    .map(|curve| theirs(curve, at, unit).into()),
            );
            row
        };
        let rows = xs.into_iter().take(ROWS).map(row).collect();
        let table = Table {
            head,
            rows,
            legend: "",
        };
        (format!("{} ({unit})", chart.title), table)
    };
    charts
        .map(table)
        .filter(|(_, table)| !table.rows.is_empty())
        .collect()
}

/// The label of a phase, or the value itself.
fn label(at: &str, result: &ReproduceResult) -> String {
    let phase = result.phases.iter().find(|phase| phase.name == at);
    phase.map_or_else(|| at.to_owned(), |phase| phase.label.clone())
}

fn our(curve: &OurCurve, at: &str, unit: &str) -> String {
    let found = curve.points.iter().find(|(own, _)| own == at);
    found.map_or(NOTHING.to_owned(), |(_, value)| {
        let scale = factor_of(unit);
        let range = match value.trials {
            0 | 1 => String::new(),
            _ => format!(
                " [{}, {}]",
                number(value.min / scale),
                number(value.max / scale)
            ),
        };
        format!("{}{range}", number(value.median / scale))
    })
}

fn theirs(curve: &PublishedCurve, at: &str, unit: &str) -> String {
    let found = curve.points.iter().find(|(own, _)| own == at);
    found.map_or(NOTHING.to_owned(), |(_, value)| {
        number(value / factor_of(unit))
    })
}

/// The unit in which a figure is shown.
pub(crate) fn unit_of(figure: &str) -> &'static str {
    let name = figure.split('[').next().unwrap_or(figure);
    match name.rsplit('.').next().unwrap_or(name) {
        "iops" => "KIOPS",
        "kiops_per_core" => "KIOPS per core",
        "effective_sleep" | "latency" | "p50" | "p99" => "µs",
        "interrupts_per_io" => "per I/O",
        "completion" | "sum_q2c" | "sum_u2c" => "s",
        "q2g" | "g2i" | "i2d" | "d2c" | "q2c" => "µs",
        _ => "%",
    }
}

/// What a figure is divided by for its unit.
pub(crate) fn factor_of(unit: &str) -> f64 {
    match unit {
        "KIOPS" | "µs" => 1e3,
        "%" => 0.01,
        "s" => 1e9,
        _ => 1.0,
    }
}

/// The claims of an experiment as lines of the verdicts of all.
#[must_use]
pub fn line(result: &ReproduceResult) -> ExperimentLine {
    let claim = |claim: &JudgedClaim| {
        let measured = |expected: &Expected| {
            Some(MeasuredFigure {
                expects: expected.text.clone(),
                over_trials: expected.measured?,
            })
        };
        ClaimLine {
            says: claim.says.clone(),
            published: claim.published.clone(),
            measured: claim.expects.iter().filter_map(measured).collect(),
            verdict: claim.verdict,
            basis: claim.basis,
            why: why(claim),
        }
    };
    ExperimentLine {
        name: result.name.clone(),
        variant_of: result.variant_of.as_ref().map(|of| of.name.clone()),
        claims: result.claims.iter().map(claim).collect(),
    }
}

/// The verdicts of all experiments, counted.
pub(crate) fn counted(result: &AllResult) -> String {
    let claims = || result.experiments.iter().flat_map(|of| &of.claims);
    let count = |verdict: Verdict, basis: Option<Basis>| {
        let same = |claim: &&ClaimLine| {
            claim.verdict == verdict && basis.is_none_or(|basis| claim.basis == basis)
        };
        claims().filter(same).count()
    };
    let predicted = |verdict| match count(verdict, Some(Basis::Predicted)) {
        0 => String::new(),
        n => format!(" ({n} predicted)"),
    };
    let told = [
        (Verdict::Holds, "hold"),
        (Verdict::DoesNotHold, "do not hold"),
        (Verdict::Undecided, "are undecided"),
        (Verdict::CannotJudge, "cannot be judged here"),
    ];
    let each = told
        .map(|(verdict, words)| format!("{} {words}{}", count(verdict, None), predicted(verdict)));
    format!("{} claims: {}", claims().count(), each.join(", "))
}

/// The verdicts of all experiments.
pub(crate) fn verdicts(result: &AllResult) -> Table {
    let mut rows: Vec<Vec<Field>> = Vec::new();
    for experiment in &result.experiments {
        for claim in &experiment.claims {
            let here = claim.measured.iter().map(|figure| {
                let unit = "";
                format!(
                    "{} {}",
                    left_side(&figure.expects),
                    in_unit(&figure.over_trials, unit)
                )
            });
            rows.push(vec![
                experiment.name.clone().into(),
                claim.says.clone().into(),
                claim.published.clone().unwrap_or_default().into(),
                here.collect::<Vec<_>>().join("; ").into(),
                Field {
                    text: claim.verdict.name().to_owned(),
                    below: claim.basis.name().to_owned(),
                },
                claim.why.clone().into(),
            ]);
        }
    }
    Table {
        head: ["experiment", "claim", "published", "here", "verdict", "why"]
            .map(String::from)
            .to_vec(),
        rows,
        legend: "Here: median [min, max] over the trials; times in ns, shares in 0..1.",
    }
}

/// The list of experiments.
pub(crate) fn list(result: &ListResult) -> Table {
    let row = |of: &q2c_result::reproduce::ListedExperiment| -> Vec<Field> {
        vec![
            of.name.clone().into(),
            Field {
                text: of.title.clone(),
                below: of
                    .variant_of
                    .as_ref()
                    .map_or_else(String::new, |of| format!("variant of {of}")),
            },
            of.claims.to_string().into(),
            seconds(of.seconds).into(),
            of.needs.join(", ").into(),
        ]
    };
    Table {
        head: ["experiment", "asks", "claims", "takes", "needs"]
            .map(String::from)
            .to_vec(),
        rows: result.experiments.iter().map(row).collect(),
        legend: "Takes: at full length with all trials.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_result::reproduce::{Missing, StatedError};
    use std::collections::BTreeMap;

    fn claim(reasons: Vec<Reason>) -> JudgedClaim {
        JudgedClaim {
            says: "it is so".to_owned(),
            published: None,
            read_as: Some("so is so".to_owned()),
            verdict: Verdict::CannotJudge,
            basis: Basis::Measured,
            expects: Vec::new(),
            needs: vec![Need {
                kind: NeedKind::Cpus,
                needed: "120".to_owned(),
                present: "2".to_owned(),
                met: false,
            }],
            reasons,
        }
    }

    #[test]
    fn the_left_side_ends_at_the_comparison_and_not_within_brackets() {
        for (text, left) in [
            ("steady.miss_rate > 10 %", "steady.miss_rate"),
            ("max(iops over jobs=1..8) <= 3", "max(iops over jobs=1..8)"),
            ("ratio(iops, none) ~ 0.1 +- 0.05", "ratio(iops, none)"),
            ("iops[disk=\"a>b\"] > 3", "iops[disk=\"a>b\"]"),
        ] {
            assert_eq!(left_side(text), left);
        }
    }

    #[test]
    fn figures_are_in_the_unit_of_their_claim() {
        let value = Interval::of(&[0.1, 0.2, 0.3]);
        assert_eq!(in_unit(&value, "%"), "20.0 [10.0, 30.0] %");
        assert_eq!(in_unit(&Interval::of(&[2_500.0]), "us"), "2.50 us");
        assert_eq!(in_unit(&Interval::of(&[0.8]), ""), "0.80");
    }

    #[test]
    fn every_reason_has_its_words() {
        let text = || "iops > 1".to_owned();
        let missing = Missing {
            figure: "iops".to_owned(),
            at: BTreeMap::from([("jobs".to_owned(), "8".to_owned())]),
            why: "the device is gone".to_owned(),
        };
        let stated = StatedError {
            model: "a model".to_owned(),
            error: "5 % off".to_owned(),
        };
        for (reason, words) in [
            (Reason::Lacks, "CPUs (needed: 120, present: 2)"),
            (
                Reason::Missing(missing),
                "no iops at jobs=8: the device is gone",
            ),
            (
                Reason::FewTrials {
                    trials: 1,
                    least: 3,
                },
                "needs 3 trials, and there are 1",
            ),
            (
                Reason::Across { text: text() },
                "across the edge of `iops > 1`",
            ),
            (
                Reason::Outside { text: text() },
                "`iops > 1` is wholly missed",
            ),
            (
                Reason::Fitted {
                    model: "it".to_owned(),
                },
                "it was fitted to this very figure",
            ),
            (Reason::Predicted(stated), "predicted by a model: 5 % off"),
            (Reason::Scaled { scale: 0.1 }, "multiplied by 0.1"),
        ] {
            let told = why(&claim(vec![reason]));
            assert!(told.contains(words), "{told}");
            assert!(told.ends_with("read as: so is so"), "{told}");
        }
    }
}
