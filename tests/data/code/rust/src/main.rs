mod client;
use crate::client::{Client, help as h};
fn main() { let c = Client::new(); c.chat(); h(); client::help(); }
