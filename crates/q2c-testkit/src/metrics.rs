//! Metrics in Prometheus's text format 0.0.4 as strict readers take them, written from the format's
//! description and without a look at the code that writes them.

use std::collections::{BTreeMap, BTreeSet};

/// Labels of a sample by name.
type Labels = BTreeMap<String, String>;

/// The samples of a page: name and labels, and the value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples(BTreeMap<(String, Labels), f64>);

impl Samples {
    /// The value of the only sample that has this name and at least these labels. Panics if none or
    /// several fit.
    #[track_caller]
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let fits = |(sample_name, sample_labels): &&(String, Labels)| {
            let has = |(label, value): &(&str, &str)| {
                sample_labels.get(*label).is_some_and(|v| v == value)
            };
            sample_name == name && labels.iter().all(has)
        };
        let matching: Vec<_> = self.0.keys().filter(fits).collect();
        match matching[..] {
            [key] => self.0[key],
            _ => panic!("{name} {labels:?}: found {matching:?}"),
        }
    }

    /// The different values of `label` in all samples; `None` stands for samples without it.
    pub fn label_values(&self, label: &str) -> Vec<Option<&str>> {
        let samples = self.0.keys();
        let values = samples.map(|(_, labels)| labels.get(label).map(String::as_str));
        Vec::from_iter(BTreeSet::from_iter(values))
    }
}

/// Reads a page of metrics.
///
/// # Panics
/// When the page breaks a rule of the format: an unknown kind of line, a name that is not allowed,
/// a metric without its `TYPE` before it or in two places, or a series twice. Also when a counter
/// is below zero or not named `..._total`, or a histogram's counts are wrong.
#[track_caller]
pub fn strict_metrics(text: &str) -> Samples {
    match read(text) {
        Ok(samples) => samples,
        Err(reason) => panic!("{reason} in {text}"),
    }
}

/// A metric whose `TYPE` was read.
struct MetricFamily<'a> {
    name: &'a str,
    kind: &'a str,
}

impl MetricFamily<'_> {
    fn has_sample(&self, name: &str) -> bool {
        match self.kind {
            "histogram" => name
                .strip_prefix(self.name)
                .is_some_and(|suffix| ["_bucket", "_sum", "_count"].contains(&suffix)),
            _ => name == self.name,
        }
    }
}

fn read(text: &str) -> Result<Samples, String> {
    if !text.ends_with('\n') {
        return Err("the last line has no end".to_owned());
    }
    let mut samples = Samples::default();
    let mut helped_name: Option<&str> = None;
    let mut families: Vec<MetricFamily<'_>> = Vec::new();
    for line in text.lines() {
        let wrong = |reason: &str| format!("{reason}: {line:?}");
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, _) = help.split_once(' ').ok_or_else(|| wrong("no help"))?;
            helped_name = Some(name);
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').ok_or_else(|| wrong("no type"))?;
            let is_repeated = families.iter().any(|family| family.name == name);
            let is_known = ["counter", "gauge", "histogram"].contains(&kind);
            if helped_name != Some(name) || is_repeated || !is_known || !is_name(name, ":") {
                let reason = "a type without help, again, unknown, or of a wrong name";
                return Err(wrong(reason));
            }
            if (kind == "counter") != name.ends_with("_total") {
                return Err(wrong("a name that does not suit the type"));
            }
            families.push(MetricFamily { name, kind });
        } else {
            let (name, labels, value) = parse_sample(line).map_err(|reason| wrong(&reason))?;
            let family = families.last().filter(|family| family.has_sample(&name));
            let family = family.ok_or_else(|| wrong("not behind its type"))?;
            if family.kind != "gauge" && (value < 0.0 || value.is_nan()) {
                return Err(wrong("below zero"));
            }
            if samples.0.insert((name, labels), value).is_some() {
                return Err(wrong("a series again"));
            }
        }
    }
    let histograms = families.iter().filter(|family| family.kind == "histogram");
    for MetricFamily { name, .. } in histograms {
        check_histogram(name, &samples)?;
    }
    Ok(samples)
}

fn is_name(name: &str, also_allowed: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_' || also_allowed.contains(c);
    name.starts_with(letter) && name.chars().all(|c| letter(c) || c.is_ascii_digit())
}

/// Reads name, labels and value of a line `name{label="value",...} value`.
fn parse_sample(line: &str) -> Result<(String, Labels, f64), String> {
    let end = line.find(['{', ' ']).ok_or("no value")?;
    let (name, mut text) = line.split_at(end);
    if !is_name(name, ":") {
        return Err("a wrong name".to_owned());
    }
    let mut labels = Labels::new();
    if let Some(inner) = text.strip_prefix('{') {
        text = inner;
        while let Some((label, after)) = text.split_once("=\"") {
            if !is_name(label, "") || label.starts_with("__") {
                return Err(format!("a wrong label {label:?}"));
            }
            let (value, after) = unquote(after)?;
            if labels.insert(label.to_owned(), value).is_some() {
                return Err(format!("the label {label} again"));
            }
            text = after;
            match text.strip_prefix(',') {
                Some(next) => text = next,
                None => break,
            }
        }
        text = text.strip_prefix('}').ok_or("no end of the labels")?;
    }
    let value = text.strip_prefix(' ').ok_or("no blank before the value")?;
    let value = value.parse().map_err(|_| "no number".to_owned())?;
    Ok((name.to_owned(), labels, value))
}

/// The text up to the closing quote with its escapes resolved, and the text after the quote.
fn unquote(text: &str) -> Result<(String, &str), String> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Ok((value, &text[at + 1..])),
            '\\' => match chars.next() {
                Some((_, '\\')) => value.push('\\'),
                Some((_, '"')) => value.push('"'),
                Some((_, 'n')) => value.push('\n'),
                _ => return Err("an unknown escape".to_owned()),
            },
            _ => value.push(c),
        }
    }
    Err("no closing quote".to_owned())
}

/// Checks each series of a histogram: the counts do not fall from bound to bound, the last bound is
/// infinite and its count is that of the series, and the series has a sum.
fn check_histogram(name: &str, samples: &Samples) -> Result<(), String> {
    let bucket = format!("{name}_bucket");
    let mut series: BTreeMap<Labels, Vec<(f64, f64)>> = BTreeMap::new();
    let buckets = samples.0.iter().filter(|((name, _), _)| *name == bucket);
    for ((_name, labels), value) in buckets {
        let mut labels = labels.clone();
        let bound = labels.remove("le").ok_or("a bucket without a bound")?;
        let bound = bound.parse().map_err(|_| "a bound that is no number")?;
        series.entry(labels).or_default().push((bound, *value));
    }
    let sample_value = |suffix: &str, labels: &Labels| {
        let key = (format!("{name}{suffix}"), labels.clone());
        samples.0.get(&key).copied()
    };
    for (labels, mut buckets) in series {
        buckets.sort_by(|(bound, _), (other, _)| bound.total_cmp(other));
        if !buckets.is_sorted_by_key(|&(_, count)| count) {
            return Err(format!("counts of {bucket} fall"));
        }
        let last = buckets.last().copied();
        if last != sample_value("_count", &labels).map(|count| (f64::INFINITY, count)) {
            return Err(format!("the last of {bucket} is not the count"));
        }
        sample_value("_sum", &labels).ok_or_else(|| format!("{name} has no sum"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTER: &str = "# HELP a_total Things.\n# TYPE a_total counter\n";
    const HISTOGRAM: &str = "# HELP b Times.\n# TYPE b histogram\n";

    #[test]
    fn a_good_page_is_read() {
        let page = format!(
            "{COUNTER}a_total{{device=\"x\\\"y\\\\z\"}} 3\n\
             {HISTOGRAM}b_bucket{{le=\"0.5\"}} 1\nb_bucket{{le=\"+Inf\"}} 2\nb_sum 1.5\nb_count 2\n"
        );
        let samples = strict_metrics(&page);
        assert_eq!(samples.value("a_total", &[("device", "x\"y\\z")]), 3.0);
        assert_eq!(samples.value("b_bucket", &[("le", "0.5")]), 1.0);
        assert_eq!(samples.label_values("device"), [None, Some("x\"y\\z")]);
    }

    #[test]
    fn what_breaks_a_rule_is_refused() {
        for wrong in [
            format!("{COUNTER}a_total 3"),
            format!("{COUNTER}a_total three\n"),
            format!("{COUNTER}a_total -1\n"),
            format!("{COUNTER}a_total 1\na_total 1\n"),
            format!("{COUNTER}b_total 1\n"),
            format!("{COUNTER}a_total{{x=\"1\",x=\"2\"}} 1\n"),
            format!("{COUNTER}a_total{{1=\"1\"}} 1\n"),
            format!("{COUNTER}a_total{{x=\"\\t\"}} 1\n"),
            format!("{COUNTER}a_total{{x=\"1\" 1\n"),
            format!("{COUNTER}{COUNTER}"),
            format!("{COUNTER}\n"),
            "a_total 1\n".to_owned(),
            "# TYPE a_total counter\n".to_owned(),
            "# HELP a A.\n# TYPE a counter\n".to_owned(),
            format!("{HISTOGRAM}b_bucket{{le=\"1\"}} 1\nb_sum 1\nb_count 1\n"),
            format!("{HISTOGRAM}b_bucket{{le=\"+Inf\"}} 1\nb_sum 1\nb_count 2\n"),
            format!("{HISTOGRAM}b_bucket{{le=\"+Inf\"}} 1\nb_count 1\n"),
            format!(
                "{HISTOGRAM}b_bucket{{le=\"1\"}} 2\nb_bucket{{le=\"+Inf\"}} 1\nb_sum 1\nb_count 1\n"
            ),
        ] {
            assert!(read(&wrong).is_err(), "{wrong}");
        }
    }
}
