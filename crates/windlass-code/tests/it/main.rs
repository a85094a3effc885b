//! Steps of code in real child processes.

#[cfg(test)]
mod calls;
#[cfg(test)]
mod cases;
#[cfg(test)]
mod containment;
#[cfg(test)]
mod escapes;
#[cfg(test)]
mod language;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod sources;
#[cfg(test)]
mod support;
