//! Results in a terminal, as compact tables. They are best read at 100 columns or more.

mod bars;
mod btt;
mod document;
mod heat;
mod live;
mod pieces;
mod reproduce_list;
mod rules;
mod runs;
mod screen;
mod table;
mod trace_info;
mod watch;

pub(crate) use bars::bar;
pub use bars::{latency_bars, least_most};
pub use btt::btt;
pub(crate) use document::{document, document_head};
pub use live::{LiveView, live_head, live_line};
pub use reproduce_list::reproduce_list;
pub use rules::rules;
pub use runs::runs;
pub use screen::Screen;
pub(crate) use screen::printable;
pub use trace_info::{fleet_info, trace_columns, trace_info};
pub use watch::{GAUGES, Gauge, LATE_GAUGES, watch_head, watch_late_line, watch_line};
pub(crate) use watch::{KERNEL_COLUMNS, method_title};
pub use watch::{kernel_watch_head, kernel_watch_line};
