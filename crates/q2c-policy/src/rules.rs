//! One file per rule. A windowed rule is a function from a [`Window`](crate::windowed::Window) to a sleep; a feedback rule
//! implements [`Lane`](crate::Lane) itself.

pub(crate) mod fixed;
pub(crate) mod mean;
pub(crate) mod min;
pub(crate) mod pas;
pub(crate) mod share;
pub(crate) mod uring;
