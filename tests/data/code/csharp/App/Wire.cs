namespace App.Net { public class Wire { public void Send(string t) {} } }
