//! The traces that q2c contains, named `sample:NAME` where a trace is named. `samples/README.md`
//! says where they come from.

use itertools::Itertools;
use q2c_model::Fault;
use std::path::Path;

const PREFIX: &str = "sample:";
/// The bytes of each trace's file by name.
static SAMPLES: [(&str, &[u8]); 2] = [
    ("tpcc", include_bytes!("../samples/tpcc.parquet")),
    ("websearch", include_bytes!("../samples/websearch.parquet")),
];

/// True if `path` is the name of a sample and no file of the user.
pub fn is_sample(path: &Path) -> bool {
    path.as_os_str()
        .as_encoded_bytes()
        .starts_with(PREFIX.as_bytes())
        && !path.exists()
}

/// The file of the sample that `path` names; `None` if it names none.
pub(crate) fn find(path: &Path) -> Result<Option<&'static [u8]>, Fault> {
    if !is_sample(path) {
        return Ok(None);
    }
    let path = path.to_string_lossy();
    let mut samples = SAMPLES.iter();
    let found = samples.find(|(name, _)| Some(*name) == path.strip_prefix(PREFIX));
    let names = || SAMPLES.iter().map(|(name, _)| name).join(", ");
    let unknown = || Fault::usage(format!("find {path}: the samples are {}", names()));
    found.map(|(_, bytes)| Some(*bytes)).ok_or_else(unknown)
}
