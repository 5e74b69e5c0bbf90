package com.acme;
class Main { static void main(Client c) { c.chat("x").show(); var d = new Client(); d.chat("y"); } }
