//! Results in a terminal, as compact tables. They are best read at 100 columns or more.

mod analyze;
mod bench;
mod btt;
mod compare;
mod doctor;
mod kernel_watch;
mod live;
mod replay;
mod said;
mod screen;
mod sweep;
mod table;
mod tune;
mod watch;

pub use analyze::analyze;
pub use bench::bench;
pub use btt::btt;
pub use compare::compare;
pub use doctor::doctor;
pub use kernel_watch::{kernel_watch_head, kernel_watch_line};
pub use live::{live, live_head, live_line};
pub use replay::replay;
pub use screen::Screen;
pub use sweep::sweep;
pub use tune::tune;
pub use watch::{GAUGES, Gauge, watch, watch_head, watch_line};
