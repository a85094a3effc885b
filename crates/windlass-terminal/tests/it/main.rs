//! What a terminal shows of rows.

#[cfg(test)]
mod cells;
