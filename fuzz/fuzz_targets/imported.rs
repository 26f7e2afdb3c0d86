//! Imports any bytes in any format.

use q2c_model::{IoRecord, TraceMeta};
use q2c_trace::import::{Import, ImportOptions, by_name};
use std::path::Path;

type Imported = (Vec<IoRecord>, TraceMeta);

pub fn import(format: &str, options: &ImportOptions, mut input: &[u8]) -> Option<Imported> {
    let format = by_name(format).expect("the format is registered");
    let _ = (format.sniff)(input);
    let mut records = Vec::new();
    let mut import = Import {
        path: Path::new("fuzz"),
        input: &mut input,
        options,
        sink: &mut records,
    };
    let meta = (format.import)(&mut import).ok()?;
    Some((records, meta))
}
