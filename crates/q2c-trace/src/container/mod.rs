//! The Parquet container: its columns, and how records go in and come out.

mod column;
mod constant;
mod decode;
mod encode;
mod error;
mod footer;
mod frame;
mod groups;
mod reader;
mod scan;
mod schema;
mod shared_file;
mod temporary;
mod writer;

pub use column::{Column, UnknownColumn};
pub(crate) use decode::device as parse_device;
pub use error::TraceError;
pub(crate) use error::todo;
pub use frame::Frame;
pub use reader::{Batches, Records, TraceReader};
pub use scan::Scan;
pub use schema::SCHEMA_VERSION;
pub(crate) use temporary::folder;
pub use temporary::{Temporary, remove_unfinished};
pub use writer::TraceWriter;
