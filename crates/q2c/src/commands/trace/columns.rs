//! The command `q2c trace columns`.

use crate::output::show_as;
use clap::Args;
use q2c_model::Fault;
use q2c_report::terminal::trace_columns;
use q2c_result::Exit;
use q2c_result::trace::{CsvColumn, TraceColumn, TraceColumns};
use q2c_trace::import::{CsvField, csv_fields};
use q2c_trace::{Column, SCHEMA_VERSION};

/// How the columns are printed.
#[derive(Clone, Debug, Args)]
pub(crate) struct ColumnsArgs {
    /// Print the list as JSON
    #[arg(long)]
    pub json: bool,
}

pub(crate) fn run(args: &ColumnsArgs) -> Result<Exit, Fault> {
    let list = TraceColumns {
        schema_version: SCHEMA_VERSION,
        columns: Column::ALL.iter().copied().map(column).collect(),
        csv_fields: csv_fields().iter().map(field).collect(),
    };
    show_as(&list, args.json, |screen| trace_columns(&list, screen))
}

fn column(column: Column) -> TraceColumn {
    TraceColumn {
        name: column.name().to_owned(),
        kind: column.type_name().to_owned(),
        unit: column.unit().to_owned(),
        optional: column.is_optional(),
        meaning: column.meaning().to_owned(),
    }
}

fn field(field: &CsvField) -> CsvColumn {
    CsvColumn {
        name: field.name.to_owned(),
        meaning: field.meaning.map(str::to_owned),
        headers: field.headers.iter().map(ToString::to_string).collect(),
    }
}
