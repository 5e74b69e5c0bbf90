namespace App { class Program { static void Main() { var c = new Client(); c.Chat("x").Show(); } } }
