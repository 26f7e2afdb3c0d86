//! Tune.
