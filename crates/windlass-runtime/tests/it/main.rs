//! The driver, held to its promises: in a simulated world where every poll counts, and with tokio in real time.

#[cfg(test)]
mod cancel;
#[cfg(test)]
mod drops;
#[cfg(test)]
mod ground;
#[cfg(test)]
mod scenarios;
