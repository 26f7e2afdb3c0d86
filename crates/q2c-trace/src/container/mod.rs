//! The Parquet container: its columns, and how records go in and come out.

mod cell;
mod column;
mod error;
mod frame;
mod groups;
mod reader;
mod scan;
mod schema;
mod temporary;
mod writer;

pub use column::Column;
pub use error::TraceError;
pub(crate) use error::{advice, exists_error};
pub use frame::Frame;
pub use reader::{Batches, Records, TraceReader};
pub use scan::Scan;
pub use schema::SCHEMA_VERSION;
pub(crate) use temporary::folder_of;
pub use temporary::{UnfinishedFile, remove_unfinished};
pub use writer::TraceWriter;
