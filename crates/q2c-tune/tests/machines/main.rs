//! Simulated machines whose best method is known.

#[cfg(test)]
mod answers;
