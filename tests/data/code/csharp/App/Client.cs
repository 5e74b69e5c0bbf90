using App.Net;
namespace App { public class Client : Base { private readonly Wire wire = new Wire();
  public Reply Chat(string t) { Close(); this.wire.Send(t); wire.Send(t); return new Reply(); } }
  public class Base { protected void Close() {} } public class Reply { public void Show() {} } }
