//! Results in a terminal, as compact tables. They are best read at 100 columns or more.

mod bars;
mod btt;
mod cut;
mod document;
mod kernel_watch;
mod live;
mod pieces;
mod reproduce_list;
mod rules;
mod runs;
mod said;
mod screen;
mod table;
mod trace_columns;
mod trace_info;
mod watch;

pub(crate) use bars::bar;
pub use bars::{latency_bars, least_most};
pub use btt::btt;
pub(crate) use document::document;
pub(crate) use kernel_watch::kernel_columns;
pub use kernel_watch::{kernel_watch_head, kernel_watch_line};
pub use live::{LiveView, live, live_head, live_line};
pub use reproduce_list::reproduce_list;
pub use rules::rules;
pub use runs::runs;
pub use screen::Screen;
pub(crate) use screen::printable;
pub use trace_columns::trace_columns;
pub use trace_info::{fleet_info, trace_info};
pub(crate) use watch::method_title;
pub use watch::{GAUGES, Gauge, LATE_GAUGES, watch_head, watch_late_line, watch_line};
