//! The driver, held to its promises: in a simulated world where every poll counts, and with tokio in real time.

#[cfg(test)]
mod annotated;
#[cfg(test)]
mod answering;
#[cfg(test)]
mod blocking;
#[cfg(test)]
mod branches;
#[cfg(test)]
mod budgets;
#[cfg(test)]
mod building;
#[cfg(test)]
mod cancel;
#[cfg(test)]
mod clocks;
#[cfg(test)]
mod control;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod drops;
#[cfg(test)]
mod exchange;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod forks;
#[cfg(test)]
mod ground;
#[cfg(test)]
mod hedges;
#[cfg(test)]
mod host;
#[cfg(test)]
mod hosted;
#[cfg(test)]
mod imports;
#[cfg(test)]
mod links;
#[cfg(test)]
mod loading;
#[cfg(test)]
mod long_work;
#[cfg(test)]
mod outputs;
#[cfg(test)]
mod panics;
#[cfg(test)]
mod payloads;
#[cfg(test)]
mod people;
#[cfg(test)]
mod projecting;
#[cfg(test)]
mod prompts;
#[cfg(test)]
mod quotas;
#[cfg(test)]
mod real_time;
#[cfg(test)]
mod recorded;
#[cfg(test)]
mod refused;
#[cfg(test)]
mod replies;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod rivals;
#[cfg(test)]
mod scenarios;
#[cfg(test)]
mod second;
#[cfg(test)]
mod services;
#[cfg(test)]
mod simultaneous;
#[cfg(test)]
mod sources;
#[cfg(test)]
mod stopped_delegates;
#[cfg(test)]
mod subscribers;
#[cfg(test)]
mod tidy;
#[cfg(test)]
mod timing;
#[cfg(test)]
mod unknown;
#[cfg(test)]
mod usage;
#[cfg(test)]
mod watching;
#[cfg(test)]
mod wires;
