//! Reads the sentences of a recommendation, and compares each claim with the figures of the trials.
//! The checker shares no code with the part that makes the sentences.

/// A method's trials over polling beside them.
#[derive(Clone, Debug)]
pub struct Figures {
    /// `interrupt`, `poll`, or the policy.
    pub name: String,
    pub sleeps: bool,
    pub iops: Vec<f64>,
    pub per_core: Vec<f64>,
    /// Thread CPU, percent.
    pub cpu: Vec<f64>,
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let n = values.len();
    (values[(n - 1) / 2] + values[n / 2]) / 2.0
}

fn most(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

/// A method that gains less than this over polling does not pay, and neither does one that takes
/// more than `WHOLE_CPU` percent of a CPU.
const WORTH: f64 = 1.1;
const WHOLE_CPU: f64 = 97.0;

fn pays(of: &Figures) -> bool {
    median(&of.per_core) >= WORTH && median(&of.cpu) <= WHOLE_CPU
}

/// A method that is better by less than this factor may lose to one with fewer misses, or to one
/// that follows the device.
const ALIKE: f64 = 1.03;
/// Trials that an answer needs.
const ENOUGH: usize = 5;
/// Figures are printed with three digits.
const PRINTED: f64 = 0.006;

/// Returns every claim of `text` that the figures contradict. `floor` is the share of polling's
/// IOPS that must be kept.
pub fn contradictions(text: &str, figures: &[Figures], floor: f64) -> Vec<String> {
    let mut found = Vec::new();
    no_room(text, figures, &mut found);
    used(text, figures, floor, &mut found);
    gained(text, figures, &mut found);
    waking(text, &mut found);
    kept(text, figures, &mut found);
    trade(text, figures, floor, &mut found);
    by_interrupts(text, figures, &mut found);
    found
}

/// "No room to sleep" is false where a rule beat polling.
fn no_room(text: &str, figures: &[Figures], found: &mut Vec<String>) {
    if !text.contains("no room to sleep") {
        return;
    }
    for of in figures.iter().filter(|of| of.sleeps) {
        if pays(of) {
            found.push(format!(
                "no room to sleep, but {} had {:.3} times polling's KIOPS/core",
                of.name,
                median(&of.per_core)
            ));
        }
    }
}

/// The method that is to be used.
fn recommended(text: &str) -> Option<&str> {
    let name = text.strip_prefix("use ")?.split([';', ' ']).next()?;
    match name.trim_end_matches(':') {
        "interrupts" => Some("interrupt"),
        name => Some(name),
    }
}

/// "A times the KIOPS/core of polling at B % of its IOPS" is false where A or B is not the figure
/// of the method that is to be used.
fn gained(text: &str, figures: &[Figures], found: &mut Vec<String>) {
    let verdict = text.split(';').next().unwrap_or_default();
    let Some((before, after)) = verdict.split_once(" of polling at ") else {
        return;
    };
    let times = before.split_once(" times the KIOPS");
    let times = times.and_then(|(before, _)| before.rsplit(' ').next()?.parse::<f64>().ok());
    let kept = after.split(' ').next().and_then(|n| n.parse::<f64>().ok());
    let own = figures
        .iter()
        .find(|of| Some(of.name.as_str()) == recommended(text));
    let (Some(own), Some(times), Some(kept)) = (own, times, kept) else {
        found.push(format!("a gain that cannot be read: {verdict}"));
        return;
    };
    for (said, is) in [
        (times, median(&own.per_core)),
        (kept / 100.0, median(&own.iops)),
    ] {
        if (said - is).abs() > PRINTED * is.max(1.0) {
            found.push(format!("{}: gains {said}, measured {is:.4}", own.name));
        }
    }
}

/// "Use X" is false where no trial of X reached the floor, where X does not pay, or where another
/// method that kept the floor was better in every trial.
fn used(text: &str, figures: &[Figures], floor: f64, found: &mut Vec<String>) {
    let Some(name) = recommended(text) else {
        return;
    };
    let Some(own) = figures.iter().find(|of| of.name == name) else {
        found.push(format!("{name} is to be used and was not tried"));
        return;
    };
    if most(&own.iops) < floor {
        found.push(format!(
            "{name} is to be used and no trial of it kept the floor"
        ));
    }
    if median(&own.per_core) < WORTH {
        found.push(format!("{name} is to be used and does not pay"));
    }
    // Polling over polling is 1 but for noise; all methods are compared with polling.
    let other = |of: &&Figures| of.name != name && of.name != "poll";
    let enough = |of: &&Figures| other(of) && of.iops.len() >= ENOUGH && own.iops.len() >= ENOUGH;
    for of in figures.iter().filter(enough) {
        let keeps = least(&of.iops) >= floor;
        if keeps && least(&of.per_core) > most(&own.per_core) * ALIKE {
            found.push(format!(
                "{name} is to be used and {} beat it in every trial",
                of.name
            ));
        }
    }
}

/// "Waking costs more than the device takes" is false beside a wake-up that ends sooner.
fn waking(text: &str, found: &mut Vec<String>) {
    let after = |mark: &str| {
        let (_, rest) = text.split_once(mark)?;
        rest.split(' ').next()?.parse::<f64>().ok()
    };
    if !text.contains("waking costs more than the device takes") {
        return;
    }
    if let (Some(ends), Some(takes)) = (after("ends after "), after("the device takes "))
        && ends < takes
    {
        found.push(format!(
            "waking costs more than the device takes, but ends after {ends} of {takes} us"
        ));
    }
}

/// "beside polling X kept A [..] % of the IOPS at B [..] times" is false where A or B is not the
/// figure of X. X is the name of a policy, or "it", "Linux's rule", "interrupts".
fn kept(text: &str, figures: &[Figures], found: &mut Vec<String>) {
    for claim in text.split("beside polling ").skip(1) {
        let Some((who, rest)) = claim.split_once(" kept ") else {
            continue;
        };
        let name = match who {
            "it" => recommended(text).unwrap_or_default(),
            "Linux's rule" => "mean:ratio=50%,period=100ms",
            other => other,
        };
        let name = if name == "interrupts" {
            "interrupt"
        } else {
            name
        };
        let Some(of) = figures.iter().find(|of| of.name == name) else {
            found.push(format!("nobody is called `{name}`"));
            continue;
        };
        let number = |text: &str| {
            let text = text.split([' ', '[']).next().unwrap_or_default();
            text.parse::<f64>().unwrap_or(f64::NAN)
        };
        let times = rest
            .split_once(" at ")
            .map_or(f64::NAN, |(_, times)| number(times));
        let pairs = [
            (number(rest) / 100.0, median(&of.iops)),
            (times, median(&of.per_core)),
        ];
        for (said, is) in pairs {
            let same = (said - is).abs() <= PRINTED * is.max(1.0);
            if !same {
                found.push(format!("{name}: said {said}, measured {is:.4}"));
            }
        }
    }
}

/// "Interrupts cost A % of the IOPS and take B % CPU" is false where A or B is not their figure, or
/// where a rule that pays loses less and gains more.
fn by_interrupts(text: &str, figures: &[Figures], found: &mut Vec<String>) {
    let Some((_, rest)) = text.split_once("interrupts cost ") else {
        return;
    };
    let Some(own) = figures.iter().find(|of| of.name == "interrupt") else {
        return found.push("interrupts were not tried".to_owned());
    };
    let numbers: Vec<f64> = rest.split(' ').filter_map(|n| n.parse().ok()).collect();
    let is = [100.0 - median(&own.iops) * 100.0, median(&own.cpu)];
    for (said, is) in numbers.iter().zip(is) {
        if (said - is).abs() > PRINTED * is.abs().max(1.0) {
            found.push(format!("interrupts: said {said}, measured {is:.4}"));
        }
    }
    // A rule must be ahead in every one of as many trials as an answer needs: simulation may
    // outweigh fewer trials.
    let ahead = |of: &&Figures| {
        let always = |own: &[f64], other: &[f64]| least(other) > most(own) * ALIKE;
        let enough = of.iops.len() >= ENOUGH && own.iops.len() >= ENOUGH;
        of.sleeps
            && pays(of)
            && enough
            && always(&own.iops, &of.iops)
            && always(&own.per_core, &of.per_core)
    };
    for of in figures.iter().filter(ahead) {
        found.push(format!(
            "a trade-off by interrupts, but {} is ahead",
            of.name
        ));
    }
}

/// "Sleeping costs A to B % of the IOPS" is true where no rule that pays kept the floor, one of
/// them lost as little as A, and one of them kept the floor that is advised.
fn trade(text: &str, figures: &[Figures], floor: f64, found: &mut Vec<String>) {
    let Some((_, rest)) = text.split_once("sleeping costs ") else {
        return;
    };
    let paying = || figures.iter().filter(|of| of.sleeps && pays(of));
    for of in paying().filter(|of| median(&of.iops) >= floor) {
        found.push(format!(
            "a trade-off, but {} kept the floor and pays",
            of.name
        ));
    }
    // The least CPU that is claimed is that of a rule that pays.
    let taken = rest.split_once("takes ");
    let taken = taken.and_then(|(_, rest)| rest.split(' ').next()?.parse::<f64>().ok());
    let takes = |of: &Figures| {
        taken.is_some_and(|said| (said - median(&of.cpu)).abs() <= PRINTED * said.max(1.0))
    };
    if !paying().any(takes) {
        found.push(format!("no rule that pays takes {taken:?} % CPU"));
    }
    let lost = rest.split(' ').next().and_then(|n| n.parse::<f64>().ok());
    let near =
        |of: &Figures| lost.is_some_and(|l| (100.0 - median(&of.iops) * 100.0 - l).abs() < 0.06);
    if !paying().any(near) {
        found.push(format!("no rule that pays lost {lost:?} %"));
    }
    let advised = text.split_once("--min-iops ").and_then(|(_, rest)| {
        let share = rest.split('%').next()?;
        share.parse::<f64>().ok()
    });
    if let Some(advised) = advised {
        let kept = paying().any(|of| median(&of.iops) * 100.0 >= advised);
        if !kept {
            found.push(format!(
                "no rule that pays kept the {advised} % that are advised"
            ));
        }
    }
}
