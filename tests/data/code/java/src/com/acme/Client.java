package com.acme;
import com.acme.net.Wire;
public class Client extends Base {
  private Wire wire = new Wire();
  public Reply chat(String t) { close(); this.wire.send(t); wire.send(t); return new Reply(); }
}
