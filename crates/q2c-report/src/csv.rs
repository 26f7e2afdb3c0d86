//! Tables of figures as CSV. The unit stands in the column's name.

use q2c_result::figures::{Figure, FigureTable};

/// The table as CSV text. A figure over trials has three columns: median, minimum and maximum; any
/// other has one. A value that does not exist is an empty field.
///
/// # Errors
/// Returns the CSV writer's error, which the types of the rows rule out.
pub fn csv(table: &FigureTable) -> Result<String, ::csv::Error> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    let has_trials = table.figures.iter().any(|figure| figure.over_trials);
    let trials = has_trials.then(|| "trials".to_owned());
    let figures = table.figures.iter().flat_map(|figure| {
        let ends = ["", "_min", "_max"].into_iter().take(numbers_of(figure));
        ends.map(move |end| format!("{}{end}", figure.column()))
    });
    let keys = table.keys.iter().map(|key| key.to_string());
    writer.write_record(keys.chain(trials).chain(figures))?;
    for row in &table.rows {
        let values = || table.figures.iter().zip(&row.values);
        // The first figure over trials is the main one; its trials are counted.
        let main = values().find(|(figure, _)| figure.over_trials);
        let trials = main.map(|(_, value)| value.trials);
        let trials = has_trials.then(|| trials.unwrap_or(0).to_string());
        let fields = values().flat_map(|(figure, value)| {
            let numbers = [value.median, value.min, value.max].into_iter();
            let known = move |number: &f64| value.trials > 0 && number.is_finite();
            let shown = numbers.take(numbers_of(figure));
            shown.map(move |number| Some(number).filter(known).map(|n| n.to_string()))
        });
        let fields = fields.map(Option::unwrap_or_default);
        writer.write_record(row.keys.iter().cloned().chain(trials).chain(fields))?;
    }
    Ok(String::from_utf8_lossy(&writer.into_inner().map_err(|e| e.into_error())?).into_owned())
}

/// The number of columns of a figure: median, minimum and maximum, or the number alone.
fn numbers_of(figure: &Figure) -> usize {
    if figure.over_trials { 3 } else { 1 }
}
