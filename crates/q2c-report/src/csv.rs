//! Tables of figures as CSV. The unit stands in the column's name.

use q2c_result::figures::{FigureRow, FigureTable};
use q2c_stats::Interval;

/// A row for each row of the table: its texts, the trials, and of each figure the median with the
/// least and the most over the trials, or the number. What is not there is an empty field.
///
/// # Errors
/// The CSV writer refused a row; the types of the rows leave no way for that.
pub fn csv(table: &FigureTable) -> Result<String, ::csv::Error> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    let has_trials = table.figures.iter().any(|figure| figure.over_trials);
    let trials = has_trials.then(|| "trials".to_owned());
    let figures = table.figures.iter().flat_map(|figure| {
        let name = figure.column();
        let ends: &[&str] = if figure.over_trials {
            &["", "_min", "_max"]
        } else {
            &[""]
        };
        ends.iter().map(move |end| format!("{name}{end}"))
    });
    let keys = table.keys.iter().map(|key| key.to_string());
    writer.write_record(keys.chain(trials).chain(figures))?;
    for row in &table.rows {
        let keys = row.keys.iter().cloned();
        let trials = has_trials.then(|| trials_of(table, row).to_string());
        writer.write_record(keys.chain(trials).chain(fields(table, row)))?;
    }
    let bytes = writer.into_inner().map_err(|e| e.into_error())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The trials of the first figure that has some: the main one.
fn trials_of(table: &FigureTable, row: &FigureRow) -> u32 {
    let figures = table.figures.iter().zip(&row.values);
    let mut over_trials = figures.filter(|(figure, _)| figure.over_trials);
    over_trials.next().map_or(0, |(_, value)| value.trials)
}

fn fields(table: &FigureTable, row: &FigureRow) -> impl Iterator<Item = String> {
    let figures = table.figures.iter().zip(&row.values);
    figures.flat_map(|(figure, value)| {
        let numbers = [value.median, value.min, value.max];
        let count = if figure.over_trials { 3 } else { 1 };
        let field = |number: f64| field(value, number);
        numbers
            .into_iter()
            .take(count)
            .map(field)
            .collect::<Vec<String>>()
    })
}

fn field(value: &Interval, number: f64) -> String {
    if value.trials > 0 && number.is_finite() {
        number.to_string()
    } else {
        String::new()
    }
}
