pub struct Client { w: Wire }
struct Wire;
trait Talk { fn chat(&self); }
impl Wire { fn send(&self) {} }
impl Client { pub fn new() -> Client { Client { w: Wire } } }
impl Talk for Client { fn chat(&self) { self.w.send(); } }
pub fn help() {}
