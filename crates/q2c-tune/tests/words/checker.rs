//! Compares each claim of a recommendation with the trials' figures. It shares no code with the
//! module that writes recommendations.

/// The figures of a method's trials, relative to the polling beside them.
#[derive(Clone, Debug)]
pub(crate) struct MethodFigures {
    pub name: String,
    pub sleeps: bool,
    pub iops: Vec<f64>,
    pub per_core: Vec<f64>,
    /// Thread CPU, percent of one CPU.
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

/// A rule does not pay below this gain, or above [`MAX_CPU_PCT`].
const MIN_GAIN: f64 = 1.1;
const MAX_CPU_PCT: f64 = 97.0;

fn pays(method: &MethodFigures) -> bool {
    median(&method.per_core) >= MIN_GAIN && median(&method.cpu) <= MAX_CPU_PCT
}

fn paying_rules(figures: &[MethodFigures]) -> impl Iterator<Item = &MethodFigures> {
    let rules = figures.iter().filter(|method| method.sleeps);
    rules.filter(|method| pays(method))
}

fn figures_of<'a>(name: &str, figures: &'a [MethodFigures]) -> Option<&'a MethodFigures> {
    figures.iter().find(|method| method.name == name)
}

fn differs(said: f64, measured: f64) -> bool {
    (said - measured).abs() > MAX_ROUNDING * measured.abs().max(1.0)
}

/// Within this factor a better method may lose to one with fewer misses, or one that adapts.
const ALIKE: f64 = 1.03;
const MIN_TRIALS: usize = 5;
const MAX_ROUNDING: f64 = 0.006;

/// Every claim of `text` that the figures contradict; `floor` is a share of polling's IOPS.
pub(crate) fn contradictions(text: &str, figures: &[MethodFigures], floor: f64) -> Vec<String> {
    let mut contradictions = Vec::new();
    check_no_room(text, figures, &mut contradictions);
    check_method(text, figures, floor, &mut contradictions);
    check_gain(text, figures, &mut contradictions);
    check_kept(text, figures, &mut contradictions);
    check_interrupts(text, figures, &mut contradictions);
    check_sleeping(text, figures, floor, &mut contradictions);
    contradictions
}

/// "Sleeping does not pay" is false if a rule beat polling. Old texts say "no room to sleep".
fn check_no_room(text: &str, figures: &[MethodFigures], found: &mut Vec<String>) {
    let claims = ["Sleeping does not pay", "no room to sleep"];
    if !claims.iter().any(|phrase| text.contains(phrase)) {
        return;
    }
    for method in paying_rules(figures) {
        let (name, gain) = (&method.name, median(&method.per_core));
        let text = format!("{name} had {gain:.3} times polling's KIOPS/core");
        found.push(format!("no room to sleep, but {text}"));
    }
}

fn recommended(text: &str) -> Option<&str> {
    let verdicts = ["Use ", "Best so far: ", "use "];
    let name = verdicts.iter().find_map(|v| text.strip_prefix(v))?;
    let name = name.strip_prefix("hybrid polling by ").unwrap_or(name);
    match name.split([';', ' ']).next()?.trim_end_matches([',', '.']) {
        "interrupts" => Some("interrupt"),
        name => Some(name),
    }
}

fn last_number(text: &str) -> Option<f64> {
    written_number(text.rsplit(' ').next()?)
}

fn first_number(text: &str) -> Option<f64> {
    written_number(text.split(' ').next()?)
}

/// A number as it is written. Below 0.005 it is only a bound, and 0 is within the rounding.
fn written_number(text: &str) -> Option<f64> {
    match text {
        "<0.01" | ">-0.01" => Some(0.0),
        digits => digits.parse().ok(),
    }
}

/// "Ax the IOPS per core of polling at B % of its IOPS" must be the recommended method's figures.
fn check_gain(text: &str, figures: &[MethodFigures], found: &mut Vec<String>) {
    let verdict = text.split(';').next().unwrap_or_default();
    let Some((before, after)) = verdict.split_once(" of polling at ") else {
        return;
    };
    let times = before.split_once("x the IOPS per core");
    let times = times.and_then(|(before, _)| last_number(before));
    let method = recommended(text).and_then(|name| figures_of(name, figures));
    let (Some(method), Some(times), Some(kept)) = (method, times, first_number(after)) else {
        found.push(format!("a gain that cannot be read: {verdict}"));
        return;
    };
    let [gain, share] = [median(&method.per_core), median(&method.iops)];
    for (said, is) in [(times, gain), (kept / 100.0, share)] {
        if differs(said, is) {
            found.push(format!("{}: gains {said}, measured {is:.4}", method.name));
        }
    }
}

/// "Use X" needs a trial of X at the floor, and X must pay. No method that kept the floor may be
/// better in every trial.
fn check_method(text: &str, figures: &[MethodFigures], floor: f64, found: &mut Vec<String>) {
    let Some(name) = recommended(text) else {
        return;
    };
    let Some(chosen) = figures_of(name, figures) else {
        return found.push(format!("{name} is to be used and was not tried"));
    };
    if most(&chosen.iops) < floor {
        found.push(format!("{name} is to be used and never kept the floor"));
    }
    if median(&chosen.per_core) < MIN_GAIN {
        found.push(format!("{name} is to be used and does not pay"));
    }
    // Polling over polling is 1 except for noise, so polling is no rival.
    let other = |method: &&MethodFigures| method.name != name && method.name != "poll";
    let enough = |method: &&MethodFigures| {
        other(method) && method.iops.len() >= MIN_TRIALS && chosen.iops.len() >= MIN_TRIALS
    };
    for rival in figures.iter().filter(enough) {
        let ahead = least(&rival.per_core) > most(&chosen.per_core) * ALIKE;
        if ahead && least(&rival.iops) >= floor {
            let rival = &rival.name;
            found.push(format!("{name} is to be used and {rival} always beat it"));
        }
    }
}

/// Checks "X kept A [..] % of polling's IOPS at B [..] times". X is a policy, "It", "Linux's rule"
/// or "Interrupts".
fn check_kept(text: &str, figures: &[MethodFigures], found: &mut Vec<String>) {
    for (at, _) in text.match_indices(" kept ") {
        let (before, after) = (&text[..at], &text[at + " kept ".len()..]);
        let Some((share, gain)) = after.split_once(" % of polling's IOPS at ") else {
            continue;
        };
        if share.contains("kept") {
            continue;
        }
        let ends = ["; ", ": ", ". "].iter();
        let begins = ends.filter_map(|end| before.rfind(end));
        let who = &before[begins.max().map_or(0, |begin| begin + 2)..];
        let name = match who {
            "It" => recommended(text).unwrap_or_default(),
            "Linux's rule" => "mean:ratio=50%,period=100ms",
            "Interrupts" => "interrupt",
            other => other,
        };
        let Some(method) = figures_of(name, figures) else {
            found.push(format!("nobody is called `{name}`"));
            continue;
        };
        let number = |text| first_number(text).unwrap_or(f64::NAN);
        let pairs = [
            (number(share) / 100.0, median(&method.iops)),
            (number(gain), median(&method.per_core)),
        ];
        for (said, is) in pairs {
            if differs(said, is) {
                found.push(format!("{name}: said {said}, measured {is:.4}"));
            }
        }
    }
}

/// A trade-off in a text: "X would free A % of a CPU but cost B % of the IOPS (Cx the IOPS per
/// core). To accept that, run with --min-iops D%."
struct Trade<'a> {
    freed: Option<f64>,
    lost: f64,
    times: f64,
    advised: f64,
    who: &'a str,
}

fn trade(text: &str) -> Option<Trade<'_>> {
    let (before, price) = text.split_once(" would ")?;
    let who = before.rsplit(". ").next()?;
    let after = |mark: &str| first_number(price.split_once(mark)?.1);
    let (paid, advised) = price.split_once("--min-iops ")?;
    let times = paid.split_once("x the IOPS per core")?.0.replace('(', "");
    Some(Trade {
        freed: after("free "),
        lost: after("cost ").unwrap_or(0.0),
        times: last_number(&times)?,
        advised: advised.split('%').next()?.parse().ok()?,
        who,
    })
}

impl Trade<'_> {
    fn check(&self, own: &MethodFigures, figures: &[MethodFigures], found: &mut Vec<String>) {
        let polling = figures_of("poll", figures);
        let lost = 100.0 - median(&own.iops) * 100.0;
        let mut pairs = vec![
            ("loses", self.lost, lost.max(0.0)),
            ("gains", self.times, median(&own.per_core)),
            ("keeps", self.advised, (100.0 - lost).floor()),
        ];
        match (self.freed, polling) {
            (Some(freed), Some(polling)) => {
                pairs.push(("frees", freed, median(&polling.cpu) - median(&own.cpu)));
            }
            (None, None) => {}
            (freed, _) => found.push(format!("frees {freed:?}, but polling is {polling:?}")),
        }
        for (what, said, is) in pairs {
            if differs(said, is) {
                found.push(format!("{} {what} {said}, measured {is:.4}", own.name));
            }
        }
    }
}

/// The figures must be those of interrupts. No rule that pays may lose less and gain more.
fn check_interrupts(text: &str, figures: &[MethodFigures], found: &mut Vec<String>) {
    let Some(trade) = trade(text).filter(|trade| trade.who == "Interrupts") else {
        return;
    };
    let Some(interrupts) = figures_of("interrupt", figures) else {
        return found.push("interrupts were not tried".to_owned());
    };
    trade.check(interrupts, figures, found);
    // Rivals need as many trials as an answer does, since simulation may outweigh fewer.
    let ahead = |method: &&MethodFigures| {
        let always = |lower: &[f64], higher: &[f64]| least(higher) > most(lower) * ALIKE;
        let enough = method.iops.len() >= MIN_TRIALS && interrupts.iops.len() >= MIN_TRIALS;
        let iops = always(&interrupts.iops, &method.iops);
        enough && iops && always(&interrupts.per_core, &method.per_core)
    };
    for MethodFigures { name, .. } in paying_rules(figures).filter(ahead) {
        found.push(format!("a trade-off by interrupts, but {name} is ahead"));
    }
}

/// The figures must be the rule's, the rule must pay, and no paying rule may have kept the floor.
fn check_sleeping(text: &str, figures: &[MethodFigures], floor: f64, found: &mut Vec<String>) {
    let Some(trade) = trade(text) else {
        return;
    };
    let Some(name) = trade.who.strip_prefix("Sleeping by ") else {
        return;
    };
    let Some(sleeping) = figures_of(name, figures) else {
        return found.push(format!("a trade-off by {name}, which was not tried"));
    };
    trade.check(sleeping, figures, found);
    if !pays(sleeping) {
        found.push(format!("a trade-off by {name}, which does not pay"));
    }
    let kept = |method: &&MethodFigures| median(&method.iops) >= floor;
    for MethodFigures { name, .. } in paying_rules(figures).filter(kept) {
        found.push(format!("a trade-off, but {name} kept the floor and pays"));
    }
}
