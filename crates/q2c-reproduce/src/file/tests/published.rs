//! Compares the experiments with the table of what is published.

use crate::file::{Experiment, built_in_experiments};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// A row of `experiments/published.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishedNumber {
    source: String,
    section: String,
    says: String,
    values: Vec<String>,
    unit: String,
    /// The experiment that holds it.
    experiment: Option<String>,
    /// The reason why no experiment holds it.
    left_out: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishedTable {
    source: BTreeMap<String, BTreeMap<String, String>>,
    figure: Vec<PublishedNumber>,
}

fn table() -> PublishedTable {
    let text = include_str!("../../../../../experiments/published.toml");
    toml::from_str(text).unwrap()
}

/// The numbers of a text: its words that begin with a digit.
fn numbers(text: &str) -> BTreeSet<String> {
    let parts = text.split([' ', '~', '(', ')']);
    let parts = parts.map(|word| word.trim_end_matches([',', ';', ':', '.', '%']));
    let numbers = parts.filter(|word| word.starts_with(|first: char| first.is_ascii_digit()));
    numbers.map(str::to_owned).collect()
}

/// The value in the unit of the figures of charts: ns, I/Os per second, shares of 1.
fn in_base_unit(value: &str, unit: &str) -> Option<f64> {
    let number: f64 = value.replace(',', "").parse().ok()?;
    let factor = match unit {
        "s" => 1e9,
        "K" => 1e3,
        "%" | "points" => 0.01,
        _ => 1.0,
    };
    Some(number * factor)
}

/// The experiment that the table names: a variant has the figures of the one that it adapts.
fn published_name(experiment: &Experiment) -> &str {
    let adapted = experiment.variant_of.as_ref();
    adapted.map_or(&experiment.name, |variant| &variant.name)
}

#[test]
fn every_published_number_of_an_experiment_is_in_the_table() {
    let table = table();
    for experiment in built_in_experiments().unwrap() {
        let name = published_name(&experiment);
        let rows = table.figure.iter();
        let rows = rows.filter(|row| row.experiment.as_deref() == Some(name));
        let rows: Vec<&PublishedNumber> = rows.collect();
        let known: BTreeSet<&String> = rows.iter().flat_map(|row| &row.values).collect();
        for (claim, _) in &experiment.claims {
            for number in numbers(claim.published.as_deref().unwrap_or_default()) {
                assert!(
                    known.contains(&number),
                    "{name}: {number} in {}",
                    claim.says
                );
            }
        }
        let values = rows.iter().flat_map(|row| {
            let values = row.values.iter();
            values.filter_map(|value| in_base_unit(value, &row.unit))
        });
        let values: Vec<f64> = values.collect();
        let curves = experiment.charts.iter().flat_map(|chart| &chart.published);
        for (_, y) in curves.flat_map(|curve| &curve.points) {
            let is_known = values
                .iter()
                .any(|value| (value - y).abs() <= 1e-9 * y.abs());
            assert!(is_known, "{name}: {y} in a chart");
        }
    }
}

#[test]
fn every_number_of_the_table_is_in_its_experiment_or_left_out_with_a_reason() {
    let experiments = built_in_experiments().unwrap();
    let table = table();
    for row in &table.figure {
        assert!(table.source.contains_key(&row.source), "{}", row.says);
        assert!(!row.section.is_empty() && !row.values.is_empty());
        let Some(name) = &row.experiment else {
            assert!(row.left_out.is_some(), "{}", row.says);
            continue;
        };
        assert_eq!(row.left_out, None, "{}", row.says);
        let experiment = experiments
            .iter()
            .find(|experiment| experiment.name == *name);
        let experiment = experiment.unwrap_or_else(|| panic!("no experiment {name}"));
        let claims = experiment.claims.iter().map(|(claim, _)| claim);
        let mut held = numbers(&experiment.setting);
        held.extend(numbers(&experiment.title));
        held.extend(
            claims.flat_map(|claim| numbers(claim.published.as_deref().unwrap_or_default())),
        );
        for value in &row.values {
            assert!(held.contains(value), "{name} has no {value}: {}", row.says);
        }
    }
}

#[test]
fn numbers_are_words_that_begin_with_a_digit() {
    let parsed = numbers("ext4: ~550 K, 158,118 / 155,705 s; (1/10), Q2G, 5.7, 30 %.");
    let expected = ["1/10", "155,705", "158,118", "30", "5.7", "550"];
    assert_eq!(Vec::from_iter(parsed), expected);
    assert_eq!(in_base_unit("1,029", "s"), Some(1029e9));
}
